"""The scoreboard as Markdown, and what must hold of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scoreboard.cells import cells
from scoreboard.columns import TITLES
from scoreboard.store import Record

TIE = 0.3  # points
LEAST_ROOM = 1.0  # points between the classifier and clean labels below which there is nothing to repair
MEDIAN_REPAIR = 80.0
SHARE_OF_CLEANLAB = 0.9
TIMES_CLEANLAB = 2.0


class Board:
    """The records by cell, averaged over seeds, in percent."""

    def __init__(self, records: list[Record]) -> None:
        self.records: dict[str, list[Record]] = {}
        for cell in cells():
            found = [record for record in records if record["cell"] == cell.name]
            if found:
                self.records[cell.name] = found

    def mean(self, cell: str, what: str, column: str) -> float | None:
        """Return the mean of a measure over the seeds of a cell, None where a seed lacks it."""
        values = [record["columns"].get(column, {}).get(what) for record in self.records[cell]]
        return None if None in values else 100 * float(np.mean(values))

    def repair(self, cell: str) -> float | None:
        """Return the percentage of what noise cost that NPC brings back."""
        classifier, npc, clean = (self.mean(cell, "accuracy", column) for column in ("classifier", "npc", "clean"))
        if classifier is None or npc is None or clean is None or clean - classifier < LEAST_ROOM:
            return None
        return 100 * (npc - classifier) / (clean - classifier)

    def margins(self, column: str, what: str = "accuracy") -> dict[str, float]:
        """Return by cell how far NPC is above a column, in points."""
        found = {}
        for cell in self.records:
            npc, other = self.mean(cell, what, "npc"), self.mean(cell, what, column)
            if npc is not None and other is not None:
                found[cell] = npc - other
        return found


def report(records: list[Record]) -> str:
    """Return the tables and the checks."""
    board = Board(records)
    if not board.records:
        return "No cell is finished yet."
    parts = ["## Test accuracy (expected calibration error), %", accuracies(board)]
    parts += ["## Area under the risk–coverage curve, %", areas(board)]
    parts += ["## What must hold", *checks(board)]
    return "\n\n".join(parts)


def accuracies(board: Board) -> str:
    """Return the table of accuracy, calibration error and repair."""
    rows = []
    for cell, found in board.records.items():
        shown = []
        for column in TITLES:
            right, error = board.mean(cell, "accuracy", column), board.mean(cell, "ece", column)
            shown.append("" if right is None or error is None else f"{right:.1f} ({error:.1f})")
        repair = board.repair(cell)
        shown.append("" if repair is None else f"{repair:.0f} %")
        fitted = 100 * np.mean([record["facts"]["fitted"] for record in found])
        rows.append([cell, str(len(found)), f"{fitted:.0f} %", *shown])
    return table(["cell", "seeds", "fits", *TITLES.values(), "repair"], rows)


def areas(board: Board) -> str:
    """Return the table of areas; NPC is ranked by its posterior's probability of being wrong, others by confidence."""
    rows = []
    for cell in board.records:
        values = [board.mean(cell, "aurc", column) for column in TITLES]
        shown = ["" if value is None else f"{value:.2f}" for value in values]
        rows.append([cell, *shown])
    return table(["cell", *TITLES.values()], rows)


def checks(board: Board) -> Iterator[str]:
    """Check the requirements one by one, and name the cells that violate them."""
    for column in ("classifier", "knn", "heads", "paper"):
        margins = board.margins(column)
        yield verdict(
            f"NPC at or above {TITLES[column]} in every cell, ties within {TIE} points",
            {cell: margin for cell, margin in margins.items() if margin < -TIE},
            len(margins),
            "points",
        )
    memorised = [cell for cell in board.records if cell.endswith("/memorised")]
    repairs = {cell: board.repair(cell) for cell in memorised}
    known = {cell: value for cell, value in repairs.items() if value is not None}
    if known:
        median = float(np.median(list(known.values())))
        low = {cell: value - MEDIAN_REPAIR for cell, value in known.items() if value < MEDIAN_REPAIR}
        head = f"median repair on memorised cells at least {MEDIAN_REPAIR:.0f} %: {median:.0f} %"
        yield verdict(head, low, len(known), "%", median >= MEDIAN_REPAIR)
    margins = board.margins("cleanlab")
    below = {cell: margin for cell, margin in margins.items() if margin < 0}
    if margins:
        share = 1 - len(below) / len(margins)
        head = f"at or above cleanlab in at least {100 * SHARE_OF_CLEANLAB:.0f} % of the cells: {100 * share:.0f} %"
        yield verdict(head, below, len(margins), "points", share >= SHARE_OF_CLEANLAB)
    errors = {cell: margin for cell, margin in board.margins("classifier", "ece").items() if cell in memorised}
    worse = {cell: -margin for cell, margin in errors.items() if margin >= 0}
    yield verdict("expected calibration error below the classifier's in memorised cells", worse, len(errors), "points")
    ranked = board.margins("classifier", "aurc")
    worse = {cell: -margin for cell, margin in ranked.items() if margin >= 0}
    yield verdict("risk–coverage area below that of the classifier's confidence", worse, len(ranked), "points")
    yield from _speed(board)


def _speed(board: Board) -> Iterator[str]:
    ratios = {}
    for cell, found in board.records.items():
        seconds = [
            [record["columns"].get(column, {}).get("seconds") for column in ("npc", "cleanlab")] for record in found
        ]
        if cell.startswith("cifar10/") and all(npc and peer for npc, peer in seconds):
            ratios[cell] = float(np.median([npc / peer for npc, peer in seconds]))
    if ratios:
        median = float(np.median(list(ratios.values())))
        slow = {cell: TIMES_CLEANLAB - ratio for cell, ratio in ratios.items() if ratio > TIMES_CLEANLAB}
        head = f"fitting 50,000 × 128 at most {TIMES_CLEANLAB:.0f} times as long as cleanlab's protocol: {median:.1f}"
        yield verdict(head, slow, len(ratios), "", median <= TIMES_CLEANLAB)


def verdict(what: str, violations: dict[str, float], of: int, unit: str, holds: bool | None = None) -> str:
    """Return whether something holds, and the cells where it does not."""
    holds = not violations if holds is None else holds
    lines = [f"- {'holds' if holds else '**does not hold**'}: {what} ({of - len(violations)} of {of} cells)"]
    for cell, margin in sorted(violations.items(), key=lambda item: item[1]):
        lines.append(f"    - {cell}: {margin:+.1f} {unit}".rstrip())
    return "\n".join(lines)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
