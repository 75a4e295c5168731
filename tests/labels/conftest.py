"""Blobs with noisy labels, a classifier that learned them by heart, and what was found about them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from truelabel import Predictions
from truelabel.labels import LabelIssues, examine

NAMES = ("cat", "dog", "elk")


def drawn(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a class from each row of probabilities."""
    return (rng.random((len(rows), 1)) > rows.cumsum(axis=1)).sum(axis=1).clip(max=rows.shape[1] - 1)


@pytest.fixture(scope="session")
def problem() -> SimpleNamespace:
    """300 points in three blobs far apart; a quarter of the labels are wrong, and the classifier says the labels."""
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.arange(300) % 3)
    x = (8 * np.eye(3, 4)[truth] + rng.normal(size=(300, 4))).astype(np.float32)
    noisy = np.where(rng.random(300) < 0.25, (truth + rng.integers(1, 3, size=300)) % 3, truth)
    said = Predictions(
        0.91 * np.eye(3)[noisy] + 0.03, x, labels=noisy, class_names=NAMES, ids=[f"i{k}" for k in range(300)]
    )
    return SimpleNamespace(truth=truth, x=x, noisy=noisy, wrong=noisy != truth, said=said)


@pytest.fixture(scope="session")
def found(problem: SimpleNamespace) -> LabelIssues:
    return examine(problem.said, progress=False)
