"""A fair try: the scoreboard's columns on data, noises and classifiers that the default recipe was not made on.

    python benchmarks/elsewhere.py --out elsewhere.jsonl
    python benchmarks/elsewhere.py --out elsewhere.jsonl --summary         # print what is there, run nothing
    python benchmarks/elsewhere.py … --cells 'imbalanced/*' --seeds 0

A row (a cell) is DATA/NOISE/CLASSIFIER/WAY:

- cancer, wine, digits: scikit-learn's, 400, 118 and 300 or 1200 instances to learn from (2, 3 and 10 classes).
- hundred: make_classification with 100 classes, 10,000 instances. imbalanced: 5 classes, 5,000 instances, the largest
  class 20 times the smallest. moons: 1,000 points of make_moons. shells: 2,000 points in four shells of a Gaussian.
- random-T: a transition matrix drawn at random, at least 60 % of each label right. weak: all labels are those of a
  shallow tree fitted on ten true labels of each class. boundary: labels flip near the boundary of two classes. swamped:
  40 % of all labels become the first class. next: 40 % become the next class. pairs: 40 % of the first two classes have
  each other's label, and so have those of the next two.
- memorised, stopped: as on the scoreboard; in-sample, out-of-fold: how the predictions on the training set were made.

The columns are those of `benchmarks/accuracy.py`, but for temperature scaling, and so are --out and how a run is taken
up again. Three seeds take about ten minutes on one core.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

from scoreboard.columns import TITLES, Columns, one_thread
from scoreboard.other_cells import OtherCell, other_case, other_cells
from scoreboard.store import Record, add, lacking, line, read_records
from scoreboard.summary import TIE, table

SHOWN = {name: title for name, title in TITLES.items() if name != "temperature"}
PEERS = [name for name in SHOWN if name not in ("npc", "clean")]
WORST = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("elsewhere.jsonl"), help="finished cells (JSON lines)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="seeds (default 0 1 2)")
    parser.add_argument("--cells", nargs="+", default=["*"], metavar="PATTERN", help="cells to run, as in 'wine/*'")
    parser.add_argument("--only", nargs="+", choices=SHOWN, default=[*SHOWN], help="columns to run")
    parser.add_argument("--redo", nargs="+", choices=SHOWN, default=[], help="columns to run again where they exist")
    parser.add_argument("--summary", action="store_true", help="print the tables and run nothing")
    options = parser.parse_args()
    stored = read_records(options.out)
    wanted = [cell for cell in other_cells() if any(fnmatch(cell.name, pattern) for pattern in options.cells)]
    if not wanted:
        parser.error(f"no cell is named {' or '.join(options.cells)}; they are {', '.join(map(_name, other_cells()))}.")
    if not options.summary:
        one_thread()
        columns = Columns()
        for cell, seed in ((cell, seed) for seed in options.seeds for cell in wanted):
            left = lacking(stored, (cell.name, seed), SHOWN, options)
            if left:
                print(line(add(stored, options.out, run(cell, seed, left, columns))), flush=True)
    names = {cell.name for cell in wanted}
    print(report([record for (name, seed), record in stored.items() if name in names and seed in options.seeds]))


def run(cell: OtherCell, seed: int, names: list[str], columns: Columns) -> Record:
    """Make one case and measure the columns on it."""
    began = time.process_time()
    made = other_case(cell, seed)
    results = {name: columns.answer(name, made).measured(made.truth) for name in names}
    seconds = round(time.process_time() - began, 1)
    return {"cell": cell.name, "seed": seed, "columns": results, "facts": made.facts, "seconds": seconds}


class Board:
    """The records by cell."""

    def __init__(self, records: list[Record]) -> None:
        names = {record["cell"] for record in records}
        self.records = {
            cell.name: [record for record in records if record["cell"] == cell.name]
            for cell in other_cells()
            if cell.name in names
        }

    def values(self, cell: str, what: str, column: str) -> np.ndarray | None:
        """Return a measure in percent, one a seed; None where a seed lacks it."""
        values = [record["columns"].get(column, {}).get(what) for record in self.records[cell]]
        return None if None in values else 100 * np.array(values)

    def margins(self, column: str, what: str) -> dict[str, float]:
        """Return by cell how far NPC's mean over the seeds is above a column's, in points."""
        found = {}
        for cell in self.records:
            npc, other = self.values(cell, what, "npc"), self.values(cell, what, column)
            if npc is not None and other is not None:
                found[cell] = float(npc.mean() - other.mean())
        return found


def report(records: list[Record]) -> str:
    """Return the tables, and how NPC compares with each column."""
    board = Board(records)
    if not board.records:
        return "No cell is finished yet."
    imbalanced = [cell for cell in board.records if cell.startswith("imbalanced/")]
    parts = ["## Test accuracy, %: mean ± standard deviation over the seeds", values(board, "accuracy", board.records)]
    if imbalanced:
        parts += ["## Balanced accuracy, %: the mean of the classes' accuracies", values(board, "balanced", imbalanced)]
    parts += ["## Expected calibration error, %", values(board, "ece", board.records)]
    parts += ["## NPC beside each column", "\n".join(comparisons(board))]
    return "\n\n".join(parts)


def values(board: Board, what: str, names: list[str] | dict[str, list[Record]]) -> str:
    """Return the table of one measure."""
    rows = []
    for cell in names:
        facts = [record["facts"] for record in board.records[cell]]
        noise, fitted = (100 * np.mean([fact[part] for fact in facts]) for part in ("noise_rate", "fitted"))
        shown = [_spread(board.values(cell, what, column)) for column in SHOWN]
        rows.append([cell, str(len(facts)), f"{noise:.0f} %", f"{fitted:.0f} %", *shown])
    return table(["cell", "seeds", "wrong labels", "fits", *SHOWN.values()], rows)


def comparisons(board: Board) -> Iterator[str]:
    """Count the cells where NPC is at or above a column, and name those where it is furthest below."""
    for column in PEERS:
        margins = board.margins(column, "accuracy")
        level = sum(margin >= -TIE for margin in margins.values())
        worst = sorted(margins.items(), key=lambda item: item[1])[:WORST]
        named = ", ".join(f"{cell} {margin:+.1f}" for cell, margin in worst if margin < -TIE)
        yield (
            f"- at or above {SHOWN[column]} (ties within {TIE} points) in {level} of {len(margins)} cells"
            + (f"; furthest below: {named}" if named else "")
        )
    errors = board.margins("classifier", "ece")
    yield (
        f"- calibration error below the classifier's in {sum(margin < 0 for margin in errors.values())} "
        f"of {len(errors)} cells"
    )


def _spread(found: np.ndarray | None) -> str:
    if found is None:
        return ""
    return f"{found.mean():.1f} ± {found.std(ddof=1):.1f}" if len(found) > 1 else f"{found.mean():.1f}"


def _name(cell: OtherCell) -> str:
    return cell.name


if __name__ == "__main__":
    main()
