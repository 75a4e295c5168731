"""No noise at all: the paper's clean setting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from truelabel.arrays import Floats, Ints
from truelabel.noise.base import Noise


@dataclass(frozen=True)
class Clean(Noise):
    """Leave the labels alone."""

    rate: float = 0.0

    def __post_init__(self) -> None:
        if self.rate != 0:
            raise ValueError(f"Clean has no noise, but rate is {self.rate}; choose a kind of noise instead.")

    def _probabilities(self, x: Any, y: Ints, c: int, rng: np.random.Generator) -> Floats:
        return np.eye(c, dtype=np.float32)[y]
