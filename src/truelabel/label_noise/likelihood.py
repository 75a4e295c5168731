"""The transition matrix under which the noisy labels are likeliest."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from truelabel.arrays import Array, Floats, Ints
from truelabel.label_noise.surest import SurestSettings, at_one_rate, counted_on_surest
from truelabel.label_noise.swaps import Swapped
from truelabel.label_noise.transition import TINY, denoise, given_label, label_likelihood
from truelabel.pool import likelihood_weights, logs, pool

ROUNDS = 20  # of expectation and maximisation, where p(y | x) is given
FEWEST = 20  # labels below which nothing is looked for
STEPS = 6  # rates of right labels between chance and all that are tried first
FINER = 3  # ... and how often the step is halved around the best: to two points


@dataclass(frozen=True)
class LikelihoodSettings:
    """How the least noise is looked for.

    Attributes
    ----------
    rows : int
        Instances that are looked at, at most: the rate's standard error is then half a point.
    classes : int
        Classes that are tried one by one, those first that look noisiest: it takes a pass over the labels for each.
    surest : SurestSettings
        Which instances T is counted on.
    """

    rows: int = 10_000
    classes: int = 30
    surest: SurestSettings = field(default_factory=SurestSettings)


@dataclass(frozen=True)
class Likeliest:
    """T under which labels are likeliest, and what goes with it.

    Attributes
    ----------
    transition : (c, c) array
        T[y, ỹ].
    shares : (c,) array
        p(y).
    sharpness : float
        The exponent of p(y | x) that goes with T.
    by_form : bool
        Whether labels that it was not fitted to bear it out.
    """

    transition: Array
    shares: Array
    sharpness: float
    by_form: bool = False

    def with_row(self, y: int, row: Array) -> Likeliest:
        """Return the noise with another row of T."""
        transition = self.transition.copy()
        transition[y] = row
        return replace(self, transition=transition)

    def log_likelihood(self, foretold: Floats, labels: Ints, swapped: Swapped | None = None) -> Floats:
        """Return log p of each label."""
        p = pool([denoise(foretold, self.transition)], np.array([self.sharpness]))
        return np.asarray(np.log((p * label_likelihood(self.transition, labels, swapped)).sum(axis=1)))


def least_noise(
    foretold: Floats,
    labels: Ints,
    rng: np.random.Generator,
    settings: LikelihoodSettings,
    swapped: Swapped | None = None,
) -> Likeliest:
    """Return the noise that there is at least.

    p(ỹ | x), as experts foretell it, comes from p(y | x) through T, and p(y | x) may be sharper or flatter than what T
    makes of it by one exponent. Three things show noise:

    1. **Its form.** Where labels are wrong at one rate, an instance whose class is clear has wrong labels, too, while
       classes that overlap leave it alone. If one rate makes labels that it was not fitted to likelier than none does,
       it is believed, even where features are so weak that no class is ever clear.
    2. Noise that depends on x shows in no T. Then **the instances whose class is surest** tell: the labels of the
       cleanest class are wrong there as often as those of any class are at least. The larger of the two rates counts.
    3. **A class may be noisier than that**, by what its surest instances are labelled with, if that makes labels that
       were not counted likelier. Where features are weak for a class, even its surest instances are of others, and the
       labels of others do not bear it out.

    Experts that foresee no labels show nothing.
    """
    n = len(labels)

    def pick(rows: Ints) -> tuple[Floats, Ints, Swapped | None]:
        return foretold[rows], labels[rows], None if swapped is None else swapped[rows]

    everything = pick(np.sort(rng.permutation(n)[: settings.rows]))
    none = _fitted(np.eye(foretold.shape[1]), *everything)
    if n < FEWEST or not _foresee(*everything[:2]):
        return none
    halves = [pick(half) for half in np.array_split(rng.permutation(n)[: settings.rows], 2)]
    counted = [counted_on_surest(*half[:2], settings.surest, half[2]) for half in halves]
    whole = counted_on_surest(*everything[:2], settings.surest, everything[2])

    fits = [_one_rate(*half) for half in halves]
    without = _held_out([_fitted(none.transition, *half) for half in halves], halves)
    best = _held_out(fits, halves)
    even, surest = np.mean([fit.transition for fit in fits], axis=0), at_one_rate(whole)
    borne_out = bool(best.sum() > without.sum())
    by_form = borne_out and bool(1 - even[0, 0] >= (1 - surest[0, 0]) / 2)
    if borne_out and even[0, 0] <= surest[0, 0]:
        transition = even
    else:
        transition = surest
        fits = [_fitted(at_one_rate(one), *half) for one, half in zip(counted, halves, strict=True)]
        best = _held_out(fits, halves)
    noisier = np.diag(transition) - np.diag(whole)
    for y in np.argsort(-noisier)[: settings.classes]:
        if noisier[y] <= 0:
            break
        tried = [fit.with_row(y, one[y]) for fit, one in zip(fits, counted, strict=True)]
        scores = _held_out(tried, halves)
        if scores.sum() > best.sum():
            fits, best, transition[y] = tried, scores, whole[y]
    by_form = by_form or bool(best.sum() > without.sum())
    return replace(_fitted(transition, *everything), by_form=by_form)


def _held_out(fits: list[Likeliest], halves: list[tuple[Floats, Ints, Swapped | None]]) -> Floats:
    """Return log p of the labels of each half by what was fitted to the other."""
    return np.concatenate([fits[1 - i].log_likelihood(*half) for i, half in enumerate(halves)])


def _foresee(foretold: Floats, labels: Ints) -> bool:
    """Return whether the experts foresee labels better than their shares do, by what one weight is worth."""
    shares = np.bincount(labels, minlength=foretold.shape[1]) / len(labels)
    gain = logs(foretold[np.arange(len(labels)), labels]) - np.log(shares[labels])
    return bool(gain.sum() > np.log(len(labels)) / 2)


def _one_rate(foretold: Floats, labels: Ints, swapped: Swapped | None) -> Likeliest:
    """Return the noise of one rate, spread over all other classes alike, under which the labels are likeliest."""
    c = foretold.shape[1]
    fits: dict[float, tuple[float, Likeliest]] = {}

    def score(share: float) -> float:
        if share not in fits:
            fit = _fitted(_even(1 / c + (1 - 1 / c) * share, c), foretold, labels, swapped)
            fits[share] = float(fit.log_likelihood(foretold, labels, swapped).sum()), fit
        return fits[share][0]

    step = 1 / STEPS
    share = max((step * i for i in range(1, STEPS + 1)), key=score)
    for _ in range(FINER):
        step /= 2
        share = max((share - step, share, min(share + step, 1.0)), key=score)
    return fits[share][1]


def _even(right: float, c: int) -> Array:
    return np.asarray(right * np.eye(c) + (1 - right) * (1 - np.eye(c)) / (c - 1))


def _fitted(transition: Array, foretold: Floats, labels: Ints, swapped: Swapped | None) -> Likeliest:
    """Return T with the exponent, and the class shares, under which the labels are likeliest."""
    clean = denoise(foretold, transition)
    weights = likelihood_weights([clean], labels, label_likelihood(transition, labels, swapped))
    shares = given_label(pool([clean], weights), transition, labels, swapped).mean(axis=0, dtype=np.float64)
    return Likeliest(transition, shares, float(weights[0]))


def likeliest_transition(probs: Floats, labels: Ints) -> Array:
    """Return the T under which the labels are likeliest where p(y | x) is `probs`, by expectation–maximisation."""
    c = probs.shape[1]
    transition: Array = 0.9 * np.eye(c) + 0.1 / c
    at = [np.flatnonzero(labels == k) for k in range(c)]
    for _ in range(ROUNDS):
        came = probs * transition.T[labels]
        came /= np.maximum(came.sum(axis=1, keepdims=True), TINY)
        counts = np.stack([came[rows].sum(axis=0) for rows in at], axis=1)
        transition = counts / np.maximum(counts.sum(axis=1, keepdims=True), TINY)
    return transition
