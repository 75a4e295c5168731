"""The design of an audit: which instances are drawn, with what probability."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Array, Ints

TRUST = 0.5  # of a model's log odds: models are about twice as sure as they should be where noise depends on x
SUREST = 0.02  # no label is taken for more surely right or wrong than this: what nobody looks at, nobody can vouch for
PER_STRATUM = 12  # answers a stratum: fewer say little of their own spread, more need coarser strata
MOST_STRATA = 10  # more shorten an interval by another hundredth or two


def telling(p_wrong: Array) -> Array:
    """Return how much it tells to look at each instance: the standard deviation of "is wrong", by a cautious model."""
    p = np.clip(p_wrong, 1e-12, 1 - 1e-12)
    odds = np.power(p / (1 - p), TRUST)
    cautious = np.clip(odds / (1 + odds), SUREST, 1 - SUREST)
    return np.asarray(np.sqrt(cautious * (1 - cautious)))


def stratify(p_wrong: Array, sample: int) -> Ints:
    """Return the stratum of each instance, by ascending p_wrong.

    Strata tell equally much in sum, so that equally many are drawn of each: few where p_wrong says a lot, many where
    it says little. Instances of one p_wrong are in one stratum.
    """
    number = int(np.clip(sample // PER_STRATUM, 1, MOST_STRATA))
    _, level = np.unique(p_wrong, return_inverse=True)
    sums = np.bincount(level, weights=telling(p_wrong))
    middle = (np.cumsum(sums) - sums / 2) / sums.sum()
    _, stratum = np.unique(np.minimum((middle * number).astype(np.int64), number - 1), return_inverse=True)
    return np.asarray(stratum[level], dtype=np.int64)


def allocate(tells: Array, sizes: Array, sample: int) -> Ints:
    """Return how many are drawn of each stratum: in proportion to what they tell, at least one and at most all."""
    sizes = sizes.astype(np.int64)
    sample = min(sample, int(sizes.sum()))
    wanted = np.zeros(len(sizes))
    full = np.zeros(len(sizes), dtype=bool)
    while True:
        shares = np.where(full, 0.0, tells)
        rest = sample - int(sizes[full].sum())
        wanted = np.where(full, sizes, rest * shares / shares.sum() if shares.sum() > 0 else 0.0)
        over = (wanted > sizes) & ~full
        if not over.any():
            break
        full |= over
    drawn = np.floor(wanted + 1e-9).astype(np.int64)
    order = np.argsort(-(wanted - drawn), kind="stable")
    drawn[order[: sample - int(drawn.sum())]] += 1
    if sample >= len(sizes):
        for stratum in np.flatnonzero(drawn == 0):
            drawn[np.argmax(drawn)] -= 1
            drawn[stratum] = 1
    return drawn


def draw(stratum: Ints, number: Ints, taken: Ints, rng: np.random.Generator) -> Ints:
    """Return instances drawn at random, so many of each stratum, in random order; none that was taken before."""
    free = np.ones(len(stratum), dtype=bool)
    free[taken] = False
    parts = [
        rng.choice(np.flatnonzero(free & (stratum == h)), int(wanted), replace=False) for h, wanted in enumerate(number)
    ]
    return rng.permutation(np.concatenate(parts)).astype(np.int64)
