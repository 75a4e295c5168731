"""From the probabilities of the noisy labels to labels, and to the matrix that sums them up."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Array, Ints


def draw(probabilities: Array, rng: np.random.Generator) -> Ints:
    """Draw one class from each row of an n×c array of probabilities.

    A class of probability 0 is never drawn.
    """
    cumulative = np.cumsum(probabilities, axis=1, dtype=np.float64)
    # Dividing makes the last entry exactly 1, which a draw from [0, 1) never reaches.
    cumulative /= cumulative[:, -1:]
    drawn = rng.random((len(cumulative), 1))
    return (drawn >= cumulative).sum(axis=1, dtype=np.int64)  # type: ignore[no-any-return]


def average_transition(probabilities: Array, y: Ints) -> Array:
    """Return the c×c matrix whose row k is the mean of the rows of the instances of class k."""
    c = probabilities.shape[1]
    transition = np.eye(c)
    for k in np.unique(y):
        transition[k] = probabilities[y == k].mean(axis=0, dtype=np.float64)
    sums: Array = transition.sum(axis=1, keepdims=True)
    return transition / sums
