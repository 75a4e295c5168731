"""Is a calibrator better than the classifier alone? Measured on held-out instances, whose labels may be wrong."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.stats import norm

from truelabel.arrays import Array, Ints
from truelabel.label_noise.model import LEVEL, at_rate

if TYPE_CHECKING:
    from truelabel.calibrators.base import Calibrator
    from truelabel.predictions import Predictions

Verdict = Literal["better", "no clear difference", "worse", "cannot tell"]
SINGULAR = 30.0  # condition of T above which labels hardly tell some classes apart
LEAST_RATE = 1e-6  # share of wrong labels below which T is the identity
LEARNED = 0.2  # share of the instances that may be those of the fit; some look alike by chance
PROOFS = ("given", "checked labels", "its form")  # what T is known from, where it is proven

CHECK = "check a hundred held-out labels drawn at random, and evaluate on these as true labels"
NO_LABELS = f"Cannot tell: there are no labels to compare with; {CHECK}."
UNPROVEN = f"Cannot tell: nothing proves how many of the labels are wrong, and which way; {CHECK}."
NO_NOISE = (
    f"Cannot tell: this calibrator does not know how labels go wrong; pass their transition matrix T, or {CHECK}."
)
LIKE_EACH_OTHER = f"Cannot tell: with so much noise the labels do not tell some classes apart; {CHECK}."
FITTED_ON = (
    "Cannot tell: the calibrator was fitted on these instances, or on some of them, and has seen their labels; pass "
    "others, which neither classifier nor calibrator learned from."
)


@dataclass(frozen=True)
class Estimate:
    """A number and the bounds of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """A share of instances before and after calibration, and its paired difference."""

    before: Estimate
    after: Estimate
    difference: Estimate


@dataclass(frozen=True)
class Evaluation:
    """What a calibrator changes, and whether that makes predictions better.

    Attributes
    ----------
    verdict : {"better", "no clear difference", "worse", "cannot tell"}
        "better" or "worse" where the interval of the difference in accuracy does not hold 0.
    sentence : str
        The verdict in words, with its reason.
    instances, changed : int
        How many instances there are, and how many of them get another class.
    changes : list of dict
        From which class to which, and how many, the most frequent change first.
    believed : dict
        What the calibrator itself believes: the mean probability that the class ``before`` and the class ``after``
        is right, of all instances (``all``) and of those that change (``changed``, None where none do). Nothing checks
        this belief.
    agreement : Comparison or None
        Share of instances whose predicted class is the label; None without labels.
    accuracy : Comparison or None
        Share of right predictions, corrected for the noise in the labels; None where that is not known.
    labels_are_true : bool
        Whether the labels were said to be true.
    level : float
        Of all intervals.
    """

    verdict: Verdict
    sentence: str
    instances: int
    changed: int
    changes: list[dict[str, Any]]
    believed: dict[str, dict[str, float] | None]
    agreement: Comparison | None = None
    accuracy: Comparison | None = None
    labels_are_true: bool = False
    level: float = LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        share = self.changed / max(self.instances, 1)
        lines = [f"{self.instances:,} instances, class changed for {self.changed:,} ({share:.1%})"]
        if self.changes:
            most = ", ".join(f"{one['from']} → {one['to']}: {one['count']:,}" for one in self.changes[:5])
            lines.append(f"  most often: {most}")
        if (own := self.believed["changed"]) is not None:
            lines.append(
                f"  it believes that {own['after']:.1%} of these are right now, and {own['before']:.1%} were before"
            )
        if self.agreement is not None and not self.labels_are_true:
            lines.append(_line("agreement with the labels", self.agreement, self.level))
        if self.accuracy is not None:
            title = "accuracy" if self.labels_are_true else "accuracy, corrected for noise"
            lines.append(_line(title, self.accuracy, self.level))
        return "\n".join([*lines, self.sentence])


