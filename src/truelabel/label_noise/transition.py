"""What a transition matrix of the labels means for beliefs: T[y, ỹ] = p(ỹ | y), rows sum to 1."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Array, Floats, Ints, row_blocks
from truelabel.label_noise.swaps import Swapped

TINY = 1e-12
BLOCK = 4_096  # small enough that a product with T is not worth a second thread, which would only wait
UPDATES = 50  # of the multiplicative solver
UPDATE_CELLS = 2_500  # ... times classes, where there are many; at least 5 updates


def denoise(foretold: Floats, transition: Array) -> Floats:
    """Return p(y | x) from p(ỹ | x) = Σ_y p(y | x) T[y, ỹ], by multiplicative updates that keep it a distribution.

    They start from equal probabilities: where T is nearly singular they end close to where they began, and class
    shares that are counted under so much noise would pull every belief to the same few classes.
    """
    c = len(transition)
    forward = transition.astype(np.float32)
    updates = min(UPDATES, max(5, UPDATE_CELLS // c))
    out = np.empty_like(foretold)
    for rows in row_blocks(len(foretold), BLOCK):
        p = np.full((rows.stop - rows.start, c), 1 / c, dtype=np.float32)
        for _ in range(updates):
            p *= (foretold[rows] / np.maximum(p @ forward, TINY)) @ forward.T
        out[rows] = p / np.maximum(p.sum(axis=1, keepdims=True), TINY)
    return out


def label_likelihood(transition: Array, labels: Ints, swapped: Swapped | None = None) -> Floats:
    """Return p(ỹ | y, x) of each instance's own label, for each class y: an (n, c) array.

    It is T[y, ỹ], but where labels are swapped near a boundary.
    """
    by_label = np.maximum(transition.T, TINY).astype(np.float32)
    likelihood = by_label[labels]
    if swapped is not None:
        other, chance = swapped.before(labels)
        likelihood = (1 - chance)[:, None] * likelihood + chance[:, None] * by_label[other]
    return likelihood


def given_label(clean: Floats, transition: Array, labels: Ints, swapped: Swapped | None = None) -> Floats:
    """Return p(y | x, ỹ) ∝ p(y | x) · p(ỹ | y, x)."""
    out = np.empty_like(clean)
    for rows in row_blocks(len(clean), BLOCK):
        part = None if swapped is None else swapped[rows]
        heard = np.maximum(clean[rows], TINY) * label_likelihood(transition, labels[rows], part)
        out[rows] = heard / heard.sum(axis=1, keepdims=True)
    return out


def settle(believed: Floats, trusted: Ints | None) -> Floats:
    """Give true classes that are known (−1: not) probability 1, in place."""
    if trusted is not None:
        rows = np.flatnonzero(trusted >= 0)
        believed[rows] = 0
        believed[rows, trusted[rows]] = 1
    return believed


def over_all(transition: Array, probs: Floats, swapped: Swapped | None) -> Array:
    """Return T over all instances, swaps near a boundary included."""
    return transition if swapped is None else transition @ swapped.matrix(probs)


def noise_rate(transition: Array, shares: Array) -> float:
    """Return the share of wrong labels where p(y) is `shares`."""
    return float(1 - shares @ np.diag(transition))
