"""What one more vote would tell, whose it had best be, and which disagreement is the instance's own."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Array, Ints, row_blocks
from truelabel.label_noise.annotators import Annotators
from truelabel.label_noise.transition import TINY
from truelabel.votes import NO_VOTE, Votes

CELLS = 4_000_000  # entries of an n×c×c array that are held at a time


def expected_information(votes: Votes, found: Annotators) -> Array:
    """Return what one more vote of an average annotator is expected to tell about each instance's class, in nats.

    It is the mutual information of the class and that vote, given all votes so far. Where votes depend on each other,
    the next one for an ambiguous instance follows those before it and tells little.
    """
    counts, a = votes.counts, found.concentration
    out = np.empty(len(votes))
    for rows in row_blocks(len(out), max(1, CELLS // votes.n_classes**2)):
        chances = found.average[None]
        if np.isfinite(a):
            total = counts[rows].sum(axis=1)[:, None, None]
            chances = (counts[rows][:, None, :] + a * chances) / (total + a)
        p = found.probs[rows]
        mixed = (p[:, :, None] * chances).sum(axis=1)
        out[rows] = _entropy(mixed) - (p * _entropy(chances)).sum(axis=1)
    return np.maximum(out, 0)


def best_annotators(votes: Votes, found: Annotators) -> Ints:
    """Return which annotator's vote would tell most about each instance; −1 where all have voted for it."""
    most = np.full(len(votes), -np.inf)
    best = np.full(len(votes), NO_VOTE)
    order = np.argsort(votes.columns, kind="stable")
    ends = np.searchsorted(votes.columns[order], np.arange(votes.n_annotators + 1))
    for j, confusion in enumerate(found.confusion):
        tells = _entropy(found.probs @ confusion) - found.probs @ _entropy(confusion)
        tells[votes.rows[order[ends[j] : ends[j + 1]]]] = -np.inf
        better = tells > most
        best[better], most[better] = j, tells[better]
    return best


def ambiguity(votes: Votes, found: Annotators) -> Array:
    """Return how much rarer than usual people give each instance its class, when their own mistakes are accounted for.

    0: as often as is to be expected of those who voted. 0.4: they agree with its class in 40 of 100 votes less. It is
    an estimate from few votes and shrunk as such; 0 everywhere if votes for one instance prove independent.
    """
    if not np.isfinite(found.concentration):
        return np.zeros(len(votes))
    right = np.diagonal(found.confusion, axis1=1, axis2=2)
    weights = found.probs[votes.rows] * votes.count[:, None]
    expected = (weights * right[votes.columns]).sum(axis=1)
    seen = weights[np.arange(len(weights)), votes.labels]
    lacking = np.bincount(votes.rows, weights=expected - seen, minlength=len(votes))
    return np.asarray(np.maximum(lacking, 0) / (votes.per_instance + found.concentration))


def _entropy(p: Array) -> Array:
    return np.asarray(-(p * np.log(np.maximum(p, TINY))).sum(axis=-1))
