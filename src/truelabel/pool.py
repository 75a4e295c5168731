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
FLOOR = 1e-4  # an expert that gives a class probability 0 should be outvoted, not obeyed
MOST = 4.0  # weight of an expert: four times as sure as it says is as far as a fit to noisy labels should go


def logs(probs: Floats) -> Floats:
    """Log p, with a floor."""
    return np.log(np.maximum(probs, FLOOR))


def pool(experts: Sequence[Floats], weights: Floats) -> Floats:
    """softmax(Σ_e w_e log p_e)."""
    mixed = sum(np.float32(w) * logs(p) for p, w in zip(experts, weights, strict=True) if w > 0)
    return softmax(mixed if isinstance(mixed, np.ndarray) else np.zeros_like(experts[0]), axis=1)  # type: ignore[no-any-return]


def likelihood_weights(experts: Sequence[Floats], labels: Ints, likelihood: Floats | None = None) -> Floats:
    """Non-negative weights of the log-linear pool under which `labels` are likeliest.

    Parameters
    ----------
    experts : sequence of (n, c) arrays
        What each expert says.
    labels : (n,) array
        ỹ.
    likelihood : (n, c) array, optional
        p(ỹ | y, x) of each label, where the experts speak of y; then the labels are predicted through it. Where None,
        they speak of the labels themselves.
    """
    stacked = np.stack([logs(p) for p in experts]).astype(np.float64)
    rows = np.arange(len(labels))

    def loss(weights: Floats) -> tuple[float, Floats]:
        log_p = log_softmax(np.tensordot(weights, stacked, axes=1), axis=1)
        p = np.exp(log_p)
        if likelihood is None:
            value, heard = log_p[rows, labels].mean(), -p
            heard[rows, labels] += 1
        else:
            joint = p * likelihood
            total = joint.sum(axis=1, keepdims=True)
            value, heard = np.log(total).mean(), joint / total - p
        return -float(value), -np.einsum("enc,nc->e", stacked, heard) / len(labels)

    start = np.full(len(experts), 1 / len(experts))
    result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, MOST)] * len(experts))
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
