"""Examining labels without some instances, of which nothing may be learned; they are judged by the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Ints
from truelabel.labels.issues import LabelIssues, examine, table_of

if TYPE_CHECKING:
    from truelabel.predictions import Predictions
    from truelabel.votes import Votes


def examine_without(
    predictions: Predictions, left_out: Ints, before: LabelIssues, trusted: Ints, **settings: Any
) -> LabelIssues:
    """Do as `examine` with the instances that are not left out, and return what was found about all.

    Parameters
    ----------
    predictions : Predictions
        All instances.
    left_out : (m,) array
        Rows that nothing is learned from, and that are not counted. A new calibrator says what they probably are;
        where there is none, that stays as it was. Their labels are never among those that may safely be changed.
    before : LabelIssues
        What was found about all of them before.
    trusted : (n,) array
        True classes that are known, −1 for the others.
    **settings
        Seed, device and progress; see `examine`.
    """
    kept = np.setdiff1d(np.arange(len(predictions)), left_out)
    found = examine(predictions[kept], trusted=trusted[kept], **settings)
    probs = before.probs.copy()
    probs[kept] = found.probs
    if found.calibrator is not None:
        probs[left_out] = examine(predictions[left_out], found.calibrator).probs
    supported = None
    if found.supported is not None:
        supported = before.labels.copy()
        supported[kept] = found.supported
    return replace(
        found,
        table=table_of(predictions, probs, found.class_names, found.calibrator),
        labels=before.labels,
        probs=probs,
        supported=supported,
    )


def examine_votes_without(
    predictions: Predictions, left_out: Ints, votes: Votes, trusted: Ints, **settings: Any
) -> LabelIssues:
    """Do as `examine` with the votes for the instances that are not left out.

    What the others probably are is then known from their features alone; the votes for them are kept.
    """
    if not len(left_out):
        return examine(predictions, votes=votes, trusted=trusted, **settings)
    found = examine(predictions, votes=votes.without(left_out), trusted=trusted, **settings)
    assert found.consensus is not None
    return replace(found, consensus=replace(found.consensus, votes=votes))
