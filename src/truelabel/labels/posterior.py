"""What is believed of each instance's true class once its given label is heard, too: p(y | x, ŷ, ỹ)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, Floats, Ints, row_blocks

if TYPE_CHECKING:
    from truelabel.calibrators import Calibrator
    from truelabel.calibrators.npc.prior import Belief
    from truelabel.label_noise import LabelNoise
    from truelabel.label_noise.swaps import Swapped
    from truelabel.predictions import Predictions

BLOCK = 20_000
UNKNOWN = "unknown"  # evidence of a calibrator that was fitted before, and kept T alone


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
    noise_interval : pair of float, optional
        Bounds of the share of wrong labels, by the model of the noise.
    supported : (n,) array, optional
        The likeliest class of each instance with as little noise as is proven: the given label where nothing is. None
        where the noise is not known.
    evidence : str
        What the noise is known from; see `LabelNoise.evidence`.
    """

    probs: Floats
    opinions: tuple[Array, ...]
    transition: Array
    calibrator: Calibrator | None
    noise_interval: tuple[float, float] | None = None
    supported: Ints | None = None
    evidence: str = UNKNOWN


def label_posterior(
    predictions: Predictions,
    calibrator: Calibrator | None = None,
    *,
    trusted: Any = None,
    trusted_sample: Any = "picked",
    random_state: int | None = 0,
    device: str = "auto",
    progress: bool | str = "auto",
) -> LabelPosterior:
    """Return p(y | x, ŷ, ỹ) of every instance.

    It is the calibrator's p(y | x) = Σ_k p(y | ŷ = k, x) p(ŷ = k | x), times T[y, ỹ] for the label that was given.
    The calibrator has learned from all labels and errs towards believing them; the other opinion on how many are
    wrong is that of NPC's prior, whose experts have not seen the label they are asked about and err towards doubt,
    or, of a calibrator that was fitted before, that of T alone. Without features, predictions made out of sample are
    the one expert there is.

    Parameters
    ----------
    predictions : Predictions
        With the given labels.
    calibrator : Calibrator, optional
        A fitted one is used as it is; an `NPC` that is not fitted is, on `predictions`. By default there is a new one.
    trusted : (n,) array, optional
        True classes of instances that somebody looked at, −1 for the others; see `NPC.fit`.
    trusted_sample : {"picked", "random"} or (n,) array, default "picked"
        How they were chosen; see `NPC.fit`. A calibrator that is fitted already learns nothing from it.
    random_state : int, optional
        Seed of the calibrator that is fitted where none is given.
    device, progress
        Likewise; see `NPC`.
    """
    labels = _labels(predictions)
    from truelabel.calibrators.npc.given import sample_weights, trusted_classes

    known = None if trusted is None else trusted_classes(trusted, len(labels), predictions.n_classes)
    sample_weights(trusted_sample, known, len(labels))
    if calibrator is None and not predictions.views:
        return _out_of_sample(predictions, labels, known, trusted_sample)
    if calibrator is None:
        from truelabel.calibrators.npc import NPC

        calibrator = NPC(random_state=random_state, device=device, progress=progress)
    if hasattr(calibrator, "n_classes_"):
        return _asked(predictions, labels, calibrator, known)
    return _fitted(predictions, labels, calibrator, known, trusted_sample)


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


def _fitted(
    predictions: Predictions, labels: Ints, calibrator: Calibrator, known: Ints | None, sample: Any
) -> LabelPosterior:
    """Fit a copy of the calibrator, and hear its prior, where that has heard the labels."""
    from sklearn.base import clone

    from truelabel.calibrators.npc import NPC

    if not isinstance(calibrator, NPC):
        raise ValueError(
            f"{type(calibrator).__name__} may repeat the labels that it learns from and cannot judge them; fit it on "
            "other instances first, or use NPC."
        )
    fitted: NPC = clone(calibrator)
    fitted.fit(predictions, trusted=known, trusted_sample=sample if known is not None else "random")
    belief = fitted.belief_ if fitted.belief_.noise is not None else None
    return _asked(predictions, labels, fitted, known, belief)


