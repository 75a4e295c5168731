"""Bringing features to scale."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Array, Floats, float32, row_blocks

TINY = 1e-12  # least mean square of a row that is made 1; a row at the centre stays there


class Scale:
    """How a view is brought to scale before distances are taken and networks trained.

    "columns" gives every column variance 1 (columns of different units); "whole" divides all by one number, which
    leaves the directions' importance as it is (principal components, pixels); "unit" then gives every row the same
    length, so that distance is angle (embeddings, and words, of which long texts have more). By each of them the mean
    square of a value is 1.
    """

    NAMES = ("whole", "columns", "unit")

    def __init__(self, name: str, mean: Floats, deviation: Floats) -> None:
        self.name, self.mean = name, mean
        varies = deviation > 1e-6 * float(deviation.max())
        whole = np.sqrt(np.mean(np.square(deviation))) if varies.any() else np.float32(1)
        self.divisor: Floats = np.where(varies, deviation if name == "columns" else whole, 1).astype(np.float32)

    def __call__(self, block: Floats) -> Floats:
        scaled = (block - self.mean) / self.divisor
        if self.name == "unit":
            scaled /= np.sqrt(np.maximum(np.square(scaled).mean(axis=1, keepdims=True), TINY))
        return scaled


def moments(array: Array) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column, a block of rows at a time."""
    n, d = array.shape
    shift = float32(array, slice(0, 1))[0].astype(np.float64)
    total, square = np.zeros(d), np.zeros(d)
    for rows in row_blocks(n, max(1, 2_000_000 // d)):
        block = float32(array, rows) - shift
        total += block.sum(axis=0)
        square += np.square(block).sum(axis=0)
    mean = total / n
    variance = np.maximum(square / n - np.square(mean), 0)
    return (mean + shift).astype(np.float32), np.sqrt(variance).astype(np.float32)
