"""Shrinkage that data choose: how much of a group's shares are its own, and how much what all groups have in common."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from truelabel.arrays import Array

# Votes that the common shares are worth: from "each group is its own" to "all groups are alike", in steps of 2.
STRENGTHS = 2.0 ** np.arange(-1, 11)


def log_likelihood(counts: Array, mean: Array, strength: float) -> Array:
    """Return log p(counts) by row, in their order, where shares are from Dir(strength · mean)."""
    alpha = np.maximum(strength * mean, 1e-9)
    whole, total = alpha.sum(axis=-1), counts.sum(axis=-1)
    drawn = (gammaln(counts + alpha) - gammaln(alpha)).sum(axis=-1)
    return np.asarray(drawn + gammaln(whole) - gammaln(whole + total))


def strength(counts: Array, mean: Array, tried: Array = STRENGTHS) -> float:
    """Return the likeliest strength, of those tried, where shares of groups (…, c) are from Dir(strength · mean)."""
    counts, mean = np.broadcast_arrays(counts, mean)
    some = counts.sum(axis=-1) > 0
    fits = [float(log_likelihood(counts[some], mean[some], one).sum()) for one in tried]
    return float(tried[int(np.argmax(fits))])


def shrunk(counts: Array, mean: Array, strength: float) -> Array:
    """Return the expected shares of each group: (counts + strength · mean), scaled to sum to 1."""
    whole = counts + strength * mean
    return np.asarray(whole / whole.sum(axis=-1, keepdims=True))
