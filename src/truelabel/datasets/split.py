"""Instances with their labels, and the two parts of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from truelabel.arrays import Array, Ints, Rows, as_array, pick


@dataclass(frozen=True, repr=False, eq=False)
class Split:
    """Instances and their labels.

    Parameters
    ----------
    inputs : (n, ...) float32 array or LazyImages
        The instances; ``inputs[rows]`` is an array in either case.
    labels : (n,) int64 array
        A class index for each instance.
    class_names : tuple of str
        A name for each class.
    """

    inputs: Any
    labels: Ints
    class_names: tuple[str, ...]

    def __post_init__(self) -> None:
        labels = as_array(self.labels, "labels")
        if labels.ndim != 1 or labels.dtype.kind not in "iu":
            raise ValueError(
                f"labels must hold one whole class index an instance, but is {labels.dtype} of shape "
                f"{labels.shape}; encode names first."
            )
        if len(labels) != len(self.inputs):
            raise ValueError(
                f"There are {len(labels)} labels, but there are {len(self.inputs)} instances; pass one each."
            )
        if len(labels) and not (labels.min() >= 0 and labels.max() < self.n_classes):
            wrong = labels.min() if labels.min() < 0 else labels.max()
            raise ValueError(
                f"labels has {wrong}, but there are {self.n_classes} classes (0 to {self.n_classes - 1}); "
                "use the index of a class name."
            )
        object.__setattr__(self, "labels", labels.astype(np.int64, copy=False))

    @property
    def n_classes(self) -> int:
        """Number of classes c."""
        return len(self.class_names)

    @property
    def in_shape(self) -> tuple[int, ...]:
        """Shape of one instance."""
        return tuple(self.inputs.shape[1:])

    def with_labels(self, labels: Any) -> Split:
        """Return the same instances with other labels: an array, or what a noise model returned."""
        return replace(self, labels=getattr(labels, "labels", labels))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Rows) -> Split:
        """Return the rows that a slice, an index array or a mask picks; lazy images stay lazy."""
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            if rows.ndim != 1:
                raise TypeError("Pick rows of a Split by a slice, a one-dimensional index array or a mask.")
        inputs = pick(self.inputs, rows)
        return replace(self, inputs=inputs, labels=self.labels[rows])

    def __repr__(self) -> str:
        return f"Split(n={len(self)}, classes={self.n_classes}, in_shape={self.in_shape})"


@dataclass(frozen=True, eq=False)
class Dataset:
    """A dataset's name, its two splits and the names of its classes."""

    name: str
    train: Split
    test: Split

    @property
    def class_names(self) -> tuple[str, ...]:
        """A name for each class."""
        return self.train.class_names


def encode(names: Sequence[Any] | Array, class_names: Sequence[str], where: str) -> Ints:
    """Return the index in `class_names` of each name, or say which is not there."""
    index = {name: k for k, name in enumerate(class_names)}
    unknown = [(row, name) for row, name in enumerate(names) if str(name) not in index]
    if unknown:
        row, name = unknown[0]
        raise ValueError(f"{where} has the class {str(name)!r} in row {row}, which is not known; correct it or add it.")
    return np.array([index[str(name)] for name in names], dtype=np.int64)
