"""What the report is about, as class indices in the instances' own order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from truelabel.arrays import Array, Floats, Ints, blocks
from truelabel.labels.examined import Examined
from truelabel.predictions import Predictions
from truelabel.report.pictures import NAME, shortened


@dataclass(frozen=True)
class Case:
    """Examined labels, as the report's parts need them.

    Attributes
    ----------
    examined : Examined
        All that is known.
    names : tuple of str
        Names of the classes.
    given, predicted, suggested : (n,) arrays
        ỹ, ŷ, and the most probable class by p(y | x, ŷ, ỹ).
    confidence : (n,) array
        The classifier's probability of ŷ.
    truth : (n,) array or None
        True classes, where they are known.
    """

    examined: Examined
    names: tuple[str, ...]
    given: Ints
    predicted: Ints
    suggested: Ints
    confidence: Floats
    truth: Ints | None

    @classmethod
    def of(cls, examined: Examined, truth: Any = None) -> Case:
        """Take the classes from examined labels; `truth` may hold indices or names."""
        said, found = examined.predictions, examined.found
        predicted, confidence = _said(said)
        names = tuple(shortened(str(name), NAME) for name in found.class_names)
        return cls(examined, names, found.labels, predicted, found.suggested, confidence, _truth(said, truth))

    def __len__(self) -> int:
        return len(self.given)

    @property
    def probs(self) -> Floats:
        """p(y | x, ŷ, ỹ)."""
        return self.examined.found.probs

    @property
    def ids(self) -> Array:
        """What the instances are called: their ids, or row numbers."""
        ids = self.examined.predictions.ids
        return np.arange(len(self)) if ids is None else ids

    def believed(self, classes: Ints) -> Floats:
        """Return p(y | x, ŷ, ỹ) of a class for each instance."""
        return np.asarray(self.probs[np.arange(len(self)), classes])


def _said(said: Predictions) -> tuple[Ints, Floats]:
    predicted, confidence = np.empty(len(said), dtype=np.int64), np.empty(len(said), dtype=np.float32)
    for rows in blocks(said.probs):
        part = said.block(rows)
        predicted[rows], confidence[rows] = part.argmax(axis=1), part.max(axis=1)
    return predicted, confidence


def _truth(said: Predictions, truth: Any) -> Ints | None:
    if truth is None:
        return None
    try:
        return said.replace(labels=truth).labels
    except ValueError as error:
        raise ValueError(f"the truth does not fit the predictions: {error}") from None
