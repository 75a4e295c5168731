"""A joint p(y, ỹ, ŷ | x) that is written down: four places x, three classes, ŷ independent of y given ỹ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from truelabel import Predictions

TRUE = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6], [0.4, 0.3, 0.3]])  # p(y | x)
LABELS = np.array(  # T[x, y, ỹ] = p(ỹ | y, x), another one at each place
    [
        [[0.7, 0.3, 0.0], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]],
        [[0.9, 0.0, 0.1], [0.3, 0.6, 0.1], [0.0, 0.4, 0.6]],
        [[0.6, 0.2, 0.2], [0.1, 0.7, 0.2], [0.3, 0.0, 0.7]],
        [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]],
    ]
)
SAID = np.array(  # p(ŷ | ỹ, x): the classifier has half learned the labels by heart
    [
        [[0.9, 0.05, 0.05], [0.2, 0.75, 0.05], [0.25, 0.05, 0.7]],
        [[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.05, 0.25, 0.7]],
        [[0.65, 0.1, 0.25], [0.05, 0.7, 0.25], [0.02, 0.03, 0.95]],
        [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]],
    ]
)


class ExactH:
    """A calibrator that knows H: a block of so many instances at a time."""

    def __init__(self, H: np.ndarray, where: np.ndarray, block: int) -> None:
        self.H, self.where, self.block = H, where, block

    def transition(self, predictions: Predictions) -> Iterator[np.ndarray]:
        for start in range(0, len(predictions), self.block):
            yield self.H[self.where[start : start + self.block]]


@dataclass(frozen=True)
class Written:
    """The joint, p[x, y, ỹ, ŷ], and everything that follows from it by summing."""

    joint: np.ndarray

    @property
    def p(self) -> np.ndarray:
        """p(y | x)."""
        return self.joint.sum(axis=(2, 3))

    @property
    def q(self) -> np.ndarray:
        """p(ŷ | x)."""
        return self.joint.sum(axis=(1, 2))

    @property
    def H(self) -> np.ndarray:  # noqa: N802
        """p(y | ŷ, x) as H[x, ŷ, y]."""
        return (self.joint.sum(axis=2) / self.q[:, None, :]).transpose(0, 2, 1)

    @property
    def G(self) -> np.ndarray:  # noqa: N802
        """p(ŷ | ỹ, x)."""
        both = self.joint.sum(axis=1)
        return both / both.sum(axis=2, keepdims=True)

    @property
    def T(self) -> np.ndarray:  # noqa: N802
        """p(ỹ | y, x)."""
        both = self.joint.sum(axis=3)
        return both / both.sum(axis=2, keepdims=True)

    @property
    def average(self) -> np.ndarray:
        """p(ỹ | y), all places alike."""
        both = self.joint.sum(axis=(0, 3))
        return both / both.sum(axis=1, keepdims=True)

    def draw(self, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, Predictions]:
        """Draw n instances: their places, their true classes, and what a classifier says of them for sure."""
        rng = np.random.default_rng(seed)
        where = rng.permutation(np.arange(n) % len(self.joint))
        flat = self.joint.reshape(len(self.joint), -1).cumsum(axis=1)
        cell = (rng.random((n, 1)) > flat[where]).sum(axis=1).clip(max=flat.shape[1] - 1)
        y, noisy, said = np.unravel_index(cell, self.joint.shape[1:])
        angle = 2 * np.pi * where / len(self.joint)
        x = 8 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(size=(n, 2))
        return where, y, Predictions(np.eye(len(self.p[0]))[said], x, labels=noisy)

    def calibrator(self, where: np.ndarray, block: int = 700) -> ExactH:
        """A calibrator that knows H."""
        return ExactH(self.H, where, block)


def written_joint(true: np.ndarray, labels: np.ndarray, said: np.ndarray) -> Written:
    """p(y | x) p(ỹ | y, x) p(ŷ | ỹ, x), entry by entry."""
    places, c = true.shape
    joint = np.zeros((places, c, c, c))
    for x, y, noisy, hat in np.ndindex(joint.shape):
        joint[x, y, noisy, hat] = true[x, y] * labels[x, y, noisy] * said[x, noisy, hat]
    return Written(joint)


@pytest.fixture(scope="session")
def written() -> Written:
    return written_joint(TRUE, LABELS, SAID)


@pytest.fixture(scope="session")
def stubborn() -> Written:
    """The same labels, but ŷ hardly listens to them: it is almost a function of x."""
    habit = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.4, 0.3, 0.3]])
    return written_joint(TRUE, LABELS, 0.97 * habit[:, None] + 0.03 * SAID)
