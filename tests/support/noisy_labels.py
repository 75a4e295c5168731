"""Labels drawn through a known T."""

from typing import NamedTuple

import numpy as np

SYMMETRIC = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
ASYMMETRIC = np.array([[0.6, 0.4, 0, 0], [0, 0.7, 0.3, 0], [0, 0, 0.95, 0.05], [0.2, 0.1, 0, 0.7]])


class Labelled(NamedTuple):
    """p(y | x), the true classes, their labels, and p(ỹ | x)."""

    clean: np.ndarray
    truth: np.ndarray
    labels: np.ndarray
    believed: np.ndarray


def drawn(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a class from each row of probabilities."""
    return (rng.random((len(rows), 1)) > rows.cumsum(axis=1)).sum(axis=1).clip(max=rows.shape[1] - 1)


def labelled(transition: np.ndarray, n: int = 20_000, seed: int = 0) -> Labelled:
    """p(y | x) of which a part is sure of itself, labels through T, and p(ỹ | x) = p(y | x) T."""
    rng = np.random.default_rng(seed)
    c = len(transition)
    clean = rng.dirichlet(np.full(c, 0.1), size=n)
    truth = drawn(clean, rng)
    labels = drawn(transition[truth], rng)
    return Labelled(clean.astype(np.float32), truth, labels, (clean @ transition).astype(np.float32))
