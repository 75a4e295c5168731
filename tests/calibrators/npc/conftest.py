"""Blobs with noisy labels and a classifier that learned them by heart."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from truelabel import Predictions


def soft(classes: np.ndarray, c: int, sure: float = 0.97) -> np.ndarray:
    """Probabilities that name these classes: `sure`, and the rest spread evenly."""
    probs = np.full((len(classes), c), (1 - sure) / (c - 1), dtype=np.float32)
    probs[np.arange(len(classes)), classes] = sure
    return probs


@pytest.fixture(scope="session")
def problem() -> Callable[..., SimpleNamespace]:
    """n points in c blobs, a share of their labels moved to another class, and a classifier that says the labels."""

    def make(n: int = 300, c: int = 3, rate: float = 0.3, d: int = 4, seed: int = 0, **parts: Any) -> SimpleNamespace:
        rng = np.random.default_rng(seed)
        truth = rng.permutation(np.arange(n) % c)
        x = (6 * np.random.default_rng(99).normal(size=(c, d))[truth] + rng.normal(size=(n, d))).astype(np.float32)
        moved = rng.random(n) < rate
        noisy = np.where(moved, (truth + rng.integers(1, c, size=n)) % c, truth)
        said = Predictions(**({"probs": soft(noisy, c), "features": x, "labels": noisy} | parts))
        return SimpleNamespace(x=x, truth=truth, noisy=noisy, moved=moved, said=said, c=c)

    return make
