"""The columns of a row that speak against its given label: numbers far from those of the class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from truelabel.arrays import Array, Ints

MOST = 3  # columns that are named
LEAST = 2.0  # robust standard deviations from which on a number is unusual
FEWEST = 5  # numbers of a class from which its spread can be told
NORMAL = 1.349  # interquartile range of the standard normal distribution


class Unusual:
    """Which numbers of an instance are unusual for its given label.

    How far a number lies from a class is counted from the class's median in robust standard deviations, which are
    its interquartile range / 1.349; where half of a class have the same number, its plain standard deviation is taken.
    Wrong labels among the given ones matter little to them.

    Parameters
    ----------
    numbers : mapping
        The columns that hold numbers, by name, each an array of n; NaN where there is none.
    labels : (n,) array
        The given labels, as class indices.
    n_classes : int
        How many classes there are.
    """

    def __init__(self, numbers: Mapping[str, Array], labels: Ints, n_classes: int) -> None:
        self.numbers, self.labels = numbers, labels
        self._quartiles = {name: _quartiles(column, labels, n_classes) for name, column in numbers.items()}

    def of(self, row: int, suggested: int) -> list[dict[str, Any]]:
        """Return the columns that speak most against the given label, the strongest first.

        Each has its `name`, the `value`, how many robust standard deviations it is `away` from the given class's
        median, and between which numbers the middle half of the `given` and of the `suggested` class lies.
        """
        given = int(self.labels[row])
        found = []
        for name, column in self.numbers.items():
            value, quartiles = float(column[row]), self._quartiles[name]
            away = _away(value, quartiles[given])
            if away >= LEAST:
                found.append((away, name, value, quartiles))
        found.sort(key=lambda one: -one[0])
        return [
            {
                "name": name,
                "value": f"{value:.6g}",
                "away": round(min(away, 1e6), 1),
                "given": _range(quartiles[given]),
                "suggested": _range(quartiles[suggested]),
            }
            for away, name, value, quartiles in found[:MOST]
        ]


def _quartiles(column: Array, labels: Ints, n_classes: int) -> Array:
    """Return the quartiles of a column by class, and its standard deviation; NaN where there are too few numbers."""
    out = np.full((n_classes, 4), np.nan)
    known = np.isfinite(column)
    for k in range(n_classes):
        part = column[known & (labels == k)]
        if len(part) >= FEWEST:
            low, median, high = np.quantile(part, [0.25, 0.5, 0.75])
            out[k] = low, median, high, (high - low) / NORMAL or part.std()
    return out


def _away(value: float, quartiles: Array) -> float:
    """Return how many standard deviations a number lies from a class's median; 0 where that is not known."""
    _, median, _, deviation = quartiles
    if not np.isfinite(value) or not np.isfinite(quartiles).all() or deviation == 0:
        return 0.0
    return float(abs(value - median) / deviation)


def _range(quartiles: Array) -> list[str] | None:
    """Return where the middle half of a class lies; None where that is not known."""
    return [f"{quartiles[k]:.4g}" for k in (0, 2)] if np.isfinite(quartiles).all() else None
