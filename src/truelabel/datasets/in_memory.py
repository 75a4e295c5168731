"""Arrays that are already there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from truelabel.arrays import as_array, as_numbers
from truelabel.datasets.split import Dataset, Split, encode


def arrays(
    x: Any,
    y: Any,
    x_test: Any,
    y_test: Any,
    *,
    class_names: Sequence[str] | None = None,
    name: str = "arrays",
) -> Dataset:
    """Make a dataset of arrays.

    Parameters
    ----------
    x, x_test : (n, ...) array
        The instances to train and to test on: images (n, channels, height, width) or features (n, d).
    y, y_test : (n,) array
        Their labels: class indices, or names.
    class_names : sequence of str, optional
        A name for each class; by default the sorted names in the labels, or "0", "1", ….
    name : str, default "arrays"
        A name for the dataset.

    Examples
    --------
    >>> import numpy as np
    >>> from truelabel import datasets
    >>> datasets.arrays(np.ones((4, 3)), ["cat", "dog"] * 2, np.ones((2, 3)), ["dog", "dog"]).train
    Split(n=4, classes=2, in_shape=(3,))
    """
    labels = [as_array(y, "y"), as_array(y_test, "y_test")]
    named = labels[0].dtype.kind in "OUST"
    if class_names is None:
        every = np.unique(np.concatenate(labels))
        class_names = [str(value) for value in (every if named else range(int(every[-1]) + 1))]
    classes = tuple(class_names)
    if named:
        labels = [encode(part, classes, which) for part, which in zip(labels, ("y", "y_test"), strict=True)]
    train, test = (
        Split(as_numbers(part, which).astype(np.float32, copy=False), target, classes)
        for part, which, target in zip((x, x_test), ("x", "x_test"), labels, strict=True)
    )
    if train.in_shape != test.in_shape:
        raise ValueError(f"x has instances of shape {train.in_shape}, but x_test of {test.in_shape}; use one shape.")
    return Dataset(name, train, test)
