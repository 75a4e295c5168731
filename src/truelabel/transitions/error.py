"""How far an estimated T is from a known one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from truelabel.arrays import Array, as_numbers

if TYPE_CHECKING:
    import pandas as pd

TOLERANCE = 1e-3  # by which a row may miss the sum of 1


class TransitionError(NamedTuple):
    """Errors of an estimated T.

    Attributes
    ----------
    squared : float
        Mean squared error over the c×c entries, as in the NPC paper's figure and table of transition matrices.
    absolute : float
        Mean absolute error over the entries.
    """

    squared: float
    absolute: float


def transition_error(estimate: Any, truth: Any) -> TransitionError:
    """Return how far an estimated T[y, ỹ] is from the true one.

    Examples
    --------
    >>> from truelabel.transitions import transition_error
    >>> error = transition_error([[0.9, 0.1], [0.2, 0.8]], [[0.8, 0.2], [0.2, 0.8]])
    >>> print(round(error.squared, 4), round(error.absolute, 4))
    0.005 0.05
    """
    known = check_transition(truth, "truth")
    difference = check_transition(estimate, "estimate", len(known)) - known
    return TransitionError(float(np.square(difference).mean()), float(np.abs(difference).mean()))


def error_table(estimates: Mapping[str, Any], truth: Any) -> pd.DataFrame:
    """Return the errors of several estimates of T, a row each, with the mean of its diagonal beside them.

    Examples
    --------
    >>> import numpy as np
    >>> from truelabel.transitions import error_table
    >>> truth = np.array([[0.8, 0.2], [0.3, 0.7]])
    >>> error_table({"truth": truth, "no noise": np.eye(2)}, truth).round(3)
              mean squared error  mean absolute error  mean diagonal
    truth                  0.000                 0.00           0.75
    no noise               0.065                 0.25           1.00
    """
    import pandas as pd

    rows = {
        name: [*transition_error(estimate, truth), float(np.diag(np.asarray(estimate)).mean())]
        for name, estimate in estimates.items()
    }
    columns = ["mean squared error", "mean absolute error", "mean diagonal"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def check_transition(matrix: Any, name: str, n_classes: int | None = None) -> Array:
    """Return a transition matrix in float64, or say what keeps it from being one."""
    found = as_numbers(matrix, name).astype(np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise ValueError(f"{name} must be a c×c matrix T[y, ỹ], but has shape {found.shape}; pass one row a class.")
    if n_classes is not None and len(found) != n_classes:
        raise ValueError(f"{name} is for {len(found)} classes, but there are {n_classes}; pass one row a class.")
    sums = found.sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(sums - 1) <= TOLERANCE) | (found.min(axis=1) < -TOLERANCE))
    if len(wrong):
        raise ValueError(
            f"row {wrong[0]} of {name} is no distribution over labels (it sums to {sums[wrong[0]]:.4g}); "
            "pass T[y, ỹ] = p(ỹ | y), whose rows sum to 1."
        )
    return found
