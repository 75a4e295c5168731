"""Pooling experts: log-linear weights that the noisy labels themselves choose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from truelabel.arrays import Array, Floats, Ints, float32, row_blocks

BLOCK = 8_192
EVIDENCE_CELLS = 4_000_000  # probabilities of an expert that are looked at where all are not needed, at most
EVIDENCE_ROWS = 20_000  # ... and rows
CLEARLY = 3.0  # standard errors
FLOOR = 1e-6  # an expert that gives a class probability 0 should be outvoted, not obeyed


def logs(probs: Floats) -> Floats:
    """Log p, with a floor."""
    return np.log(np.maximum(probs, FLOOR))


def pool(experts: Sequence[Floats], weights: Floats) -> Floats:
    """softmax(Σ_e w_e log p_e)."""
    mixed = sum(np.float32(w) * logs(p) for p, w in zip(experts, weights, strict=True) if w > 0)
    return softmax(mixed if isinstance(mixed, np.ndarray) else np.zeros_like(experts[0]), axis=1)  # type: ignore[no-any-return]


def likelihood_weights(experts: Sequence[Floats], labels: Ints) -> Floats:
    """Non-negative weights of the log-linear pool that maximise the mean log-likelihood of `labels`."""
    stacked = np.stack([logs(p) for p in experts]).astype(np.float64)
    rows = np.arange(len(labels))
    at_label = stacked[:, rows, labels].mean(axis=1)

    def loss(weights: Floats) -> tuple[float, Floats]:
        mixed = log_softmax(np.tensordot(weights, stacked, axes=1), axis=1)
        gradient = np.einsum("enc,nc->e", stacked, np.exp(mixed)) / len(labels) - at_label
        return -float(mixed[rows, labels].mean()), gradient

    start = np.full(len(experts), 1 / len(experts))
    result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, 4)] * len(experts))
    return result.x.astype(np.float32)  # type: ignore[no-any-return]


def evidence(n: int, c: int, rng: np.random.Generator) -> Ints:
    """Pick rows that are enough to fit a few weights on, or to compare two experts by."""
    rows = min(n, EVIDENCE_ROWS, max(1_000, EVIDENCE_CELLS // c))
    return np.sort(rng.choice(n, rows, replace=False))


def clearly_above(new: Floats, old: Floats, errors: float = CLEARLY) -> bool:
    """Return whether one mean is above another, of the same instances, by so many standard errors."""
    gain = new - old
    return bool(gain.mean() > errors * gain.std() / np.sqrt(len(gain)))


def pool_everywhere(experts: Sequence[Array], weights: Floats) -> Floats:
    """Return the pool of the experts on all rows."""
    out = np.empty(experts[0].shape, dtype=np.float32)
    for rows in row_blocks(len(out), BLOCK):
        out[rows] = pool([float32(p, rows) for p in experts], weights)
    return out
