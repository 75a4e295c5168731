"""`truelabel lab …`: the paper's tables from one resumable command."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truelabel.cli.files import OVERWRITE

if TYPE_CHECKING:
    from truelabel.lab.tables import Sheet

lab = typer.Typer(
    name="lab",
    help="Run the paper's experiments, or yours: grids of cells, resumable, on one machine or many.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Named = Annotated[str, typer.Argument(metavar="GRID", help="A name of `truelabel lab grids`, or a TOML file.")]
StoreFile = Annotated[Path, typer.Option("--store", help="SQLite file of the records.")]
Stored = Annotated[
    Path, typer.Option("--store", help="The records: a SQLite file, or a .parquet file exported from one.")
]
Only = Annotated[
    str | None,
    typer.Option(help="Cells in which each word is found as dataset, noise, method or calibrator; * and ? allowed."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
STORE = Path("lab.sqlite")


class Style(StrEnum):
    """How a table is written."""

    terminal = "terminal"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


As = Annotated[Style, typer.Option("--as", help="How the table is written.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help=OVERWRITE)]
Out = Annotated[Path | None, typer.Option(help="Write it to this file instead.", show_default=False)]


@lab.command()
def grids(as_json: AsJson = False) -> None:
    """List the grids that come with truelabel.

    Example: truelabel lab grids
    """
    from rich.console import Console
    from rich.table import Table

    from truelabel import lab as room

    found = [room.load_grid(name) for name in room.names()]
    if as_json:
        shown = {grid.name: {"cells": len(grid.cells), "title": grid.title, "summary": grid.summary} for grid in found}
        print(json.dumps(shown, indent=1, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("grid", no_wrap=True, style="bold")
    table.add_column("cells", justify="right")
    table.add_column("what it is")
    for grid in found:
        table.add_row(grid.name, str(len(grid.cells)), grid.title)
    Console().print(table)


@lab.command()
def run(
    grid: Named,
    engine: Annotated[str, typer.Option(help="local, processes or ray.")] = "local",
    workers: Annotated[int | None, typer.Option(help="Cells at a time; all processors if not given.")] = None,
    address: Annotated[str | None, typer.Option(help="Of a running Ray cluster; a local one if not given.")] = None,
    store: StoreFile = STORE,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of shared stages; STORE.cache if not given. It may be deleted.")
    ] = None,
    root: Annotated[Path | None, typer.Option(help="Folder with the data, in torchvision's layout.")] = None,
    weights: Annotated[Path | None, typer.Option(help="ImageNet weights, for grids that start from them.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto for the best there is.")] = "auto",
    only: Only = None,
    records: Annotated[
        Path | None, typer.Option(help="Records to begin with: a .parquet file that show --export wrote.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed cells again.")] = False,
    limit: Annotated[float | None, typer.Option(help="Seconds that a cell may take.")] = None,
    memory: Annotated[float | None, typer.Option(help="Gigabytes that a cell may take (Linux).")] = None,
    as_json: AsJson = False,
) -> None:
    """Run the cells of a grid that the store has not; stop it at any time and start it again to go on.

    A cell that fails is recorded with its error and the rest go on; the exit code is then 3.

    Example: truelabel lab run smoke --engine processes --workers 2
    """
    from truelabel import lab as room

    chosen = room.load_grid(grid).only(only)
    try:
        outcome = room.run(
            chosen,
            store,
            cache=cache,
            root=root,
            weights=weights,
            device=device,
            engine=engine,
            workers=workers,
            address=address,
            records=records,
            retry_failed=retry_failed,
            limits=room.Limits(limit, memory),
        )
    except KeyboardInterrupt:
        typer.echo(f"Stopped; run the same command again to go on. What has finished is in {store}.", err=True)
        raise
    if as_json:
        print(json.dumps({"store": str(store), "cells": len(chosen.cells), **vars(outcome)}, indent=1))
    else:
        again = f"; look at them with truelabel lab show --store {store} --failed" if outcome.failed else ""
        print(f"{outcome.ok} of {len(chosen.cells)} cells done, {outcome.failed} failed{again}.")
        if outcome.ok:
            print(f"Next: truelabel lab table {grid} --store {store}")
    if outcome.failed:
        raise typer.Exit(3)


@lab.command()
def show(
    store: Stored = STORE,
    grid: Annotated[str | None, typer.Option(help="Only the cells of this grid.")] = None,
    only: Only = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only cells that failed, with their errors.")] = False,
    export: Annotated[
        Path | None, typer.Option(help="Write them to a .parquet or .csv file instead.", show_default=False)
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Show the records of a store, or write them to a file.

    Example: truelabel lab show --store lab.sqlite --only "idn:* ce" --export records.parquet
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from truelabel import lab as room
    from truelabel.lab.grid import matches

    with room.open_store(store) as opened:
        records = opened.records(None if grid is None else {cell.key for cell in room.load_grid(grid).cells})
    records = [each for each in records if not (failed and each.ok) and (only is None or matches(only, each.cell))]
    records.sort(key=lambda record: (record.cell.title, record.key))
    if export is not None:
        _check(export, [store], overwrite)
        room.export(records, export)
        print(f"{len(records)} records in {export}.")
        return
    if as_json:
        print("[" + ",\n ".join(record.to_json() for record in records) + "]")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("cell", "key", "status", "before", "after", "seconds"):
        table.add_column(name, justify="right" if name in ("before", "after", "seconds") else "left")
    for record in records:
        before, after = (f"{record.result[name]:.1%}" if record.ok else "" for name in ("before", "after"))
        seconds = f"{sum(record.seconds.values()):.1f}" if record.ok else ""
        table.add_row(record.cell.title, record.key[:8], record.status, before, after, seconds)
        if record.error:
            table.add_row(Text(f"  {record.error}"))
    Console().print(table)
    print(f"{len(records)} records, {sum(not record.ok for record in records)} of them failed.")


@lab.command()
def table(
    grid: Named,
    store: Stored = STORE,
    layout: Annotated[
        str | None,
        typer.Option(help="before-after, calibrators, transitions, time or rounds; else the grid's own."),
    ] = None,
    style: As = Style.terminal,
    out: Out = None,
    only: Only = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Show a grid's records as a table like the paper's, with the paper's figures in columns beside.

    Example: truelabel lab table smoke --as markdown --out smoke.md
    """
    from truelabel import lab as room
    from truelabel.lab.tables import sheet

    with room.open_store(store) as opened:
        frame = opened.frame()
    chosen = room.load_grid(grid).only(only)
    _check(out, [store, Path(grid)], overwrite)
    _write(sheet(chosen, frame, layout), style, out, as_json)


