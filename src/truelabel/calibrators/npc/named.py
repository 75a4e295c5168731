"""What the class that a classifier names says of the true one: the part of H that depends on ŷ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from truelabel.arrays import Array, Floats, Ints
from truelabel.pool import CLEARLY, logs, pool

LOUDEST = 4.0  # times the weight of its probabilities, at most


class Named(NamedTuple):
    """By which H_k(x) ∝ p(y | x) · exp(weight · evidence[k]) where the classifier names k."""

    weight: float
    evidence: Array


def evidence_of_names(experts: list[Floats], weights: Floats, probs: Floats, labels: Ints) -> Named | None:
    """Return what the class that a classifier names is evidence of, or None where its probabilities say more.

    A classifier can be heard in two ways. Its probabilities are evidence, log p(ŷ | x) times a weight; then a class
    that is drawn from them says nothing more, and H is the same for all. Or the class that it names is: its evidence is
    the mean of its log probabilities where it names that class. The second is right where how sure the classifier is
    tells nothing, as with one that only names classes.

    Parameters
    ----------
    experts : list of (n, c) arrays
        What others say of the labels.
    weights : (e + 1,) array
        Their weights, and last the classifier's.
    probs : (n, c) array
        p(ŷ | x) of instances that the classifier has not seen.
    labels : (n,) array
        Their labels.
    """
    if _sureness_tells(probs, labels):
        return None
    alone, evidence = pool(experts, weights[:-1]), _mean_logs(probs)

    def loss(weight: float) -> float:
        told = np.exp(weight * evidence)
        totals = np.maximum(alone @ told.T, np.finfo(np.float32).tiny)
        p = (alone * ((probs / totals) @ told)).astype(np.float32)
        return -float(logs(p)[np.arange(len(labels)), labels].mean())

    most = LOUDEST * float(weights[-1])
    return Named(float(minimize_scalar(loss, bounds=(0, most), method="bounded").x), evidence)


def _sureness_tells(probs: Floats, labels: Ints) -> bool:
    """Return whether the classifier is clearly surer where it says the label than where it does not."""
    named = probs.argmax(axis=1)
    sure = logs(probs.max(axis=1)).astype(np.float64)
    counts = np.maximum(np.bincount(named, minlength=probs.shape[1]), 1)
    sure -= (np.bincount(named, sure, minlength=probs.shape[1]) / counts)[named]
    right, wrong = sure[named == labels], sure[named != labels]
    if len(right) < 2 or len(wrong) < 2:
        return True
    error = float(np.sqrt(right.var() / len(right) + wrong.var() / len(wrong)))
    return float(right.mean() - wrong.mean()) > max(CLEARLY * error, 1e-6)


def _mean_logs(probs: Floats) -> Array:
    """Return the mean log probabilities where each class is named; alike for all classes that never are."""
    c = probs.shape[1]
    said, named = logs(probs), probs.argmax(axis=1)
    counts = np.bincount(named, minlength=c)
    mean = np.zeros((c, c))
    np.add.at(mean, named, said)
    mean /= np.maximum(counts, 1)[:, None]
    never = counts == 0
    own, others = np.diag(mean)[~never].mean(), mean[~never].sum() - np.diag(mean)[~never].sum()
    mean[never] = others / ((~never).sum() * (c - 1))
    mean[never, never] = own
    return np.asarray(mean - mean.max(axis=1, keepdims=True))
