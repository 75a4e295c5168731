"""Instance-dependent noise: where a label goes is decided by a random projection of its instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from truelabel.arrays import Array, Floats, Ints
from truelabel.noise.base import Noise

SPREAD = 0.1  # standard deviation of the flip rates
BLOCK_VALUES = 20_000_000  # inputs read at a time: 80 MB of float32


@dataclass(frozen=True)
class InstanceDependent(Noise):
    """Flip each instance at a rate of its own, to a class that its features choose.

    The paper's Algorithm 1 (after Xia et al., *Part-dependent Label Noise*, 2020): q_i is drawn from the
    normal N(rate, 0.1²) truncated to [0, 1], each class y has a matrix w_y of standard normal entries, and
    p(ỹ | y_i, x_i) is 1 - q_i for ỹ = y_i and q_i · softmax(x_i w_{y_i}) over the other classes.

    The inputs are used as they are. Their scale decides how sharp the softmax is: with pixels in [0, 1]
    nearly all of q_i goes to one or two classes. A low rate is cut on one side, so the mean of q lies a
    little above it (0.206 for 0.2); a rate of 0 flips nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from truelabel.noise import InstanceDependent
    >>> x, y = np.random.default_rng(0).random((1000, 5)), np.arange(1000) % 4
    >>> noisy = InstanceDependent(0.4).corrupt(x, y, seed=0)
    >>> noisy.probabilities.shape
    (1000, 4)
    """

    needs_inputs: ClassVar[bool] = True

    def _probabilities(self, x: Any, y: Ints, c: int, rng: np.random.Generator) -> Floats:
        q = flip_rates(self.rate, len(y), rng)
        rows = np.empty((len(y), c), dtype=np.float32)
        # One stream a class: w_y stays the same whichever other classes are there.
        for k, stream in enumerate(rng.spawn(c)):
            members = np.flatnonzero(y == k)
            if len(members):
                rows[members] = _class_rows(x, members, q[members], k, c, stream)
        return rows


def flip_rates(rate: float, n: int, rng: np.random.Generator) -> Array:
    """Draw n flip rates from N(rate, 0.1²) truncated to [0, 1], by inverting its distribution function."""
    if rate == 0:
        return np.zeros(n)
    low, high = ndtr((0 - rate) / SPREAD), ndtr((1 - rate) / SPREAD)
    q: Array = rate + SPREAD * ndtri(low + (high - low) * rng.random(n))
    return np.clip(q, 0, 1)


def _class_rows(x: Any, members: Array, q: Array, k: int, c: int, rng: np.random.Generator) -> Floats:
    """Return p(ỹ | y = k, x_i) for the instances of class k."""
    d = int(np.prod(np.shape(x[int(members[0])])))
    w = rng.standard_normal((d, c), dtype=np.float32)
    rows = np.empty((len(members), c), dtype=np.float32)
    size = max(1, BLOCK_VALUES // d)
    for start in range(0, len(members), size):
        part = slice(start, start + size)
        block = np.asarray(x[members[part]], dtype=np.float32).reshape(-1, d)
        scores = block @ w
        if not np.isfinite(scores).all():
            raise ValueError("x has a NaN or infinite value; impute it or drop the row first.")
        scores[:, k] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        rows[part] = q[part, None] * (weights / weights.sum(axis=1, keepdims=True))
    rows[:, k] = 1 - q
    return rows
