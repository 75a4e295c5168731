"""`truelabel analyse significance`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from truelabel.cli.analyse.writing import FOLDER, AsJson, Out, Title, show

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.analysis.significance import Correction, Test

CORRECTIONS = ("holm", "benjamini_hochberg")


def significance(
    table: Annotated[Path, typer.Argument(help="A row a cell and seed: .csv, .parquet or .jsonl.")],
    before: Annotated[str, typer.Option(help="Column with the results of one way.")] = "before",
    after: Annotated[str, typer.Option(help="Column with the results of the other.")] = "after",
    cell: Annotated[
        list[str] | None, typer.Option(help="Column that names the cell; repeat it for several. cell if not given.")
    ] = None,
    seed: Annotated[str, typer.Option(help="Column with the seed; of two rows of one seed the last counts.")] = "seed",
    test: Annotated[str, typer.Option(help="Whose p is corrected: t, wilcoxon or sign.")] = "t",
    correction: Annotated[str, typer.Option(help="holm or benjamini_hochberg.")] = "holm",
    level: Annotated[float, typer.Option(help="Below which a corrected p is significant.")] = 0.05,
    factor: Annotated[float, typer.Option(help="Multiplies the results, as in 100 for shares shown in points.")] = 1.0,
    unit: Annotated[str | None, typer.Option(help="What stands at the axis; the columns if not given.")] = None,
    title: Title = None,
    out: Out = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Test whether one way is better than another, paired over seeds, in many cells, corrected for their number.

    Nested JSON has dotted names, as in columns.npc.accuracy. OUT also gets significance.csv, all the numbers.

    Example: truelabel analyse significance results.csv --before classifier --after npc --cell dataset --cell noise
    """
    from truelabel import analysis

    if correction not in CORRECTIONS:
        raise ValueError(f"--correction must be {' or '.join(CORRECTIONS)}, not {correction!r}.")
    frame, by = _frame(table), cell or ["cell"]
    wanted = [*by, before, after]
    missing = [name for name in wanted if name not in frame]
    if missing:
        raise ValueError(f"{table} has no column {missing[0]}; it has {', '.join(map(str, frame.columns[:20]))}.")
    if seed in frame:
        frame = frame.drop_duplicates([*by, seed], keep="last")
    frame = frame[wanted].dropna()
    try:
        frame = frame.astype({before: float, after: float})
    except (TypeError, ValueError) as error:
        raise ValueError(f"{table} has results that are not numbers ({error}).") from None
    if not len(frame):
        raise ValueError(f"{table} has no row with both {before} and {after}.")
    cells = {
        " / ".join(str(part) for part in name): (group[before] * factor, group[after] * factor)
        for name, group in frame.groupby(by, sort=False)
    }
    found = analysis.significance(cells, cast("Test", test))
    figure = analysis.draw_significance(
        found,
        title,
        correction=cast("Correction", correction),
        level=level,
        unit=f"{unit or f'{after} − {before}'}: mean and 95 % interval",
    )
    sure = found[correction] < level
    numbers = {
        "test": test,
        "cells": {str(name): {k: _plain(v) for k, v in row.items()} for name, row in found.iterrows()},
        "better": int((sure & (found["difference"] > 0)).sum()),
        "worse": int((sure & (found["difference"] < 0)).sum()),
    }
    shown = [["cell", "seeds", "before", "after", "difference", "± sd", "p", "Holm", "BH"]]
    for name, row in found.iterrows():
        values = [f"{row[column]:.2f}" for column in ("before", "after", "difference", "deviation")]
        ps = [f"{row[column]:.4f}" for column in (test, *CORRECTIONS)]
        shown.append([str(name), f"{row['n']:.0f}", *values, *ps])
    notes = [
        f"Of {len(found)} cells {numbers['better']} better and {numbers['worse']} worse at {level:g} "
        f"({test} test, {correction})."
    ]
    rows = found.rename_axis("cell").reset_index()
    show(out, "significance", figure, numbers, as_json=as_json, table=shown, rows=rows, notes=notes)


def _frame(path: Path) -> pd.DataFrame:
    import pandas as pd

    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.suffix == ".csv":
        return pd.read_csv(path)
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if path.suffix == ".jsonl":
        try:
            return pd.json_normalize([json.loads(line) for line in path.read_text().splitlines() if line.strip()])
        except json.JSONDecodeError as error:
            raise ValueError(f"{path} has a line that is not JSON ({error}).") from None
    raise ValueError(f"{path} is neither a .csv, a .parquet nor a .jsonl file; convert it first.")


def _plain(value: Any) -> Any:
    """Return what JSON can hold; an infinite effect (equal differences at every seed) becomes null."""
    return value if abs(value) < float("inf") else None
