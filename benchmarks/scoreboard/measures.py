"""What is measured of probabilities against the true test labels."""

from __future__ import annotations

import numpy as np

BINS = 15


def accuracy(probs: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of right predictions."""
    return float(np.mean(probs.argmax(axis=1) == truth))


def balanced_accuracy(probs: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of right predictions in each class, averaged over the classes that occur."""
    right = probs.argmax(axis=1) == truth
    return float(np.mean([right[truth == y].mean() for y in np.unique(truth)]))


def calibration_error(probs: np.ndarray, truth: np.ndarray) -> float:
    """Return the expected calibration error: |confidence − accuracy|, averaged over 15 bins of equal width."""
    confidence, right = probs.max(axis=1), probs.argmax(axis=1) == truth
    which = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(which, weights=confidence - right, minlength=BINS)
    return float(np.abs(gaps).sum() / len(truth))


def risk_coverage(probs: np.ndarray, truth: np.ndarray, sureness: np.ndarray) -> float:
    """Return the area under the risk–coverage curve: the error rate of the surest k instances, averaged over k."""
    wrong = (probs.argmax(axis=1) != truth)[np.argsort(-sureness, kind="stable")]
    return float(np.mean(np.cumsum(wrong) / np.arange(1, len(wrong) + 1)))
