"""What is measured of probabilities against true labels."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Array, Floats, Ints

BINS = 15


def accuracy(probs: Floats, truth: Ints) -> float:
    """Return the share of right predictions."""
    return float(np.mean(probs.argmax(axis=1) == truth))


def calibration_error(probs: Floats, truth: Ints) -> float:
    """Return the expected calibration error: |confidence − accuracy|, averaged over 15 bins of equal width.

    Examples
    --------
    >>> import numpy as np
    >>> from truelabel.lab.measures import calibration_error
    >>> round(calibration_error(np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([0, 1])), 3)
    0.4
    """
    confidence, right = probs.max(axis=1), probs.argmax(axis=1) == truth
    which = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(which, weights=confidence - right, minlength=BINS)
    return float(np.abs(gaps).sum() / len(truth))


def repair(classes: Ints, truth: Ints, flipped: Array) -> float | None:
    """Return the share of the instances with a wrong label whose true class is found; None where no label is wrong."""
    return float(np.mean(classes[flipped] == truth[flipped])) if flipped.any() else None
