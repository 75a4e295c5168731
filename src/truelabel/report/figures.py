"""The report's numbers: how much is right, class by class, and how sure the classifier was of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truelabel.arrays import Array, Floats, Ints
from truelabel.labels.wrong import Count
from truelabel.report.case import Case

BINS = 10
FEWEST = 5  # instances a bin must hold to be drawn


@dataclass(frozen=True)
class Right:
    """How many of some labels are right: by the estimate, and by the truth where it is known."""

    title: str
    expected: float
    low: float | None = None
    high: float | None = None
    measured: float | None = None


def rightness(case: Case) -> list[Right]:
    """Return how many of the given labels, the predictions and the suggestions are right.

    The given labels have the estimate that heard two opinions, with its interval. The other two have what
    p(y | x, ŷ, ỹ) expects.
    """

    def measured(classes: Ints) -> float | None:
        return None if case.truth is None else float(np.mean(classes == case.truth))

    total = case.examined.found.wrong.total
    given, low, high = (1 - value / max(total.of, 1) for value in (total.number, total.high, total.low))
    return [
        Right("Given labels", given, low, high, measured(case.given)),
        Right("The classifier's predictions", _mean(case, case.predicted), measured=measured(case.predicted)),
        Right("Suggested labels", _mean(case, case.suggested), measured=measured(case.suggested)),
    ]


def _mean(case: Case, classes: Ints) -> float:
    return float(case.believed(classes).mean(dtype=np.float64))


@dataclass(frozen=True)
class OfClass:
    """What was found about one class: `wrong` among its given labels, `changed` among the predictions of it."""

    name: str
    wrong: Count
    suspects: int
    mostly: str | None
    predicted: int
    changed: int
    before: float | None
    after: float | None


def by_class(case: Case) -> list[OfClass]:
    """Return what was found about each class, the one with the most wrong labels first."""
    found, c = case.examined.found, len(case.names)
    suspect = case.given != case.suggested
    suspects = table(case.given[suspect], case.suggested[suspect], c)
    mostly, doubted = suspects.argmax(axis=1), suspects.sum(axis=1)
    predicted = np.bincount(case.predicted, minlength=c)
    changed = np.bincount(case.predicted[case.predicted != case.suggested], minlength=c)
    before, after = (_recall(case.truth, classes, c) for classes in (case.given, case.suggested))
    rows = [
        OfClass(
            name,
            found.wrong.by_class[found.class_names[k]],
            int(doubted[k]),
            case.names[mostly[k]] if doubted[k] else None,
            int(predicted[k]),
            int(changed[k]),
            before[k],
            after[k],
        )
        for k, name in enumerate(case.names)
    ]
    return sorted(rows, key=lambda row: -row.wrong.number)


def table(down: Ints, across: Ints, c: int) -> Ints:
    """Return how many instances are of each class down and each across."""
    return np.bincount(down * c + across, minlength=c * c).reshape(c, c)


def _recall(truth: Ints | None, classes: Ints, c: int) -> list[float | None]:
    """Return how many of each true class are named so; None for a class that does not occur, or is not known."""
    if truth is None:
        return [None] * c
    held, right = (np.bincount(rows, minlength=c) for rows in (truth, truth[truth == classes]))
    return [float(r / h) if h else None for r, h in zip(right, held, strict=True)]


@dataclass(frozen=True)
class Curve:
    """How often something held to be so probable is so.

    Attributes
    ----------
    title, against : str
        Whose probability, and what it is compared with.
    sure, right : (b,) arrays
        Mean probability and share of hits in each bin.
    count : (b,) array
        Instances in each bin.
    error : float
        Expected calibration error: the mean distance of the two, by instance.
    """

    title: str
    against: str
    sure: Array
    right: Array
    count: Array
    error: float


def curve(title: str, against: str, sure: Floats, right: Array) -> Curve:
    """Return a calibration curve over ten bins of equal width; bins of fewer than five are counted, not kept."""
    bins = np.minimum((np.asarray(sure, dtype=np.float64) * BINS).astype(int), BINS - 1)
    count = np.bincount(bins, minlength=BINS)
    held = np.maximum(count, 1)
    mean_sure, mean_right = (np.bincount(bins, weights=values, minlength=BINS) / held for values in (sure, right))
    error = float((count * np.abs(mean_sure - mean_right)).sum() / len(bins))
    kept = count >= FEWEST
    return Curve(title, against, mean_sure[kept], mean_right[kept], count[kept], error)


def curves(case: Case) -> list[Curve]:
    """Return the classifier's curves against the given labels and the estimate, and against the truth if known.

    Of the suggestions there is a curve only against the truth: against p(y | x, ŷ, ỹ), which made them, it would be
    a straight line whatever the data.
    """
    said = "The classifier"
    drawn = [
        curve(said, "the given labels", case.confidence, case.predicted == case.given),
        curve(said, "the estimate", case.confidence, case.believed(case.predicted)),
    ]
    if case.truth is not None:
        sure = case.believed(case.suggested)
        drawn.append(curve(said, "the truth", case.confidence, case.predicted == case.truth))
        drawn.append(curve("The suggestions", "the truth", sure, case.suggested == case.truth))
    return drawn
