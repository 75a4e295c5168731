"""The paper's table of gains and losses: how many training instances are in each region of its Venn diagram."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from truelabel.lab import paper
from truelabel.lab.summary import GROUP, deviation, in_paper
from truelabel.lab.table import Entry, Table, printed, spread, titled

if TYPE_CHECKING:
    import pandas as pd

REGIONS = "abcdefgh"


def gains_table(frame: pd.DataFrame, papers: tuple[str, ...]) -> tuple[Table, pd.DataFrame]:
    """Return a row for each calibrator: means over seeds of the counts of `analysis.gains`, and its net gain.

    The net gain is {(b) + (f)} − {(d) + (h)}. The paper does not name the classifier of its table, so its figures stand
    beside every one on the same data and noise. Records from before the regions were counted are left out.

    Parameters
    ----------
    frame : pandas.DataFrame
        Records with the columns that `summary.label` adds.
    papers : tuple of str
        The paper's tables to take figures from.
    """
    import pandas as pd

    known = "gains_a" in frame
    rows: list[dict[str, Any]] = []
    for (data, condition, method, way), every in frame.groupby(GROUP, sort=False):
        group = every.dropna(subset=["gains_a"]) if known else every[:0]
        if len(group):
            where = {"data": data, "condition": condition, "method": method, "way": way, "seeds": len(group)}
            first = group.iloc[0]
            called = in_paper(first["calibrator"], json.loads(first["calibrator_settings"]))
            rows.append(where | _regions(group, papers, called))
    if not rows:
        raise ValueError("No record counts gains and losses; run the cells again.")
    made = pd.DataFrame(rows)
    table = Table("Training instances by region", ["", "noise", "calibrator", *(f"({k})" for k in REGIONS), "net"])
    for _, row in made.iterrows():
        entries = [_entry(row, name) for name in (*REGIONS, "net")]
        titles = (f"{row['method']}, {row['data']}", titled(row["condition"]), row["way"])
        table.rows.append([*map(Entry, titles), *entries])
    return table, made


def _regions(group: pd.DataFrame, papers: tuple[str, ...], called: str | None) -> dict[str, Any]:
    first = group.iloc[0]
    counts = {k: group[f"gains_{k}"].astype(float) for k in REGIONS}
    theirs = {k: paper.figure(papers, first["dataset"], first["condition"], "", f"{called}-{k}") for k in REGIONS}
    figures = {k: None if figure is None else figure.value for k, figure in theirs.items()}
    out: dict[str, Any] = {}
    for name, values in (counts | {"net": _net(counts)}).items():
        out |= {name: values.mean(), f"{name}_sd": deviation(values)}
    out |= {f"paper_{k}": value for k, value in figures.items()}
    return out | {"paper_net": None if None in figures.values() else _net(figures)}


def _net(counts: dict[str, Any]) -> Any:
    return counts["b"] + counts["f"] - counts["d"] - counts["h"]


def _entry(row: Any, name: str) -> Entry:
    return Entry(spread(row[name], row[f"{name}_sd"], 0), paper=printed(row[f"paper_{name}"], 0))
