"""What is believed of each instance's true class once its given label is heard, too: p(y | x, ŷ, ỹ)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, Floats, Ints, row_blocks

if TYPE_CHECKING:
    from truelabel.calibrators import Calibrator
    from truelabel.calibrators.npc.prior import Belief
    from truelabel.predictions import Predictions

SHARP_ROWS = 20_000  # instances that the sharpness of a belief is fitted on, at most


@dataclass(frozen=True)
class LabelPosterior:
    """p(y | x, ŷ, ỹ) of n instances, and two opinions on how many of their labels are wrong.

    Attributes
    ----------
    probs : (n, c) float32 array
        p(y | x, ŷ, ỹ), rows sum to 1.
    opinions : tuple of (c,) arrays
        How many labels of each given class are wrong, by `probs` and by another account.
    transition : (c, c) array
        T[y, ỹ] = p(ỹ | y).
    calibrator : Calibrator or None
        The fitted calibrator that was asked, if any.
    """

    probs: Floats
    opinions: tuple[Array, ...]
    transition: Array
    calibrator: Calibrator | None


def label_posterior(
    predictions: Predictions,
    calibrator: Calibrator | None = None,
    *,
    trusted: Any = None,
    random_state: int | None = 0,
    device: str = "auto",
    progress: bool | str = "auto",
) -> LabelPosterior:
    """Return p(y | x, ŷ, ỹ) of every instance.

    It is the calibrator's p(y | x) = Σ_k p(y | ŷ = k, x) p(ŷ = k | x), times T[y, ỹ] for the label that was given. The
    calibrator has learned from all labels and errs towards believing them; the other opinion on how many are wrong
    is that of NPC's prior, whose experts have not seen the label they are asked about and err towards doubt, or, of
    a calibrator that was fitted before, that of T alone. Without features, predictions made out of sample are the
    one expert there is.

    Parameters
    ----------
    predictions : Predictions
        With the given labels.
    calibrator : Calibrator, optional
        A fitted one is used as it is; an `NPC` that is not fitted is, on `predictions`. By default there is a new one.
    trusted : (n,) array, optional
        True classes of instances that somebody looked at, −1 for the others; see `NPC.fit`.
    random_state : int, optional
        Seed of the calibrator that is fitted where none is given.
    device, progress
        Likewise; see `NPC`.
    """
    labels = _labels(predictions)
    from truelabel.calibrators.npc.told import trusted_classes

    known = None if trusted is None else trusted_classes(trusted, len(labels), predictions.n_classes)
    if calibrator is None and not predictions.views:
        return _out_of_sample(predictions, labels, known)
    if calibrator is None:
        from truelabel.calibrators.npc import NPC

        calibrator = NPC(random_state=random_state, device=device, progress=progress)
    if hasattr(calibrator, "n_classes_"):
        return _asked(predictions, labels, calibrator, known)
    return _fitted(predictions, labels, calibrator, known)


def _labels(predictions: Predictions) -> Ints:
    from truelabel.predictions import Predictions

    if not isinstance(predictions, Predictions):
        raise TypeError(
            f"a truelabel.Predictions is needed, not {type(predictions).__name__}; wrap the arrays first, those of "
            "several labels an instance in truelabel.labels.MultiLabel."
        )
    if predictions.labels is None:
        raise ValueError("there are no labels to find wrong ones among; pass Predictions(labels=…).")
    return predictions.labels


class _Remembering:
    """A prior that keeps what it said."""

    def __init__(self, prior: Any) -> None:
        self.prior = prior
        self.said: Belief | None = None

    def believe(self, predictions: Predictions, **settings: Any) -> Belief:
        belief: Belief = self.prior.believe(predictions, **settings)
        self.said = belief
        return belief


def _fitted(predictions: Predictions, labels: Ints, calibrator: Calibrator, known: Ints | None) -> LabelPosterior:
    """Fit a copy of the calibrator, and hear its prior, where that has heard the labels."""
    from sklearn.base import clone

    from truelabel.calibrators.npc import NPC
    from truelabel.calibrators.npc.expert_prior import ExpertPrior

    if not isinstance(calibrator, NPC):
        raise ValueError(
            f"{type(calibrator).__name__} may repeat the labels that it learns from and cannot judge them; fit it on "
            "other instances first, or use NPC."
        )
    fitted: NPC = clone(calibrator)
    if fitted.recipe != "default" or fitted.prior is not None:
        return _asked(predictions, labels, fitted.fit(predictions, trusted=known), known)
    remembering = _Remembering(ExpertPrior(k=fitted.k))
    fitted.set_params(prior=remembering).fit(predictions, trusted=known)
    fitted.set_params(prior=None)
    assert remembering.said is not None
    return _asked(predictions, labels, fitted, known, remembering.said)


def _asked(
    predictions: Predictions, labels: Ints, calibrator: Calibrator, known: Ints | None, belief: Belief | None = None
) -> LabelPosterior:
    from truelabel.calibrators.npc.label_noise import estimate_transition, given_label, settle

    calibrated, sharpness = calibrator.calibrate(predictions), 1.0
    transition, shares = (getattr(calibrator, name, None) for name in ("transition_matrix_", "class_shares_"))
    if transition is None or shares is None:
        transition, shares = estimate_transition(calibrated, labels, known=known)
        sharpness = _sharpness(calibrated, transition, shares, labels)
    if belief is None or belief.swapped is None or belief.before_swaps is None:
        heard = given_label(calibrated, transition, labels, sharpness)
    else:
        heard = given_label(calibrated, belief.before_swaps, labels, sharpness, belief.swapped)
    probs = settle(heard, known)
    if belief is None:
        opinions = (wrong_by_class(probs, labels), _by_transition(labels, transition, shares))
        return LabelPosterior(probs, opinions, transition, calibrator)
    opinions = (wrong_by_class(probs, labels), wrong_by_class(belief.shares, labels))
    return LabelPosterior(probs, opinions, transition, calibrator)


def _out_of_sample(predictions: Predictions, labels: Ints, known: Ints | None) -> LabelPosterior:
    from truelabel.calibrators.npc.label_noise import denoise, estimate_transition, given_label, settle

    if not predictions.out_of_sample:
        raise ValueError(
            "a classifier that saw the labels cannot judge them alone; pass Predictions(features=…), or predictions "
            "made out of sample with out_of_sample=True."
        )
    believed = np.empty(predictions.probs.shape, dtype=np.float32)
    for rows in row_blocks(len(believed), SHARP_ROWS):
        believed[rows] = predictions.block(rows)
    transition, shares = estimate_transition(believed, labels, known=known)
    clean = denoise(believed, transition)
    sharpness = _sharpness(clean, transition, shares, labels)
    sharp, plain = (settle(given_label(clean, transition, labels, power), known) for power in (sharpness, 1.0))
    opinions = (wrong_by_class(sharp, labels), wrong_by_class(plain, labels))
    return LabelPosterior(_mean(sharp, plain), opinions, transition, None)


def _sharpness(clean: Floats, transition: Array, shares: Array, labels: Ints) -> float:
    """Return the exponent of p(y | x) at which labels prove right as often as T says."""
    from truelabel.calibrators.npc.label_noise import matching_sharpness

    some = np.random.default_rng(0).permutation(len(labels))[:SHARP_ROWS]
    return matching_sharpness(clean[some], transition, shares, labels[some])


def _mean(one: Floats, other: Floats) -> Floats:
    return np.asarray((one + other) / np.float32(2), dtype=np.float32)


def wrong_by_class(probs: Floats, labels: Ints) -> Array:
    """Return how many labels of each given class are expected to be wrong."""
    wrong = 1 - probs[np.arange(len(labels)), labels].astype(np.float64)
    return np.bincount(labels, weights=wrong, minlength=probs.shape[1])


def _by_transition(labels: Ints, transition: Array, shares: Array) -> Array:
    """Return how many labels of each given class are wrong by T and p(y) alone: p(y ≠ ỹ | ỹ) by Bayes' rule."""
    given = shares @ transition
    wrong = 1 - shares * np.diag(transition) / np.maximum(given, 1e-12)
    return np.asarray(np.bincount(labels, minlength=len(shares)) * wrong)