def _line(title: str, found: Comparison, level: float) -> str:
    gain = found.difference
    return (
        f"  {title + ':':<31}{found.before.value:.1%} -> {found.after.value:.1%} "
        f"({100 * gain.value:+.1f} points; {level:.0%} interval: {100 * gain.low:+.1f} to {100 * gain.high:+.1f})"
    )


@dataclass(frozen=True)
class _Noise:
    """Transition matrices that may be the labels', the likeliest first; none where nothing is known of them."""

    transitions: list[Array] = field(default_factory=list)
    proven: bool = False

    @property
    def inverses(self) -> list[Array] | None:
        """Their inverses; None where one has none that could be relied on."""
        if any(np.linalg.cond(one) > SINGULAR for one in self.transitions):
            return None
        return [np.asarray(np.linalg.inv(one)) for one in self.transitions]


def evaluate(
    calibrator: Calibrator,
    predictions: Predictions,
    *,
    labels_are_true: bool = False,
    transition: Any = None,
    level: float = LEVEL,
    learned: float = 0.0,
) -> Evaluation:
    """Compare a classifier's predictions before and after calibration; see `Calibrator.evaluate`.

    `learned` is the share of the instances that the calibrator was fitted on.
    """
    if not 0.5 <= level < 1:
        raise ValueError(f"level is the probability of an interval, at least 0.5 and below 1, not {level}.")
    if labels_are_true and predictions.labels is None:
        raise ValueError("labels_are_true needs labels; pass Predictions(labels=…).")
    probs = calibrator.calibrate(predictions)
    before, after, labels = predictions.hard, np.asarray(probs.argmax(axis=1)), predictions.labels
    rows = np.arange(len(predictions))
    parts: dict[str, Any] = {
        "instances": len(predictions),
        "changed": int(np.sum(before != after)),
        "changes": _changes(calibrator, predictions, before, after),
        "believed": _believed(probs[rows, before], probs[rows, after], before != after),
        "labels_are_true": labels_are_true,
        "level": level,
    }
    if labels is None:
        return Evaluation("cannot tell", NO_LABELS, **parts)
    parts["agreement"] = _compared([np.eye(predictions.n_classes)], labels, before, after, level)
    if learned > LEARNED:
        return Evaluation("cannot tell", FITTED_ON, **parts)
    if labels_are_true:
        return _judged(parts["agreement"], parts)
    noise = _given(transition, predictions.n_classes) if transition is not None else _known(calibrator, predictions)
    inverses = noise.inverses
    if not noise.transitions or inverses is None:
        return Evaluation("cannot tell", LIKE_EACH_OTHER if noise.transitions else NO_NOISE, **parts)
    if not noise.proven:
        return Evaluation("cannot tell", UNPROVEN, **parts)
    return _judged(_compared(inverses, labels, before, after, level), parts)


def _changes(calibrator: Calibrator, predictions: Predictions, before: Ints, after: Ints) -> list[dict[str, Any]]:
    names = predictions.class_names or calibrator.class_names_ or range(predictions.n_classes)
    pairs, counts = np.unique(np.stack([before, after])[:, before != after], axis=1, return_counts=True)
    found = sorted(zip(*pairs, counts, strict=True), key=lambda one: -one[2])
    return [{"from": names[a], "to": names[b], "count": int(number)} for a, b, number in found]


def _believed(before: Array, after: Array, changed: Array) -> dict[str, dict[str, float] | None]:
    def means(rows: Array) -> dict[str, float]:
        return {"before": float(before[rows].mean()), "after": float(after[rows].mean())}

    return {"all": means(np.ones_like(changed)), "changed": means(changed) if changed.any() else None}


def _given(transition: Any, c: int) -> _Noise:
    from truelabel.calibrators.npc.given import transition_matrix

    return _Noise([np.asarray(transition_matrix(transition, c), dtype=np.float64)], proven=True)


