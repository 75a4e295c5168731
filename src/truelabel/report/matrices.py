"""Matrices over classes, as tables whose cells are shaded in steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from truelabel.arrays import Array, Ints
from truelabel.report.case import Case
from truelabel.report.figures import table

MOST_CLASSES = 20  # classes with a row of their own
STEPS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)  # share of its row from which a cell has the next shade
SHORT = 3  # letters that a column's head may have and stand upright


@dataclass(frozen=True)
class Cell:
    """What a cell shows, its shade, and what it says when it is pointed at."""

    text: str
    shade: int
    says: str


@dataclass(frozen=True)
class Matrix:
    """A table over classes; `pooled` classes share the last row and column."""

    title: str
    down: str
    across: str
    names: tuple[str, ...]
    cells: list[list[Cell]]
    pooled: int

    @property
    def digits(self) -> int:
        """The longest number in it."""
        return max(len(cell.text) for row in self.cells for cell in row)

    @property
    def upright(self) -> bool:
        """Whether the columns' heads are short enough to stand upright."""
        return max(map(len, self.names)) <= SHORT


def counted(case: Case, title: str, down: tuple[str, Ints], across: tuple[str, Ints]) -> Matrix:
    """Return how many instances are of one class down and another across."""
    groups = _groups(case)
    counts = _pool(_pool(table(down[1], across[1], len(case.names)), groups).T, groups).T
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    def cell(i: int, j: int, ours: str, theirs: str) -> Cell:
        says = f"{down[0]} {ours}, {across[0]} {theirs}: {counts[i, j]:,} ({shares[i, j]:.1%})"
        return Cell(f"{counts[i, j]:,}" if counts[i, j] else "", _shade(shares[i, j]), says)

    return _matrix(case, title, down[0], across[0], cell)


def transition(case: Case) -> Matrix:
    """Return T[y, ỹ] in percent."""
    return rates(case, "T(y, ỹ), in percent", case.examined.found.transition)


def rates(case: Case, title: str, transition: Array) -> Matrix:
    """Return how often each class gets which label; pooled classes count by how many are believed to be of each."""
    groups = _groups(case)
    held = case.probs.mean(axis=0, dtype=np.float64)[:, None]
    joint = _pool(_pool(transition * held, groups).T, groups).T
    shares = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-12)

    def cell(i: int, j: int, ours: str, theirs: str) -> Cell:
        says = f"of those that truly are {ours}, {shares[i, j]:.1%} are labelled {theirs}"
        return Cell(f"{100 * shares[i, j]:.0f}" if shares[i, j] >= STEPS[0] else "", _shade(shares[i, j]), says)

    return _matrix(case, title, "true class", "given label", cell)


def _matrix(case: Case, title: str, down: str, across: str, cell: Callable[[int, int, str, str], Cell]) -> Matrix:
    groups = _groups(case)
    names = tuple("the others" if len(group) > 1 else case.names[group[0]] for group in groups)
    cells = [[cell(i, j, ours, theirs) for j, theirs in enumerate(names)] for i, ours in enumerate(names)]
    return Matrix(title, down, across, names, cells, sum(len(group) for group in groups if len(group) > 1))


def _groups(case: Case) -> list[Ints]:
    """Return the classes of each row: one a row, but where there are many, all but the most doubtful share one."""
    c = len(case.names)
    if c <= MOST_CLASSES:
        return [np.array([k]) for k in range(c)]
    suspects = np.bincount(case.given[case.given != case.suggested], minlength=c)
    order = np.argsort(-suspects, kind="stable")
    shown = np.sort(order[: MOST_CLASSES - 1])
    return [*(np.array([k]) for k in shown), np.sort(order[MOST_CLASSES - 1 :])]


def _pool(matrix: Array, groups: Sequence[Ints]) -> Array:
    return np.stack([matrix[group].sum(axis=0) for group in groups])


def _shade(share: float) -> int:
    return int(np.searchsorted(STEPS, share, side="right"))
