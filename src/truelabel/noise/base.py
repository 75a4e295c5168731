"""What every noise model returns, and what all of them share: checking the input and drawing the labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from truelabel.arrays import Array, Floats, Ints, as_array
from truelabel.noise.drawing import average_transition, draw

# A noise seed of 0 must not repeat the draws that another part of the library makes with a seed of 0.
STREAM = 101


@dataclass(frozen=True)
class NoisyLabels:
    """Labels that a noise model has corrupted, with what is known of how it did so.

    Attributes
    ----------
    labels : (n,) int64 array
        The noisy labels ỹ.
    flipped : (n,) bool array
        Where ỹ differs from the true label.
    transition : (c, c) float64 array
        The true transition matrix averaged over the instances of each class, ``transition[y, ỹ]``; its rows
        sum to 1. A class without instances has a row of the identity.
    probabilities : (n, c) float32 array or None
        p(ỹ | y_i, x_i), the row y_i of T(x_i), where it is known.
    """

    labels: Ints
    flipped: Array
    transition: Array
    probabilities: Floats | None = None

    @property
    def rate(self) -> float:
        """The share of labels that were flipped."""
        return float(self.flipped.mean())

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Noise(ABC):
    """A noise model: it supplies p(ỹ | y, x) for each instance, and everything else is done here.

    Parameters
    ----------
    rate : float
        The noise rate, in [0, 1).
    """

    rate: float

    needs_inputs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.rate < 1:
            raise ValueError(f"rate must be at least 0 and below 1, but is {self.rate}; 40 % noise is 0.4.")

    @abstractmethod
    def _probabilities(self, x: Any, y: Ints, c: int, rng: np.random.Generator) -> Floats:
        """Return p(ỹ | y_i, x_i) as an n×c array."""

    def corrupt(self, x: Any, y: Any = None, *, seed: int, n_classes: int | None = None) -> NoisyLabels:
        """Draw a noisy label for each instance.

        Parameters
        ----------
        x : Split or array of length n
            The instances. A `datasets.Split` brings its labels along. May be None where the noise does not
            depend on the instances.
        y : (n,) array, optional
            The true labels as class indices. Needed unless `x` is a split.
        seed : int
            The same seed gives the same noise.
        n_classes : int, optional
            Number of classes; by default the split's, or the largest label plus one.
        """
        if y is None:
            if not (hasattr(x, "inputs") and hasattr(x, "labels")):
                raise ValueError("y is missing; pass the true labels, or a datasets.Split as x.")
            x, y, n_classes = x.inputs, x.labels, n_classes or x.n_classes
        elif hasattr(x, "inputs") and hasattr(x, "labels"):
            x = x.inputs
        labels = _class_indices(y)
        c = _class_count(labels, n_classes)
        self._check_inputs(x, len(labels))
        rng = np.random.default_rng([seed, STREAM])
        rows = self._probabilities(x, labels, c, rng)
        noisy = draw(rows, rng)
        return NoisyLabels(noisy, noisy != labels, average_transition(rows, labels), rows)

    def _check_inputs(self, x: Any, n: int) -> None:
        if x is None and self.needs_inputs:
            raise ValueError(f"{type(self).__name__} noise depends on the instances; pass them as x.")
        if x is not None and len(x) != n:
            raise ValueError(f"x has {len(x)} rows, but y has {n} labels; pass one label an instance.")


def _class_indices(y: Any) -> Ints:
    array = as_array(y, "y")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"y must hold one whole class index an instance, but is {array.dtype} of shape {array.shape}; "
            "convert it with astype(int), or encode names first."
        )
    if len(array) == 0:
        raise ValueError("y is empty; pass at least one label.")
    if array.min() < 0:
        raise ValueError(f"y has the label {array.min()}; classes are counted from 0.")
    return array.astype(np.int64, copy=False)


def _class_count(y: Ints, n_classes: int | None) -> int:
    c = int(y.max()) + 1 if n_classes is None else n_classes
    if y.max() >= c:
        raise ValueError(f"y has the label {y.max()}, but n_classes is {c}; raise n_classes.")
    if c < 2:
        raise ValueError("y has one class only; pass n_classes to name how many there are.")
    return c