@lab.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A store.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another.")],
    style: As = Style.terminal,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Set two runs side by side: the same cells before and after something was changed.

    Example: truelabel lab compare before.sqlite after.sqlite
    """
    from truelabel import lab as room
    from truelabel.lab.compare import compare as side_by_side

    frames = []
    for path in (first, second):
        with room.open_store(path) as opened:
            frames.append(opened.frame())
    _check(out, [first, second], overwrite)
    _write(side_by_side(frames[0], frames[1], (first.stem, second.stem)), style, out, as_json)


def _check(out: Path | None, reads: list[Path], overwrite: bool) -> None:
    from truelabel.writing import check_target

    if out is not None:
        check_target(out, reads=reads, overwrite=overwrite)


def _write(found: Sheet, style: Style, out: Path | None, as_json: bool) -> None:
    from rich.console import Console

    from truelabel.writing import write_text

    if as_json:
        text = json.dumps(
            {"rows": json.loads(found.frame.to_json(orient="records")), "notes": found.notes},
            indent=1,
            ensure_ascii=False,
        )
    elif style is Style.terminal and out is None:
        console = Console()
        console.print(*found.rich(console.width), sep="\n")
        return
    else:
        text = found.render(Style.markdown if style is Style.terminal else style)
    if out is None:
        print(text)
    else:
        write_text(out, text)
        print(f"The table is in {out}.")
