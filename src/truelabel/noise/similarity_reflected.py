"""Similarity-reflected instance-dependent noise: the labels a classifier finds hardest go where it errs."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, Floats, Ints, matrix
from truelabel.noise.base import Noise

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class SimilarityReflected(Noise):
    """Give the instances that a classifier is least sure of the most probable wrong class.

    The paper's Algorithm 2 (after Chen et al., *Beyond Class-Conditional Assumption*, 2021): a classifier is
    trained on the clean labels, its softmax is averaged over the epochs, and the n·rate instances with the
    lowest score of their true class get the best scored other class. Given the classifier nothing is random,
    so T(x) has zeros and ones only.

    Parameters
    ----------
    rate : float
        Share of the labels to flip, in [0, 1); n·rate is rounded up.
    network : str or torch.nn.Module, optional
        The classifier: a name of `networks.NAMES` or a module, of which a copy is trained. By default the
        paper's network for inputs of this shape.
    epochs : int, default 10
        Epochs of training (Adam 1e-3, batches of 128) that the softmax is averaged over. The paper does not
        say how many.
    device : str, default "auto"
        Where to train; "auto" is the GPU if there is one.
    scores : (n, c) array, optional
        The averaged softmax itself, from a classifier of one's own; then nothing is trained and `x` may be
        None.
    """

    network: str | nn.Module | None = None
    epochs: int = 10
    device: str = "auto"
    scores: Array | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epochs < 1:
            raise ValueError(f"epochs must be at least 1, but is {self.epochs}.")

    def _probabilities(self, x: Any, y: Ints, c: int, rng: np.random.Generator) -> Floats:
        scores = self._given_scores(len(y), c) if self.scores is not None else self._trained(x, y, c, rng)
        return np.eye(c, dtype=np.float32)[flip_least_confident(scores, y, self.rate)]

    def _given_scores(self, n: int, c: int) -> Array:
        scores = matrix(self.scores, "scores")
        if scores.shape != (n, c):
            raise ValueError(
                f"scores has shape {scores.shape}, but there are {n} labels of {c} classes; pass one row an "
                "instance and one column a class, or n_classes."
            )
        return scores

    def _trained(self, x: Any, y: Ints, c: int, rng: np.random.Generator) -> Array:
        if x is None:
            raise ValueError("SimilarityReflected trains a classifier; pass the instances as x, or scores=.")
        from truelabel.noise.clean_classifier import averaged_softmax

        return averaged_softmax(
            x,
            y,
            c,
            network=self.network,
            epochs=self.epochs,
            device=self.device,
            seed=int(rng.integers(2**31)),
        )


def flip_least_confident(scores: Array, y: Ints, rate: float) -> Ints:
    """Return `y` with the n·rate labels of lowest score replaced by the best scored other class."""
    rows = np.arange(len(y))
    # The subtraction keeps 100 · 0.07 = 7.000000000000001 from becoming 8.
    count = ceil(len(y) * rate - 1e-9)
    hardest = np.argsort(scores[rows, y], kind="stable")[:count]
    others = scores[hardest].astype(np.float64)
    others[np.arange(count), y[hardest]] = -np.inf
    noisy = y.copy()
    noisy[hardest] = others.argmax(axis=1)
    return noisy
