"""What the analyses write: a figure as SVG and PNG, numbers as JSON or as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truelabel.writing import whole, write_json

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Out = Annotated[Path, typer.Option(help="Folder for the figure (SVG and PNG) and its numbers.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")]
Title = Annotated[str | None, typer.Option(help="Stands above the figure; names the run if not given.")]
Truth = Annotated[str, typer.Option(help="Column of the data with the true classes, or an .npy file.")]
FOLDER = Path("figures")


def show(
    out: Path,
    name: str,
    figure: Figure,
    numbers: Mapping[str, Any],
    *,
    as_json: bool,
    table: Sequence[Sequence[str]],
    rows: pd.DataFrame | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Write the figure and the numbers, and print these: as JSON, or the table (first row: heads) and the notes."""
    from rich.console import Console
    from rich.table import Table

    from truelabel.analysis import save_figure

    paths = save_figure(figure, out, name)
    if rows is not None:
        paths.append(out / f"{name}.csv")
        with whole(paths[-1]) as partial:
            rows.to_csv(partial, index=False)
    paths.append(out / f"{name}.json")
    write_json(paths[-1], numbers)
    if as_json:
        print(json.dumps({**numbers, "files": [str(path) for path in paths]}, indent=1, ensure_ascii=False))
        return
    console = Console(highlight=False)
    shown = Table(box=None, pad_edge=False)
    for number, (head, first) in enumerate(zip(table[0], table[1], strict=True)):
        numeric = number > 0 and (first[-1:].isdigit() or first.endswith("%"))
        shown.add_column(head, justify="right" if numeric else "left", overflow="fold")
    for row in table[1:]:
        shown.add_row(*row)
    console.print(shown)
    for note in notes:
        console.print(note, markup=False)
    console.print("Files: " + ", ".join(map(str, paths)), markup=False, soft_wrap=True)
