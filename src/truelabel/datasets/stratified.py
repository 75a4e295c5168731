"""Seeded samples that keep the shares of the classes."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Ints

STREAM = 202  # keeps these draws apart from those that noise makes with the same seed


def stratified_rows(labels: Ints, n: int, seed: int) -> Ints:
    """Choose `n` rows, from each class in proportion, in ascending order.

    With one seed, a class's rows in a smaller sample are among its rows in a larger one.

    Parameters
    ----------
    labels : (m,) int64 array
        The classes.
    n : int
        How many rows to choose, from 1 to m.
    seed : int
        The same seed gives the same rows.
    """
    if not 1 <= n <= len(labels):
        raise ValueError(f"A subset of {n} was asked for, but there are {len(labels)} instances; ask for fewer.")
    rng = np.random.default_rng([seed, STREAM])
    classes, sizes = np.unique(labels, return_counts=True)
    exact = sizes * n / len(labels)
    take = np.floor(exact).astype(np.int64)
    left = n - int(take.sum())
    # What rounding left over goes to the classes that lost most by it.
    take[np.argsort(take - exact, kind="stable")[:left]] += 1
    parts = [rng.permutation(np.flatnonzero(labels == k))[:m] for k, m in zip(classes, take, strict=True)]
    return np.sort(np.concatenate(parts))


def train_test_rows(labels: Ints, test_size: float, seed: int) -> tuple[Ints, Ints]:
    """Cut the rows in two, a share of `test_size` of each class for testing."""
    if not 0 < test_size < 1:
        raise ValueError(f"test_size must lie between 0 and 1, but is {test_size}; a fifth is 0.2.")
    n = round(len(labels) * test_size)
    if not 0 < n < len(labels):
        raise ValueError(f"{len(labels)} instances cannot be split with test_size={test_size}; pass more.")
    test = stratified_rows(labels, n, seed)
    return np.setdiff1d(np.arange(len(labels)), test), test
