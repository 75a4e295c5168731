"""Shrinkage that data choose: how much of a group's shares are its own, and how much what all groups have in common."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from truelabel.arrays import Array

# Votes that the common shares are worth: from "each group is its own" to "all groups are alike", in steps of √2.
STRENGTHS = 2.0 ** np.arange(-1, 10.5, 0.5)


def log_likelihood(counts: Array, mean: Array, strength: float) -> Array:
    """Return log p(counts) by row, in their order, where shares are from Dir(strength · mean)."""
    alpha = np.maximum(strength * mean, 1e-9)
    whole, total = alpha.sum(axis=-1), counts.sum(axis=-1)
    drawn = (gammaln(counts + alpha) - gammaln(alpha)).sum(axis=-1)
    return np.asarray(drawn + gammaln(whole) - gammaln(whole + total))


def strength(counts: Array, mean: Array, tried: Array = STRENGTHS) -> float:
    """Return the strength with which groups of counts (…, c) are from Dir(strength · mean), of those tried the likeliest."""
    fits = [float(log_likelihood(counts, mean, one).sum()) for one in tried]
    return float(tried[int(np.argmax(fits))])


def shrunk(counts: Array, mean: Array, strength: float) -> Array:
    """Return the expected shares of each group: (counts + strength · mean), scaled to sum to 1."""
    whole = counts + strength * mean
    return np.asarray(whole / whole.sum(axis=-1, keepdims=True))
