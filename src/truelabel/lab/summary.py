"""Records brought together over their seeds: means, spreads, and whether a gain is one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.lab import paper
from truelabel.lab.cell import SEEDS

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05
GROUP = ["data", "condition", "method", "way"]


def label(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the columns that tell the cells of a table apart: `data` and `way` (dataset and calibrator).

    Where one dataset comes in several sizes or networks, or a calibrator with several settings, they are named.
    """
    frame = frame.copy()
    frame["data"] = _named(frame, "dataset", [frame[name].astype(object) for name in ("subset", "network")])
    settings = frame["calibrator_settings"].map(json.loads)
    parts = [_part(settings, name) for name in sorted({name for each in settings for name in each})]
    parts += [frame["view"].map(lambda view: f"on {view}"), frame["rounds"].map(lambda n: f"{n} rounds")]
    frame["way"] = _named(frame, "calibrator", parts)
    return frame


def _part(settings: pd.Series[Any], name: str) -> pd.Series[Any]:
    return settings.map(lambda each: f"{name}={each[name]}" if name in each else None)


def _named(frame: pd.DataFrame, column: str, parts: list[pd.Series[Any]]) -> list[str]:
    """Return the column, followed by those parts that differ among rows where it is equal."""
    titles = [str(value) for value in frame[column]]
    for part in parts:
        varies = part.groupby(frame[column]).transform(lambda group: group.nunique(dropna=False) > 1)
        for row, (value, differs) in enumerate(zip(part, varies, strict=True)):
            if differs and value is not None and value == value:  # not a NaN
                titles[row] += f", {value}"
    return titles


def summarise(frame: pd.DataFrame, papers: tuple[str, ...] = ()) -> pd.DataFrame:
    """Bring records together over seeds, a row for each dataset, noise, method and calibrator.

    Parameters
    ----------
    frame : pandas.DataFrame
        What `Store.frame` returned; rows without figures are left out.
    papers : tuple of str
        The paper's tables to take figures from.

    Returns
    -------
    pandas.DataFrame
        `data`, `condition`, `method`, `way`; `seeds`; `before`, `after` (means, in per cent), `before_sd`, `after_sd`;
        `gain` (mean difference in points), `p` (paired t-test, two-sided), `holm` and `bh` (corrected for all rows
        that were tested), `verdict` ("improved", "harmed" or "unchanged" at p < 0.05, uncorrected), and the paper's
        `paper_before` and `paper_after`. Nothing is tested of one seed or of the identity.
    """
    import pandas as pd

    from truelabel.analysis import significance

    frame = label(frame[frame["status"] == "ok"])
    groups = {name: group.sort_values(list(SEEDS)) for name, group in frame.groupby(GROUP, sort=False)}
    for name, group in groups.items():
        if group.duplicated(list(SEEDS)).any():
            raise ValueError(
                f"Two cells of {' '.join(name)} have the same seeds; a table cannot tell them apart: split the grid."
            )
    pairs = {
        name: (100 * group["before"].to_numpy(), 100 * group["after"].to_numpy())
        for name, group in groups.items()
        if len(group) > 1 and group["calibrator"].iloc[0] != "identity"
    }
    tests = significance({str(number): pair for number, pair in enumerate(pairs.values())}) if pairs else None
    found = {} if tests is None else dict(zip(pairs, (row for _, row in tests.iterrows()), strict=True))
    rows = [_row(name, group, found.get(name), papers) for name, group in groups.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(name: tuple[Any, ...], group: pd.DataFrame, test: Any, papers: tuple[str, ...]) -> dict[str, Any]:
    before, after = 100 * group["before"].to_numpy(), 100 * group["after"].to_numpy()
    first = group.iloc[0]
    where = (first["dataset"], first["condition"], first["method"])
    what = in_paper(first["calibrator"], json.loads(first["calibrator_settings"]))
    theirs = {
        "paper_before": paper.figure(papers, *where, "classifier"),
        "paper_after": paper.figure(papers, *where, what) if what else None,
    }
    return {
        **dict(zip(GROUP, name, strict=True)),
        "dataset": first["dataset"],
        "calibrator": first["calibrator"],
        "in_paper": what,
        "seeds": len(group),
        "before": before.mean(),
        "before_sd": deviation(before),
        "after": after.mean(),
        "after_sd": deviation(after),
        "gain": round(float((after - before).mean()), 9),  # a tie is one, however floats are added
        "p": None if test is None else test["t"],
        "holm": None if test is None else test["holm"],
        "bh": None if test is None else test["benjamini_hochberg"],
        "verdict": None if test is None else _verdict(test["difference"], test["t"]),
        **{title: None if figure is None else figure.value for title, figure in theirs.items()},
        **{f"marked{title.removeprefix('paper')}": _marked(figure) for title, figure in theirs.items()},
    }


def _marked(figure: paper.Figure | None) -> bool:
    return figure is not None and figure.quantity in paper.disagreements()


COLUMNS = [
    *GROUP,
    *(
        "dataset",
        "calibrator",
        "in_paper",
        "seeds",
        "before",
        "before_sd",
        "after",
        "after_sd",
        "gain",
        "p",
        "holm",
        "bh",
    ),
    *("verdict", "paper_before", "paper_after", "marked_before", "marked_after"),
]


def deviation(values: Any) -> float | None:
    """Return the standard deviation over seeds; None of one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _verdict(difference: float, p: float) -> str:
    return "unchanged" if not p < LEVEL else "improved" if difference > 0 else "harmed"


def in_paper(calibrator: str, settings: Mapping[str, Any]) -> str | None:
    """Return what the paper's tables call a calibrator."""
    if calibrator in ("npc", "npc-paper"):
        return "npc-top2" if settings.get("shape") == "top-k" and settings.get("top_k", 2) == 2 else "npc"
    if calibrator == "knn-paper":
        return "knn"
    return calibrator if calibrator in ("rog", "lrt", "mlc", "causalnl") else None


def counts(found: pd.DataFrame) -> list[str]:
    """Return the summary lines: for each calibrator, cells improved, unchanged and harmed, and what survives Holm.

    The correction is for all cells of the table.
    """
    lines = []
    for way, group in found[found["verdict"].notna()].groupby("way", sort=False):
        better, worse = group["verdict"] == "improved", group["verdict"] == "harmed"
        holm = group["holm"].astype(float) < LEVEL
        bh = group["bh"].astype(float) < LEVEL
        lines.append(
            f"{way}: of {len(group)} cells {better.sum()} improved, {(~better & ~worse).sum()} unchanged, "
            f"{worse.sum()} harmed (paired t-test, p < {LEVEL:g}); corrected for all cells, {(better & holm).sum()} "
            f"improved and {(worse & holm).sum()} harmed by Holm, {(better & bh).sum()} and {(worse & bh).sum()} by "
            f"Benjamini–Hochberg; by the mean alone {(group['gain'] > 0).sum()} ahead and {(group['gain'] < 0).sum()} "
            f"behind; mean gain {group['gain'].mean():+.1f} points."
        )
    return lines