def _asked(
    predictions: Predictions, labels: Ints, calibrator: Calibrator, known: Ints | None, belief: Belief | None = None
) -> LabelPosterior:
    from truelabel.label_noise.transition import settle

    calibrated = calibrator.calibrate(predictions)
    transition, shares = (getattr(calibrator, name, None) for name in ("transition_matrix_", "class_shares_"))
    places = calibrator.class_places(predictions)
    if places is not None:
        transition = None if transition is None else transition[np.ix_(places, places)]
        shares = None if shares is None else shares[places]
    if belief is not None and belief.noise is not None and transition is not None:
        probs = settle(_heard(calibrated, belief.noise.transition, labels, belief.swapped), known)
        opinions = (wrong_by_class(probs, labels), wrong_by_class(belief.shares, labels))
        supported = _supported(calibrated, _proven(belief.noise, places), labels, known, belief.swapped)
        return LabelPosterior(
            probs, opinions, transition, calibrator, belief.noise.interval(), supported, belief.noise.evidence
        )
    if transition is None or shares is None:
        noise = _noise(calibrated, labels)
        transition, shares = noise.transition, noise.shares
    probs = settle(_heard(calibrated, transition, labels), known)
    opinions = (wrong_by_class(probs, labels), _by_transition(labels, transition, shares))
    kept = getattr(calibrator, "belief_", None)  # not in a file
    if kept is None or kept.noise is None:
        return LabelPosterior(probs, opinions, transition, calibrator)
    supported = _supported(calibrated, _proven(kept.noise, places), labels, known)
    return LabelPosterior(probs, opinions, transition, calibrator, None, supported, kept.noise.evidence)


def _heard(calibrated: Floats, transition: Array, labels: Ints, swapped: Swapped | None = None) -> Floats:
    """Return p(y | x, ỹ), with p(y | x) as sure as makes the labels likeliest, if that is surer than it is."""
    from truelabel.label_noise.transition import given_label, label_likelihood
    from truelabel.pool import evidence, likelihood_weights, pool_everywhere

    rows = evidence(len(labels), calibrated.shape[1], np.random.default_rng(0))
    likelihood = label_likelihood(transition, labels[rows], None if swapped is None else swapped[rows])
    sharpness = np.maximum(likelihood_weights([calibrated[rows]], labels[rows], likelihood), 1)
    return given_label(pool_everywhere([calibrated], sharpness), transition, labels, swapped)


def _proven(noise: LabelNoise, places: Ints | None = None) -> Array | None:
    """Return as much of T as the labels prove, with classes in the order of `places`; None where they prove nothing."""
    if not noise.shows_in_labels:
        return None
    return noise.proven if places is None else noise.proven[np.ix_(places, places)]


def _supported(
    clean: Floats, proven: Array | None, labels: Ints, known: Ints | None, swapped: Swapped | None = None
) -> Ints:
    """Return the likeliest class with as little noise as the labels prove; what somebody looked at is what it is."""
    likeliest = labels if proven is None else np.asarray(_heard(clean, proven, labels, swapped).argmax(axis=1))
    return likeliest if known is None else np.where(known >= 0, known, likeliest)


def _out_of_sample(predictions: Predictions, labels: Ints, known: Ints | None, sample: Any) -> LabelPosterior:
    from truelabel.label_noise.transition import denoise, settle

    if not predictions.out_of_sample:
        raise ValueError(
            "a classifier that saw the labels cannot judge them alone; pass Predictions(features=…), or predictions "
            "made out of sample with out_of_sample=True."
        )
    foretold = np.empty(predictions.probs.shape, dtype=np.float32)
    for rows in row_blocks(len(foretold), BLOCK):
        foretold[rows] = predictions.block(rows)
    noise = _noise(foretold, labels)
    if known is not None and not (isinstance(sample, str) and sample == "picked"):
        noise = noise.check(known, labels, None if isinstance(sample, str) else np.asarray(sample, dtype=np.float64))
    clean = denoise(foretold, noise.proven)
    probs = settle(_heard(clean, noise.transition, labels), known)
    opinions = (wrong_by_class(probs, labels), _by_transition(labels, noise.transition, noise.shares))
    supported = _supported(clean, _proven(noise), labels, known)
    return LabelPosterior(probs, opinions, noise.transition, None, noise.interval(), supported, noise.evidence)


def _noise(foretold: Floats, labels: Ints) -> LabelNoise:
    """Return the noise by what a classifier foretells that has not seen the labels."""
    from truelabel.label_noise import LabelNoise
    from truelabel.pool import evidence

    rng = np.random.default_rng(0)
    return LabelNoise.estimate(foretold, labels, rng, rows=evidence(len(labels), foretold.shape[1], rng))


def wrong_by_class(probs: Floats, labels: Ints) -> Array:
    """Return how many labels of each given class are expected to be wrong."""
    wrong = 1 - probs[np.arange(len(labels)), labels].astype(np.float64)
    return np.bincount(labels, weights=wrong, minlength=probs.shape[1])


def _by_transition(labels: Ints, transition: Array, shares: Array) -> Array:
    """Return how many labels of each given class are wrong by T and p(y) alone: p(y ≠ ỹ | ỹ) by Bayes' rule."""
    given = shares @ transition
    wrong = 1 - shares * np.diag(transition) / np.maximum(given, 1e-12)
    return np.asarray(np.bincount(labels, minlength=len(shares)) * wrong)
