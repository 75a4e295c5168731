"""What is not wrong enough to be refused, but must not pass in silence."""

from __future__ import annotations

import warnings
from typing import TextIO

import numpy as np

from truelabel.arrays import Array, blocks, float32

SAMPLE = 4_096  # rows by which the usual range of a column is judged
WILD = 1_000.0  # times that range from the median: no unit and no heavy tail explains it


class TruelabelWarning(UserWarning):
    """A warning of this package."""


class WildValueWarning(TruelabelWarning):
    """A value is so far from all others of its column that it decides everything that is computed with them."""


class ShiftWarning(TruelabelWarning):
    """Predictions are not like those that a calibrator was fitted on."""


class UselessFeaturesWarning(TruelabelWarning):
    """Features say nothing about the labels."""


class UncheckedWarning(TruelabelWarning):
    """Something could not be checked."""


def warn_of_wild_values(array: Array, title: str) -> None:
    """Warn of a value that is farther from its column's median than `WILD` times the range of nine in ten others."""
    rows = np.unique(np.linspace(0, len(array) - 1, SAMPLE).astype(np.int64))
    low, middle, high = np.percentile(float32(array, rows), (5, 50, 95), axis=0)
    usual = high - low
    if not (usual > 0).any():
        return
    usual = np.where(usual > 0, usual, np.median(usual[usual > 0]))
    top, bottom = np.full(array.shape[1], -np.inf), np.full(array.shape[1], np.inf)
    for part in blocks(array):
        block = float32(array, part)
        np.maximum(top, block.max(axis=0), out=top)
        np.minimum(bottom, block.min(axis=0), out=bottom)
    times = np.maximum(top - middle, middle - bottom) / usual
    column = int(np.argmax(times))
    if times[column] <= WILD:
        return
    value = top[column] if top[column] - middle[column] > middle[column] - bottom[column] else bottom[column]
    row = next(
        part.start + int(hit[0])
        for part in blocks(array)
        if len(hit := np.flatnonzero(float32(array, part)[:, column] == value))
    )
    warnings.warn(
        f"{title} has {value:.6g} in row {row}, column {column}, where values lie between {low[column]:.4g} and "
        f"{high[column]:.4g}; one such value can spoil the whole column, so correct it, clip it or drop the row.",
        WildValueWarning,
        stacklevel=4,
    )


def show_plainly(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning of this package as one line on standard error, others as Python does."""
    from rich.console import Console

    if issubclass(category, TruelabelWarning):
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            "Warning:", str(message), style="yellow", markup=False
        )
    else:
        _USUAL(message, category, filename, lineno, file, line)


_USUAL = warnings.showwarning
