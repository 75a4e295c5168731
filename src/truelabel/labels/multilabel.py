"""Several labels an instance: a binary question, and a calibrator, a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from truelabel.arrays import Array, Ints, as_array, float32, matrix
from truelabel.predictions import Predictions

FEWEST = 20  # instances with, and without, a class that a calibrator can be learned from


class MultiLabel:
    """What a classifier said of n instances that may have any number of c labels.

    Every class is a question of its own, "has it, or not?", and is answered by a calibrator of its own.

    Parameters
    ----------
    probs : (n, c) array
        The independent probability of each label; rows need not sum to 1.
    labels : (n, c) array of 0 and 1
        The given labels: an indicator matrix. At least 20 instances must have each class, and 20 not.
    features, ids, class_names, out_of_sample
        As in `Predictions`.

    Examples
    --------
    >>> import numpy as np, truelabel as tl
    >>> labels = np.tile([[1, 0], [1, 1], [0, 1]], (30, 1))
    >>> said = tl.labels.MultiLabel(labels * 0.8 + 0.1, labels, np.eye(90), class_names=["cat", "outdoors"])
    >>> said.of_class(0)
    Predictions(n=90, classes=2, features=90, labels)
    """

    def __init__(
        self,
        probs: Any,
        labels: Any,
        features: Any = None,
        *,
        ids: Any = None,
        class_names: Sequence[str] | None = None,
        out_of_sample: bool = False,
    ) -> None:
        self.probs: Array = matrix(probs, "probs")
        self.labels: Ints = indicator(labels, self.probs.shape)
        c = self.probs.shape[1]
        self.class_names: tuple[str, ...] = tuple(map(str, range(c) if class_names is None else class_names))
        if len(self.class_names) != c or len(set(self.class_names)) != c:
            raise ValueError(f"class_names must name each of the {c} columns of probs once.")
        low, high = float(self.probs.min()), float(self.probs.max())
        if low < 0 or high > 1:
            raise ValueError(f"probs has values from {low:.4g} to {high:.4g}; pass logits through a sigmoid first.")
        for name, held in zip(self.class_names, self.labels.sum(axis=0), strict=True):
            if min(held, len(self.labels) - held) < FEWEST:
                raise ValueError(
                    f"{held} of {len(self.labels)} instances are labelled with class {name!r}; at least {FEWEST} with "
                    "it and as many without are needed to judge its labels, so leave its column out."
                )
        self._rest = {"features": features, "ids": ids, "out_of_sample": out_of_sample}

    def __len__(self) -> int:
        return len(self.labels)

    def of_class(self, k: int) -> Predictions:
        """Return the predictions of one class: 0 is "has it not", 1 is "has it"."""
        has = float32(self.probs)[:, k]
        return Predictions(np.column_stack([1 - has, has]), labels=self.labels[:, k], **self._rest)


def indicator(labels: Any, shape: tuple[int, ...]) -> Ints:
    """Return labels as an n×c matrix of 0 and 1."""
    array = as_array(labels, "labels")
    if array.shape != shape:
        raise ValueError(f"labels has shape {array.shape}, but probs {shape}; pass an indicator matrix of that shape.")
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise ValueError("labels of several classes must be an indicator matrix of 0 and 1.")
    return array.astype(np.int64)
