"""Symmetric noise: a label flips to any other class alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from truelabel.arrays import Floats, Ints
from truelabel.noise.base import Noise


@dataclass(frozen=True)
class Symmetric(Noise):
    """Flip each label with probability `rate` to one of the *other* classes, all equally likely.

    Some papers draw the new label from all classes, which flips only rate·(c - 1)/c of them; here the stated
    rate is the expected share of wrong labels.

    Examples
    --------
    >>> import numpy as np
    >>> from truelabel.noise import Symmetric
    >>> noisy = Symmetric(0.3).corrupt(None, np.zeros(10, int), seed=0, n_classes=4)
    >>> noisy.transition[0].round(2)
    array([0.7, 0.1, 0.1, 0.1])
    """

    def _probabilities(self, x: Any, y: Ints, c: int, rng: np.random.Generator) -> Floats:
        rows = np.full((c, c), self.rate / (c - 1), dtype=np.float32)
        np.fill_diagonal(rows, 1 - self.rate)
        return rows[y]