def _known(calibrator: Calibrator, predictions: Predictions) -> _Noise:
    """Return what a calibrator knows of the noise, with classes in the order of the predictions."""
    transition, shares = (getattr(calibrator, name, None) for name in ("transition_matrix_", "class_shares_"))
    report = getattr(calibrator, "report_", None)
    if transition is None or shares is None or report is None or report.agreement is None:  # T of labels, no others
        return _Noise()
    places = calibrator.class_places(predictions)
    if places is not None:
        transition, shares = transition[np.ix_(places, places)], shares[places]
    transition = np.asarray(transition, dtype=np.float64)
    bounds = () if report.noise_interval is None else report.noise_interval
    possible = [transition, *(_with_rate(transition, shares, rate) for rate in bounds)]
    return _Noise(possible, report.noise_evidence in PROOFS)


def _with_rate(transition: Array, shares: Array, rate: float) -> Array:
    return np.eye(len(transition)) if rate < LEAST_RATE else at_rate(transition, shares, rate)


def _compared(inverses: list[Array], labels: Ints, before: Ints, after: Ints, level: float) -> Comparison:
    """Return shares of right predictions by the inverses of T, the likeliest first.

    Where the true class is y, the mean of T⁻¹[ỹ, k] over labels ỹ is 1 if k = y and 0 otherwise. So its mean over
    instances is the share of predictions k that are right, whatever the shares of the classes.
    """
    z = float(norm.ppf((1 + level) / 2))
    scores = [(one[labels, before], one[labels, after]) for one in inverses]
    return Comparison(
        _widest([_share(first, z) for first, _ in scores]),
        _widest([_share(second, z) for _, second in scores]),
        _widest([_gain(second - first, z) for first, second in scores]),
    )


def _widest(found: list[Estimate]) -> Estimate:
    return Estimate(found[0].value, min(one.low for one in found), max(one.high for one in found))


def _share(scores: Array, z: float) -> Estimate:
    """Return a mean of scores with the interval of Agresti and Coull: z²/2 more successes, and failures."""
    n, extra = len(scores), z**2
    mean = (scores.sum() + extra / 2) / (n + extra)
    spread = (np.square(scores - mean).sum() + extra / 2 * (mean**2 + (1 - mean) ** 2)) / (n + extra)
    low, high = mean - z * np.sqrt(spread / (n + extra)), mean + z * np.sqrt(spread / (n + extra))
    return Estimate(*(float(np.clip(value, 0, 1)) for value in (scores.mean(), low, high)))


def _gain(gains: Array, z: float) -> Estimate:
    """Return a mean of paired differences with an interval of the same kind: z²/2 more changes to either side."""
    changed = gains[gains != 0]
    if not len(changed):
        return Estimate(0.0, 0.0, 0.0)
    n = len(gains) + z**2
    mean = gains.sum() / n
    spread = (np.square(changed).sum() + z**2 * np.square(changed).mean()) / n - mean**2
    half = z * np.sqrt(spread / n)
    return Estimate(*(float(np.clip(value, -1, 1)) for value in (gains.mean(), mean - half, mean + half)))


def _judged(found: Comparison, parts: dict[str, Any]) -> Evaluation:
    gain, level = found.difference, parts["level"]
    between = f"{level:.0%} interval: {100 * gain.low:+.1f} to {100 * gain.high:+.1f} points"
    verdict: Verdict = "no clear difference"
    if not parts["changed"]:
        sentence = "No clear difference: no prediction changes its class."
    elif gain.low > 0:
        verdict = "better"
        sentence = f"Better: about {100 * gain.value:.1f} points more predictions are right ({between})."
    elif gain.high < 0:
        verdict = "worse"
        sentence = f"Worse: about {-100 * gain.value:.1f} points fewer predictions are right ({between})."
    else:
        sentence = f"No clear difference in how many predictions are right ({between}); more labels may show one."
    return Evaluation(verdict, sentence, **parts, accuracy=found)
