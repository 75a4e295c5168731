"""One matrix for a whole set: the class-wise average of T(x), or a count of the labels of each class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from truelabel.arrays import Array, as_array


def class_average(blocks: Iterable[Array], weights: Any) -> Array:
    """Average T(x) over instances, class by class: T[y, ỹ] = Σ_x p(x | y) p(ỹ | y, x).

    The Monte-Carlo estimate of the paper's appendix C.2, which divides by the number N_y of instances of class y.
    Where classes are known as p(y | x) only, an instance may count for class y with that weight; N_y is then their
    sum. A class without instances has a row of the identity.

    Parameters
    ----------
    blocks : iterable of (block, c, c) arrays
        T(x) of consecutive blocks of instances.
    weights : (n,) array of class indices, or (n, c) array
        The class of each instance, or p(y | x).

    Examples
    --------
    >>> import numpy as np
    >>> from truelabel.transitions import class_average
    >>> T = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.6, 0.4], [0.0, 1.0]], [[0.5, 0.5], [0.2, 0.8]]])
    >>> class_average([T[:2], T[2:]], [0, 0, 1])
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """
    weights = as_array(weights, "weights")
    total: Any = None
    start = 0
    for block in blocks:
        part = weights[start : start + len(block)]
        if len(part) == len(block):
            shares = np.eye(block.shape[2])[part] if weights.ndim == 1 else part
            added = np.einsum("ny,nyk->yk", shares, block, dtype=np.float64)
            total = added if total is None else total + added
        start += len(block)
    if start != len(weights) or total is None:
        raise ValueError(f"T(x) was given for {start} instances, but weights has {len(weights)} rows; pass one each.")
    return stochastic(total)


def count_transition(classes: Any, labels: Any, n_classes: int) -> Array:
    """Count which labels the instances of each class have: the shares T[y, ỹ].

    With true classes it is what the noise did; with calibrated classes it is the plainest estimate of T that a
    calibrator gives. A class without instances has a row of the identity.

    Examples
    --------
    >>> from truelabel.transitions import count_transition
    >>> count_transition([0, 0, 0, 0, 1], [0, 0, 0, 1, 1], 3)
    array([[0.75, 0.25, 0.  ],
           [0.  , 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (as_array(classes, "classes"), as_array(labels, "labels")), 1)
    return stochastic(counts)


def stochastic(counts: Array) -> Array:
    """Scale rows to sum to 1; a row of zeros becomes one of the identity."""
    sums = counts.sum(axis=1, keepdims=True)
    rows: Array = np.where(sums > 0, counts / np.where(sums > 0, sums, 1), np.eye(len(counts)))
    return rows
