"""T counted on the instances whose class is surest, and what of it can be told from features that are merely weak."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truelabel.arrays import Array, Floats, Ints
from truelabel.label_noise.swaps import Swapped
from truelabel.label_noise.transition import TINY


@dataclass(frozen=True)
class SurestSettings:
    """Which instances count.

    Attributes
    ----------
    share : float
        Of the instances believed to be of a class, those that its row of T is counted on: where classes can be told
        apart at all, the surest fifth are of that class almost without exception.
    close : float
        ... and all that are nearly as sure, so that ties count alike.
    fewest : int
        ... but not fewer than these, where there are so many: a share of labels is then known to seven points.
    """

    share: float = 0.2
    close: float = 0.95
    fewest: int = 50


def counted_on_surest(
    foretold: Floats, labels: Ints, settings: SurestSettings, swapped: Swapped | None = None
) -> Array:
    """Return T counted on the instances whose class is surest.

    What differs between the rows' shares of right labels, and within a row between the wrong ones, is evened out as far
    as chance alone would explain it (James–Stein factors from chi-square statistics). No label of a class is likelier
    than the right one: counts that say otherwise have taken one class for another.
    """
    c = foretold.shape[1]
    guessed = foretold.argmax(axis=1)
    counts = np.zeros((c, c))
    for y in range(c):
        rows = np.flatnonzero(guessed == y)
        if len(rows) < 2:
            continue
        kept = max(min(settings.fewest, len(rows)), int(settings.share * len(rows)))
        least = settings.close * np.partition(foretold[rows, y], -kept)[-kept]
        counts[y] = label_counts(foretold, labels, rows[foretold[rows, y] >= least], swapped)
    right = _right(np.diag(counts), counts.sum(axis=1))
    rows_of_t = [_right_most_often(_row(counts[y], y, right[y]), y) for y in range(c)]
    return np.stack(rows_of_t)


def at_one_rate(transition: Array) -> Array:
    """Return T with the rate of its cleanest class for all, and wrong labels spread as they are.

    Where features are weak for a class, even its surest instances are of other classes, and its labels look wrong. That
    other classes have cleaner labels speaks for that: no class is noisier than the cleanest, unless it is proven.
    """
    c = len(transition)
    right = float(np.diag(transition).max())
    off = transition * (1 - np.eye(c))
    spread = off / np.maximum(off.sum(axis=1, keepdims=True), TINY)
    spread = np.where(off.sum(axis=1, keepdims=True) > 0, spread, (1 - np.eye(c)) / (c - 1))
    return np.asarray(right * np.eye(c) + (1 - right) * spread)


def label_counts(probs: Floats, labels: Ints, rows: Ints, swapped: Swapped | None) -> Array:
    """Count the labels of some rows, each as what it probably was before labels were swapped."""
    c = probs.shape[1]
    if swapped is None:
        return np.asarray(np.bincount(labels[rows], minlength=c))
    other, chance = swapped[rows].before(labels[rows])
    stayed = (1 - chance) * probs[rows, labels[rows]]
    came = chance * probs[rows, other]
    share = came / np.maximum(stayed + came, TINY)
    stay, move = np.bincount(labels[rows], 1 - share, minlength=c), np.bincount(other, share, minlength=c)
    return np.asarray(stay + move)


def _right(right: Array, total: Array) -> Array:
    """Return the shares of right labels, pulled towards the common one as far as chance explains their spread."""
    c = len(total)
    rate = (right + 0.5) / (total + 0.5 + 0.5 / c)
    counted = total > 0
    if counted.sum() <= 3:
        return np.asarray(np.where(counted, rate, rate[counted].max(initial=0.0) if counted.any() else 1.0))
    common = right.sum() / total.sum()
    variance = np.maximum(common * (1 - common), 0.25 / total.sum()) / np.maximum(total, 1)
    surprise = float((np.square(rate - common) / variance)[counted].sum())
    pull = min(1.0, (counted.sum() - 3) / max(surprise, TINY))
    return np.asarray(np.where(counted, pull * common + (1 - pull) * rate, common))


def _row(counts: Array, y: int, right: float) -> Array:
    """Return a row of T: `right` on the diagonal, the rest as the wrong labels are spread."""
    c = len(counts)
    wrong = np.delete(counts, y)
    even = np.full(c - 1, 1 / (c - 1))
    spread = even
    if wrong.sum() > 0 and c > 2:
        expected = wrong.sum() / (c - 1)
        surprise = np.square(wrong - expected).sum() / expected
        pull = min(1.0, (c - 2) / max(surprise, TINY))
        spread = pull * even + (1 - pull) * wrong / wrong.sum()
    return np.insert((1 - right) * spread, y, right)


def _right_most_often(row: Array, y: int) -> Array:
    """Return a row of T whose likelier labels, if there are any, are as likely as the right one."""
    shared = [y]
    for label in np.argsort(-row, kind="stable"):
        if row[label] > row[shared].mean():
            shared.append(label)
    out = row.copy()
    out[shared] = row[shared].mean()
    return out
