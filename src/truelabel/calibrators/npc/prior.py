"""Priors: what is believed of the true label before the autoencoder is trained.

A prior is a replaceable part of NPC with one method, `believe`. The paper's is `VotePrior`, the default recipe's
`ExpertPrior`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from sklearn.base import BaseEstimator

from truelabel.arrays import Array, Floats, Ints, float32, row_blocks
from truelabel.calibrators.npc.heads import out_of_fold
from truelabel.calibrators.npc.label_noise import (
    denoise,
    estimate_transition,
    given_label,
    matching_sharpness,
)
from truelabel.calibrators.npc.pool import logs, pool_by_likelihood
from truelabel.neighbours import Neighbours, inverse_distance, shares, stratified
from truelabel.predictions import Predictions
from truelabel.progress import Progress
from truelabel.scale import Scale, moments

QUERY_BLOCK = 8_192
EVIDENCE_CELLS = 4_000_000  # probabilities of an expert that pooling weights are fitted on, at most
EVIDENCE_ROWS = 20_000  # ... and rows
TRIAL_ROWS = 2_000  # rows on which scale and k are tried


@dataclass(frozen=True)
class Belief:
    """What a prior says of n instances.

    Attributes
    ----------
    shares : (n, c) float32 array
        p̄(y | x), rows sum to 1.
    trust : float
        In [0, 1]: how far the classifier's own answer deserves to stand where no evidence speaks against it.
    scales : mapping of view names to `Scale`
        The views that proved useful and the scale each is best used at. Empty: all views, columns standardised.
    facts : mapping
        Findings for the report.
    """

    shares: Floats
    trust: float = 0.0
    scales: dict[str, Scale] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


class Prior(Protocol):
    """The contract of a prior."""

    def believe(self, predictions: Predictions, *, device: torch.device, seed: int, progress: Progress) -> Belief:
        """Return what is believed of the true labels of `predictions`."""
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

    def believe(self, predictions: Predictions, *, device: torch.device, seed: int, progress: Progress) -> Belief:
        """Vote; see `Prior`."""
        space = hidden_or_features(predictions)
        predicted = predictions.hard
        chosen = confident_references(predictions, predicted, self.batch_size, np.random.default_rng(seed))
        index = Neighbours(float32(space, chosen))
        k = min(self.k, len(chosen))
        out = np.empty((len(predictions), predictions.n_classes), dtype=np.float32)
        for rows in progress.track(list(row_blocks(len(out), QUERY_BLOCK)), "neighbours"):
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


class ExpertPrior(BaseEstimator):  # type: ignore[misc]
    """The default recipe's prior: experts on label-free features, pooled by the likelihood of the noisy labels.

    The experts are, for each view, two k-NN votes over all instances (the neighbours' labels, and what the
    classifier says of the neighbours) and an out-of-fold head; and the classifier itself where its predictions are
    out of sample. None of them has seen the label of the instance it is asked about, so that the labels can judge
    them, and their pool is p(ỹ | x). From it come the transition matrix T of the labels, p(y | x), and, with each
    instance's own label, the belief p(y | x, ỹ) ∝ p(y | x) T[y, ỹ]. Without labels the classifier's predictions
    take their place throughout.

    Parameters
    ----------
    k : int, optional
        Neighbours that vote. None tries several and keeps the one whose votes predict the noisy labels best.
    reference : int, default 50000
        At most this many instances vote and train heads, so that the cost stays linear in n.
    """

    CANDIDATES = (5, 10, 20, 40, 80)
    LEAST_WEIGHT = 0.02  # a view whose experts together have less than this share is left out

    def __init__(self, k: int | None = None, reference: int = 50_000) -> None:
        self.k = k
        self.reference = reference

    def believe(self, predictions: Predictions, *, device: torch.device, seed: int, progress: Progress) -> Belief:
        """Ask the experts and pool them; see `Prior`."""
        if not predictions.views:
            raise ValueError(
                "the default recipe needs features that did not see the noisy labels; pass Predictions(features=…), "
                'or use recipe="paper" on the hidden layer.'
            )
        rng = np.random.default_rng(seed)
        predicted = predictions.hard
        labels = predicted if predictions.labels is None else predictions.labels
        c = predictions.n_classes
        reference = stratified(labels, self.reference, rng)
        experts: dict[tuple[str, str], Floats] = {}
        votes: dict[str, _Vote] = {}
        for name, view in predictions.views.items():
            vote = votes[name] = _Vote.best(view, labels, reference, c, self.k, self.CANDIDATES, rng)
            experts[name, "vote"], experts[name, "prediction vote"] = vote.everywhere(view, predictions, progress)
            experts[name, "head"] = out_of_fold(
                view, vote.scale, labels, reference, c, device=device, seed=seed, progress=progress
            )
        judged = predictions.out_of_sample and predictions.labels is not None
        if judged:
            experts["classifier", ""] = predictions.probs
        some = np.sort(rng.choice(len(labels), _rows_asked(len(labels), c), replace=False))
        believed, weights = pool_by_likelihood(list(experts.values()), labels, some)

        memorised = None
        if predictions.out_of_sample:
            memorised = 0.0
        elif predictions.labels is not None:
            foreseen = np.mean(believed[some].argmax(axis=1) == labels[some])
            memorised = memorisation(float(np.mean(predicted == labels)), float(foreseen))

        # A classifier that has half memorised a label spreads it to the neighbours, so that T, which looks at where
        # labels agree with beliefs, must not hear what it says of them unless its predictions are out of sample.
        unaware = [p for (_, kind), p in experts.items() if judged or kind != "prediction vote"]
        sure = believed if judged else pool_by_likelihood(unaware, labels, some)[0]
        transition, class_shares = estimate_transition(sure, labels)
        clean = denoise(believed, transition, class_shares)
        sharpness = matching_sharpness(clean[some], transition, class_shares, labels[some])

        useful = self._useful(list(votes), list(experts), weights)
        facts = {
            "memorisation": memorised,
            "noise_rate": float(1 - class_shares @ np.diag(transition)),
            "weights": {"classifier": 0.0}
            | {" ".join(key).strip(): float(w) for key, w in zip(experts, weights, strict=True)},
            "views": {name: votes[name].scale.name for name in useful},
            "k": {name: votes[name].k for name in useful},
            "references": len(reference),
        }
        return Belief(
            given_label(clean, transition, labels, sharpness),
            trust=0.0 if memorised is None else trust_in(memorised),
            scales={name: votes[name].scale for name in useful},
            facts=facts,
        )

    def _useful(self, views: list[str], experts: list[tuple[str, str]], weights: Floats) -> list[str]:
        """Return the views whose experts have any weight to speak of."""
        by_view = {
            name: sum(float(w) for (view, _), w in zip(experts, weights, strict=True) if view == name) for name in views
        }
        best = max(by_view, key=lambda name: by_view[name])
        least = self.LEAST_WEIGHT * sum(by_view.values())
        return [name for name in views if name == best or by_view[name] >= least]


def _rows_asked(n: int, c: int) -> int:
    return min(n, EVIDENCE_ROWS, max(1_000, EVIDENCE_CELLS // c))


def memorisation(in_sample: float, out_of_fold: float) -> float:
    """Return how far a classifier memorised: its fit of the noisy labels beyond that of experts out of fold."""
    if out_of_fold >= 1:
        return 0.0
    return float(np.clip((in_sample - out_of_fold) / (1 - out_of_fold), 0, 1))


def trust_in(memorised: float) -> float:
    """Return how far a classifier that memorised so much deserves trust: wholly up to 0.1, not at all from 0.5."""
    return float(np.clip(1.25 - 2.5 * memorised, 0, 1))


class _Vote:
    """A smoothed k-NN vote on one view."""

    def __init__(self, scale: Scale, k: int, index: Neighbours, labels: Ints, reference: Ints, c: int) -> None:
        self.scale, self.k, self.index = scale, k, index
        self.labels, self.reference = labels[reference], reference
        self.base = np.bincount(self.labels, minlength=c).astype(np.float32) / len(reference)

    @classmethod
    def best(
        cls,
        view: Array,
        labels: Ints,
        reference: Ints,
        c: int,
        k: int | None,
        candidates: tuple[int, ...],
        rng: np.random.Generator,
    ) -> _Vote:
        """Try scales and numbers of neighbours on some rows; keep what predicts their labels best."""
        mean, deviation = moments(view)
        trial = np.sort(rng.choice(reference, min(TRIAL_ROWS, len(reference)), replace=False))
        ks = [k for k in candidates if k < len(reference) / 2] or [1]
        if k is not None:
            ks = [min(k, len(reference) - 1)]
        best, chosen = -np.inf, None
        for name in Scale.NAMES:
            scale = Scale(name, mean, deviation)
            index = Neighbours(scale(float32(view, reference)))
            vote = cls(scale, max(ks), index, labels, reference, c)
            found = vote.neighbours(view, trial)
            for tried in ks:
                likelihood = logs(vote.smoothed(found[:, :tried]))[np.arange(len(trial)), labels[trial]].mean()
                if likelihood > best:
                    best, chosen = likelihood, cls(scale, tried, index, labels, reference, c)
        assert chosen is not None
        return chosen

    def neighbours(self, view: Array, rows: slice | Ints) -> Ints:
        positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        place = np.searchsorted(self.reference, positions).clip(max=len(self.reference) - 1)
        own = np.where(self.reference[place] == positions, place, -1)
        _, found = self.index.search(self.scale(float32(view, rows)), self.k, own)
        return found

    def smoothed(self, found: Ints) -> Floats:
        k = found.shape[1]
        votes = shares(self.labels[found], np.ones(found.shape, dtype=np.float32), len(self.base))
        return np.asarray((k * votes + self.base) / (k + 1), dtype=np.float32)

    def everywhere(self, view: Array, predictions: Predictions, progress: Progress) -> tuple[Floats, Floats]:
        """Return the vote of the neighbours' labels, and the mean of what the classifier says of the neighbours."""
        by_label = np.empty((len(view), len(self.base)), dtype=np.float32)
        by_prediction = np.empty_like(by_label)
        said = predictions.block(self.reference)
        for rows in progress.track(list(row_blocks(len(view), QUERY_BLOCK)), "neighbours"):
            found = self.neighbours(view, rows)
            by_label[rows] = self.smoothed(found)
            by_prediction[rows] = sum(said[found[:, j]] for j in range(self.k)) / self.k
            by_prediction[rows] = (by_prediction[rows] * self.k + self.base) / (self.k + 1)
        return by_label, by_prediction
