"""Priors: what is believed of the true label before the autoencoder is trained.

A prior is a replaceable part of NPC with one method, `believe`. The paper's is `VotePrior`, the default recipe's
`ExpertPrior` in `expert_prior.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from truelabel.arrays import Array, Floats, Ints, float32, row_blocks
from truelabel.calibrators.npc.given import Given
from truelabel.experts.heads import FoldHeads
from truelabel.label_noise import LabelNoise
from truelabel.label_noise.swaps import Swapped
from truelabel.neighbours import Neighbours, inverse_distance, shares
from truelabel.predictions import Predictions
from truelabel.scale import Scale

QUERY_BLOCK = 8_192


@dataclass(frozen=True)
class Belief:
    """What a prior says of n instances, and where the autoencoder should start.

    Attributes
    ----------
    shares : (n, c) float32 array
        p̄(y | x), rows sum to 1.
    reliance : float
        The weight of log p(ŷ | x) that the autoencoder starts with: 0 where the classifier deserves no trust.
    named : (c, c) array, optional
        What it says of the true class that the classifier names class k, in row k; `reliance` is then its weight.
    own_word : float
        In [0, 1]: how fast that weight is learned. What a classifier says of labels it has seen may be memory, from
        which its weight moves no faster than its size.
    scales : mapping of view names to `Scale`
        The views that proved useful and the scale each is best used at. Empty: all views, columns standardised.
    start : mapping of view names to (`FoldHeads`, weight)
        Heads on the useful views that the autoencoder starts from. Empty: it starts from nothing.
    pace : float
        In [0, 1], a factor of the learning rate: where no noise is proven, beliefs are hardly more than the labels that
        the start has learned from already, and there is more to spoil than to correct. A trunk network, which starts
        from nothing, learns at its full rate.
    withheld : (n,) array of bool, optional
        Instances whose p(ŷ | x) the autoencoder is not shown, since the classifier memorised their labels.
    noise : LabelNoise, optional
        The noise in the labels, where the prior estimates it.
    swapped : Swapped, optional
        Where labels are swapped near a class boundary; `noise` is then that of the labels before they are.
    transition : (c, c) array, optional
        T[y, ỹ] = p(ỹ | y) of the labels over all instances, swaps included.
    facts : mapping
        Findings for the report.
    """

    shares: Floats
    reliance: float = 0.0
    named: Array | None = None
    own_word: float = 1.0
    scales: dict[str, Scale] = field(default_factory=dict)
    start: dict[str, tuple[FoldHeads, float]] = field(default_factory=dict)
    pace: float = 1.0
    withheld: Array | None = None
    noise: LabelNoise | None = None
    swapped: Swapped | None = None
    transition: Array | None = None
    facts: dict[str, Any] = field(default_factory=dict)


class Prior(Protocol):
    """The contract of a prior."""

    def believe(self, given: Given) -> Belief:
        """Return what is believed of the true labels of `given.predictions`.

        What a prior has no use for among `given.extras` it refuses with an error.
        """
        ...


class VotePrior(BaseEstimator):  # type: ignore[misc]
    """The paper's prior: a distance-weighted k-NN vote over confident instances in the classifier's hidden layer.

    The reference points are the most confident instance of each predicted class in each batch; they vote with
    the class the classifier predicted for them.

    Parameters
    ----------
    k : int, default 10
        Neighbours.
    batch_size : int, default 128
        Size of the batches that reference points are chosen from.
    """

    def __init__(self, k: int = 10, batch_size: int = 128) -> None:
        self.k = k
        self.batch_size = batch_size

    def believe(self, given: Given) -> Belief:
        """Vote; see `Prior`."""
        if given.extras:
            raise ValueError(f"the paper's recipe has no use for {', '.join(given.extras)}; leave it out.")
        predictions = given.predictions
        space = hidden_or_features(predictions)
        predicted = predictions.hard
        chosen = confident_references(predictions, predicted, self.batch_size, np.random.default_rng(given.seed))
        index = Neighbours(float32(space, chosen))
        k = min(self.k, len(chosen))
        out = np.empty((len(predictions), predictions.n_classes), dtype=np.float32)
        for rows in given.progress.track(list(row_blocks(len(out), QUERY_BLOCK)), "neighbours"):
            distances, found = index.search(float32(space, rows), k)
            out[rows] = shares(predicted[chosen[found]], inverse_distance(distances), predictions.n_classes)
        return Belief(out, facts={"k": {"hidden layer": k}, "references": len(chosen)})


def hidden_or_features(predictions: Predictions) -> Array:
    """Return the hidden layer where given, else the features side by side, for the paper's recipe."""
    if predictions.hidden is not None:
        return predictions.hidden
    views = list(predictions.views.values())
    if not views:
        raise ValueError(
            "the paper's recipe needs the classifier's hidden layer; pass Predictions(hidden=…) or features=…."
        )
    return views[0] if len(views) == 1 else np.concatenate([float32(view) for view in views], axis=1)


def confident_references(predictions: Predictions, predicted: Ints, batch_size: int, rng: np.random.Generator) -> Ints:
    """Pick the most confident instance of each predicted class in each batch of a random order."""
    order = rng.permutation(len(predictions))
    confidence = np.concatenate([predictions.block(rows).max(axis=1) for rows in row_blocks(len(order), QUERY_BLOCK)])
    batch = np.empty(len(order), dtype=np.int64)
    batch[order] = np.arange(len(order)) // batch_size
    group = batch * predictions.n_classes + predicted
    ranked = np.lexsort((-confidence, group))
    first = np.r_[True, np.diff(group[ranked]) != 0]
    return np.sort(ranked[first])
