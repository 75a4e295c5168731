"""Each part of NPC's default recipe removed, one at a time, on cells of the scoreboard.

    python benchmarks/ablations.py --root DATA --cache CASES --out ablations.jsonl --seeds 0
    python benchmarks/ablations.py --out ablations.jsonl --summary         # print what is there, run nothing
    python benchmarks/ablations.py … --cells 'made/*' --only whole no-T

The cases are those of `benchmarks/accuracy.py`, and --root, --features and --cache mean the same; a case that is not in
--cache is made, which trains its classifier. A part is left out by the settings of the prior (`Settings`), which
everybody can pass.

--out holds one line of JSON a cell and seed, and a later line replaces an earlier one, so that an interrupted run goes
on where it stopped. The cells and one seed take about half an hour on one core.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from scoreboard.cells import Case, Cell, Sources, cells
from scoreboard.columns import Answer, one_thread
from scoreboard.store import Record, add, cached_case, lacking, line, read_records
from scoreboard.summary import TIE, table
from scoreboard.variants import VARIANTS, Variant

TELLING = (
    "digits/*",
    "made/*",
    "fashion-mnist/clean/mlp/*",
    "fashion-mnist/idn:0.4/mlp/*",
    "mnist/sn:0.8/mlp/*",
    "mnist/asn:0.4/mlp/*",
    "mnist/sridn:0.4/mlp/*",
    "fashion-mnist/*/cnn-tiny/in-sample",
    "mnist/clean/cnn-tiny/in-sample",
    "mnist/idn:0.4/cnn-tiny/in-sample",
)
GROUPS = {
    "memorised": lambda cell: cell.memorised and cell.noise != "clean",
    "stopped": lambda cell: cell.way == "stopped" and cell.noise != "clean",
    "weak features": lambda cell: cell.weak and cell.noise != "clean",
    "clean labels": lambda cell: cell.noise == "clean",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, help="folder with the data in torchvision's layout")
    parser.add_argument("--features", type=Path, help="file of CIFAR-10 features (.npz)")
    parser.add_argument("--cache", type=Path, help="folder of the scoreboard's cases")
    parser.add_argument("--out", type=Path, default=Path("ablations.jsonl"), help="finished cells (JSON lines)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="seeds (default 0)")
    parser.add_argument("--cells", nargs="+", default=TELLING, metavar="PATTERN", help="cells to run, as in 'mnist/*'")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=[*VARIANTS], help="variants to run")
    parser.add_argument("--redo", nargs="+", choices=VARIANTS, default=[], help="variants to run where they exist")
    parser.add_argument("--summary", action="store_true", help="print the table and run nothing")
    options = parser.parse_args()
    stored = read_records(options.out)
    wanted = [cell for cell in cells() if any(fnmatch(cell.name, pattern) for pattern in options.cells)]
    if not wanted:
        parser.error(f"no cell is named {' or '.join(options.cells)}; accuracy.py --list prints the names.")
    if not options.summary:
        one_thread()
        for cell, seed in ((cell, seed) for seed in options.seeds for cell in wanted):
            left = lacking(stored, (cell.name, seed), VARIANTS, options)
            if left and (seed == 0 or not cell.one_seed):
                record = run(cell, seed, left, Sources.of(options))
                print(line(add(stored, options.out, record)), flush=True)
    names = {cell.name for cell in wanted}
    print(report([record for (name, seed), record in stored.items() if name in names and seed in options.seeds]))


def run(cell: Cell, seed: int, variants: list[str], sources: Sources) -> Record:
    """Measure the variants, and the classifier, on a case."""
    began = time.process_time()
    made = cached_case(cell, seed, sources)
    columns = {"classifier": Answer(made.test.probs, 0.0).measured(made.truth)}
    for name in variants:
        columns[name] = answer(VARIANTS[name], made).measured(made.truth)
    return {"cell": cell.name, "seed": seed, "columns": columns, "seconds": round(time.process_time() - began, 1)}


def answer(variant: Variant, made: Case) -> Answer:
    """Fit a variant and calibrate the test set."""
    began = time.process_time()
    npc = variant.fit(made.train, made.seed)
    probs = npc.calibrate(variant.given(made.test))
    found = npc.report_
    facts: dict[str, Any] = {
        "memorisation": found.memorisation,
        "noise_rate": found.noise_rate,
        "weights": found.weights,
        "reliance": npc.network_.reliance.item(),
    }
    return Answer(probs, time.process_time() - began, **facts)


class Board:
    """The records by cell, averaged over seeds, in percent."""

    def __init__(self, records: list[Record]) -> None:
        names = {record["cell"] for record in records}
        self.cells = [cell for cell in cells() if cell.name in names]
        self.records = {cell: [record for record in records if record["cell"] == cell.name] for cell in self.cells}

    def mean(self, cell: Cell, what: str, column: str) -> float | None:
        values = [record["columns"].get(column, {}).get(what) for record in self.records[cell]]
        return None if None in values else 100 * float(np.mean(values))

    def changes(self, variant: str, what: str, against: str) -> dict[Cell, float]:
        """Return by cell how far a variant is above another column, in points."""
        found = {}
        for cell in self.cells:
            new, old = self.mean(cell, what, variant), self.mean(cell, what, against)
            if new is not None and old is not None:
                found[cell] = new - old
        return found


def report(records: list[Record]) -> str:
    """Return the table: the whole recipe's accuracy and calibration error, and what each variant adds to them."""
    board = Board(records)
    if not board.cells:
        return "No cell is finished yet."
    head = ["variant", *(f"{name} ({_count(board, name)})" for name in GROUPS)]
    head += ["worst cell", "calibration error", f"more than {TIE} below the classifier"]
    seeds = ", ".join(map(str, sorted({record["seed"] for record in records})))
    note = (
        "Test accuracy of the whole recipe in %, and by how many points each variant is above it, on average over "
        f"the cells of a group (their number in brackets). {len(board.cells)} cells, seeds: {seeds}."
    )
    return note + "\n\n" + table(head, list(_rows(board)))


def _rows(board: Board) -> Iterator[list[str]]:
    for name, variant in VARIANTS.items():
        below = board.changes(name, "accuracy", "classifier")
        if not below:
            continue
        harmed = f"{sum(change < -TIE for change in below.values())} of {len(below)}"
        if name == "whole":
            levels, errors = ({cell: board.mean(cell, what, name) for cell in below} for what in ("accuracy", "ece"))
            shown = [_mean([levels[cell] for cell in below if belongs(cell)], "{:.1f}") for belongs in GROUPS.values()]
            yield [variant.title, *shown, "", _mean([*errors.values()], "{:.1f}"), harmed]
            continue
        changes = board.changes(name, "accuracy", "whole")
        if not changes:
            continue
        shown = [_mean([changes[cell] for cell in changes if belongs(cell)], "{:+.1f}") for belongs in GROUPS.values()]
        worst = min(changes, key=lambda cell: changes[cell])
        errors = board.changes(name, "ece", "whole")
        yield [
            variant.title,
            *shown,
            f"{changes[worst]:+.1f} ({worst.name})",
            _mean([*errors.values()], "{:+.1f}"),
            harmed,
        ]


def _count(board: Board, group: str) -> int:
    return sum(GROUPS[group](cell) for cell in board.cells)


def _mean(values: list[Any], shape: str) -> str:
    return shape.format(np.mean(values)) if values else ""


if __name__ == "__main__":
    main()
