"""Labels judged by the votes of several annotators: what issues, corrections, report and review need of a consensus."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, Ints
from truelabel.labels.issues import LabelIssues, issues_by
from truelabel.labels.posterior import LabelPosterior, wrong_by_class
from truelabel.labels.several_annotators import Consensus, consensus
from truelabel.predictions import Predictions
from truelabel.votes import NO_VOTE, Votes

if TYPE_CHECKING:
    from truelabel.calibrators import Calibrator

EVIDENCE = "several annotators"


def examine_votes(
    predictions: Predictions,
    votes: Votes,
    calibrator: Calibrator | None = None,
    *,
    trusted: Any = None,
    trusted_sample: Any = "picked",
    random_state: int | None = 0,
    device: str = "auto",
    progress: bool | str = "auto",
) -> LabelIssues:
    """Judge labels by the consensus of several annotators and the features; see `find_label_issues`.

    Of `trusted_sample` nothing is used: what somebody looked at says what annotators are worth however it was chosen.
    """
    if calibrator is not None:
        raise ValueError("votes are judged without a calibrator; leave it out.")
    labels = given_labels(votes, predictions.labels)
    alone = not predictions.views and not predictions.out_of_sample  # such a classifier would only repeat its labels
    found = consensus(
        votes,
        predictions=None if alone else predictions,
        trusted=trusted,
        random_state=random_state,
        device=device,
        progress=progress,
    )
    return issues_of(found, predictions if labels is predictions.labels else predictions.replace(labels=labels))


def given_labels(votes: Votes, labels: Ints | None) -> Ints:
    """Return the labels that are judged: those that there are, else what most votes are for."""
    if labels is not None:
        return labels
    majority = votes.majority()
    without = np.flatnonzero(majority == NO_VOTE)
    if len(without):
        raise ValueError(
            f"the instance in row {without[0]} has neither a vote nor a label ({len(without):,} such in all); leave it "
            "out, as in predictions[rows] and votes[rows], and ask truelabel.labels.consensus for its class."
        )
    return majority


def issues_of(found: Consensus, predictions: Predictions) -> LabelIssues:
    """Return what a consensus says of the labels of predictions.

    A change to its class is safe where the votes alone, each weighed by how good its annotator is, speak for that class
    rather than for the given one.
    """
    labels = predictions.labels
    assert labels is not None
    posterior = LabelPosterior(
        found.probs.astype(np.float32),
        (wrong_by_class(found.probs, labels), _other_opinion(found, labels)),
        _transition(found.probs, labels),
        None,
        supported=_supported(found, labels),
        evidence=EVIDENCE,
    )
    issues = issues_by(predictions, posterior)
    said = found.table.drop(columns=["instance", "consensus", "p"])
    return replace(issues, table=issues.table.join(said), consensus=found)


def with_calibrator(predictions: Predictions, found: LabelIssues, **settings: Any) -> LabelIssues:
    """Return what several annotators say with a calibrator for new instances, which has learned the consensus.

    `settings` are seed, device and progress; see `find_label_issues`.
    """
    from truelabel.calibrators import NPC

    return replace(found, calibrator=NPC(**settings).fit(predictions.replace(labels=found.suggested)))


def _other_opinion(found: Consensus, labels: Ints) -> Array:
    """Return how many labels of each class are wrong by another account, which errs towards doubt.

    By the features, and the label as if one average annotator had given it; or else by the share of other votes.
    """
    if found.expert_probs is not None:
        once = found.expert_probs * found.annotators.average.T[labels]
        return wrong_by_class(once / np.maximum(once.sum(axis=1, keepdims=True), 1e-30), labels)
    votes = found.votes
    shares = votes.counts / np.maximum(votes.per_instance, 1)[:, None]
    return wrong_by_class(np.where(votes.per_instance[:, None] > 0, shares, found.probs), labels)


def _transition(probs: Array, labels: Ints) -> Array:
    """Return how often instances that are believed to be of each class have each label."""
    c = probs.shape[1]
    joint = probs.T @ np.eye(c)[labels] + 1e-9 * np.eye(c)
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _supported(found: Consensus, labels: Ints) -> Ints:
    rows, suggested = np.arange(len(labels)), found.labels
    likelihood = found.annotators.likelihood
    spoken = likelihood[rows, suggested] > likelihood[rows, labels]
    return np.where(spoken | (found.probs[rows, suggested] == 1), suggested, labels)
