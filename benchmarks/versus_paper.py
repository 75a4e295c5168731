"""Records of a grid beside the paper's Table 1: means by noise and by method, and whether gains go together.

    python benchmarks/versus_paper.py results/laptop.parquet

The records are those of `truelabel lab show --export`, or a store. Only quantities that the paper has a figure for are
compared, and figures of both sides are means over the same cells.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from scipy.stats import spearmanr

from scoreboard.summary import table
from truelabel import lab
from truelabel.lab.summary import summarise

WAYS = ("npc-paper", "npc")


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path, help="a store or a .parquet file of records")
    with lab.open_store(parser.parse_args().records) as store:
        cells = side_by_side(store.frame())
    print(f"{len(cells)} combinations of dataset, noise and method.\n")
    for column, title in (("condition", "noise"), ("method", "method")):
        print(means(cells, column, title), end="\n\n")
    print(verdicts(cells), end="\n\n")
    print(together(cells))


def side_by_side(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each dataset, noise and method: before and after here, and in the paper."""
    found = summarise(frame, ("table1", "mnist"))
    keys = ["data", "condition", "method"]
    ways = {way: found[found["calibrator"] == way].set_index(keys) for way in WAYS}
    first = ways["npc-paper"]
    cells = pd.DataFrame(
        {
            "before": first["before"],
            **{way: rows["after"] for way, rows in ways.items()},
            **{f"{way} gain": rows["gain"] for way, rows in ways.items()},
            **{f"{way} verdict": rows["verdict"] for way, rows in ways.items()},
            "paper before": first["paper_before"].astype(float),
            "paper after": first["paper_after"].astype(float),
        }
    )
    grid = lab.load_grid("paper-table1")
    names = dict.fromkeys(name for cell in grid.cells for name in (cell.dataset, cell.condition, cell.method))
    order = {name: place for place, name in enumerate(names)}
    cells = cells.sort_index(key=lambda names: names.map(lambda name: order.get(name, 0)))
    return cells.dropna(subset=["paper before", "paper after", *WAYS])


def means(cells: pd.DataFrame, level: str, title: str) -> str:
    """Return the means of the accuracies by noise or by method."""
    by = cells.groupby(level=level, sort=False)[["before", *WAYS, "paper before", "paper after"]].mean()
    head = [title, "classifier", "NPC, paper recipe", "NPC", "paper: classifier", "paper: NPC"]
    rows = []
    for name, mean in by.iterrows():
        gains = [f"{mean[way]:.1f} ({mean[way] - mean['before']:+.1f})" for way in WAYS]
        theirs = f"{mean['paper after']:.1f} ({mean['paper after'] - mean['paper before']:+.1f})"
        rows.append([str(name), f"{mean['before']:.1f}", *gains, f"{mean['paper before']:.1f}", theirs])
    return table(head, rows)


def verdicts(cells: pd.DataFrame) -> str:
    """Return in how many combinations each recipe is ahead or behind, and in how many significantly."""
    rows = []
    for way in WAYS:
        gain, verdict = cells[f"{way} gain"], cells[f"{way} verdict"]
        counts = [int((gain > 0).sum()), int((verdict == "improved").sum()), int((gain < 0).sum())]
        rows.append([way, *map(str, counts), str(int((verdict == "harmed").sum()))])
    theirs = cells["paper after"] - cells["paper before"]
    rows.append(["the paper's figures", str(int((theirs > 0).sum())), "", str(int((theirs < 0).sum())), ""])
    return table(["", "mean ahead", "p < 0.05", "mean behind", "p < 0.05"], rows)


def together(cells: pd.DataFrame) -> str:
    """Return how the order of cells here agrees with the paper's (Spearman's rank correlation)."""
    pairs = {
        "accuracy of the classifier, ours and the paper's": (cells["before"], cells["paper before"]),
        "gain of NPC, ours with the paper's recipe and the paper's": (
            cells["npc-paper gain"],
            cells["paper after"] - cells["paper before"],
        ),
        "gain of NPC, ours with the default recipe and the paper's": (
            cells["npc gain"],
            cells["paper after"] - cells["paper before"],
        ),
    }
    rows = [[title, f"{spearmanr(*pair).statistic:.2f}"] for title, pair in pairs.items()]
    return table(["over all combinations", "rank correlation"], rows)


if __name__ == "__main__":
    main()
