"""Two runs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truelabel.lab.cell import SEEDS
from truelabel.lab.summary import GROUP, LEVEL, label
from truelabel.lab.table import NONE, Entry, Table, spread, titled
from truelabel.lab.tables import Sheet

if TYPE_CHECKING:
    import pandas as pd


def compare(first: pd.DataFrame, second: pd.DataFrame, names: tuple[str, str] = ("A", "B")) -> Sheet:
    """Return what two runs say of the cells that both have, paired over their seeds.

    Cells are the same that have the same dataset, noise, method, calibrator and seeds; other settings may differ, as
    they do for whoever changed one. What both did with the same data is compared: the accuracy after calibration.

    Parameters
    ----------
    first, second : pandas.DataFrame
        What `Store.frame` returned.
    names : (str, str)
        What the runs are called.
    """
    import pandas as pd

    from truelabel.analysis import significance
    from truelabel.analysis.significance import paired

    keys = [*GROUP, *SEEDS]
    parts = []
    for name, frame in zip(names, (first, second), strict=True):
        part = label(frame[frame["status"] == "ok"]) if len(frame) else frame
        if not len(part):
            raise ValueError(f"{name} has no finished cell.")
        if part.duplicated(keys).any():
            raise ValueError(
                f"{name} has cells that differ in settings alone, so that they cannot be told apart; compare grids of "
                "one setting each."
            )
        parts.append(part[[*keys, "before", "after"]])
    both = parts[0].merge(parts[1], on=keys, suffixes=("_a", "_b"), sort=False)
    if not len(both):
        raise ValueError(f"{names[0]} and {names[1]} have no cell in common.")
    groups = {name: 100 * group[["after_a", "after_b"]] for name, group in both.groupby(GROUP, sort=False)}
    tested = {str(k): (g["after_a"], g["after_b"]) for k, g in enumerate(groups.values()) if len(g) > 1}
    tests = significance(tested) if tested else None
    rows = []
    for number, (name, group) in enumerate(groups.items()):
        test = None if tests is None or str(number) not in tests.index else tests.loc[str(number)]
        rows.append(
            {
                **dict(zip(GROUP, name, strict=True)),
                "seeds": len(group),
                "a": group["after_a"].mean(),
                "b": group["after_b"].mean(),
                "difference": (group["after_b"] - group["after_a"]).mean(),
                "deviation": None if test is None else test["deviation"],
                "p": None if test is None else test["t"],
                "holm": None if test is None else test["holm"],
            }
        )
    found = pd.DataFrame(rows)
    table = Table(
        "Test accuracy (%) after calibration", ["", "noise", "calibrator", "seeds", *names, "difference", "p"]
    )
    for _, row in found.iterrows():
        known = row["p"] is not None and row["p"] == row["p"]
        table.rows.append(
            [
                Entry(f"{row['data']}, {row['method']}"),
                Entry(titled(row["condition"])),
                Entry(row["way"]),
                Entry(str(row["seeds"])),
                Entry(f"{row['a']:.1f}"),
                Entry(f"{row['b']:.1f}"),
                Entry(spread(row["difference"], row["deviation"], 2), known and row["p"] < LEVEL),
                Entry(f"{row['p']:.4f}" if known else NONE),
            ]
        )
    better, worse = found["difference"] > 0, found["difference"] < 0
    p, holm = found["p"].astype(float), found["holm"].astype(float)
    notes = [
        f"Of {len(found)} cells {names[1]} is ahead in {better.sum()}, behind in {worse.sum()} and level in "
        f"{(found['difference'] == 0).sum()}; with p < {LEVEL:g} ahead in {(better & (p < LEVEL)).sum()} and behind in "
        f"{(worse & (p < LEVEL)).sum()}, corrected by Holm in {(better & (holm < LEVEL)).sum()} and "
        f"{(worse & (holm < LEVEL)).sum()}; mean difference {found['difference'].mean():+.2f} points.",
    ]
    if len(both) > 1:
        overall = paired(100 * both["after_a"], 100 * both["after_b"])
        notes.append(
            f"Over all {overall.n} pairs the difference is {overall.difference:+.2f} ± {overall.deviation:.2f}."
        )
    apart = len(parts[0]) + len(parts[1]) - 2 * len(both)
    if apart:
        notes.append(f"{apart} records have no counterpart.")
    return Sheet([table], notes, found)
