"""The transition matrix under which the noisy labels are likeliest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from truelabel.arrays import Array, Floats, Ints
from truelabel.label_noise.evenness import evenly_wrong
from truelabel.label_noise.surest import SurestSettings, at_one_rate, counted_on_surest
from truelabel.label_noise.swaps import Swapped
from truelabel.label_noise.transition import TINY, denoise, given_label, label_likelihood, noise_rate
from truelabel.pool import clearly_above, likelihood_weights, logs, pool

Labelled = tuple[Floats, Ints, Swapped | None]  # what is foretold of labels, the labels, and where they are swapped
ROUNDS = 20  # of expectation and maximisation, where p(y | x) is given
FEWEST = 20  # labels below which nothing is looked for
COST = 1.0  # log-likelihood that two numbers cost which are estimated, a rate and where it goes: half each
STEPS = 6  # rates of right labels between chance and all that are tried first
FINER = 3  # ... and how often the step is halved around the best: to two points


@dataclass(frozen=True)
class LikelihoodSettings:
    """How the least noise is looked for.

    Attributes
    ----------
    rows : int
        Instances by which one rate is looked for, at most: its standard error is then half a point.
    class_rows : int
        Instances by which classes are tried one by one, at most: of ten classes each then has a thousand surest ones.
    folds : int
        Parts of them, each of which judges what is counted on the others.
    classes : int
        Classes that are tried one by one, those first that look noisiest.
    foretold : float
        How likely a class must be foretold for an instance to judge its row of T: elsewhere the row changes nothing.
    surest : SurestSettings
        Which instances T is counted on.
    """

    rows: int = 10_000
    class_rows: int = 50_000
    folds: int = 5
    classes: int = 30
    foretold: float = 0.05
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
        Whether labels that it was not fitted to are clearly likelier by it.
    even : bool
        Whether that is not so, but wrong labels are spread evenly, so that the surest instances show T.
    """

    transition: Array
    shares: Array
    sharpness: float
    by_form: bool = False
    even: bool = False

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
    makes of it by one exponent. Three things tell:

    1. **Its form.** Where labels are wrong at one rate, an instance whose class is clear has wrong labels, too, while
       classes that overlap leave it alone. If one rate makes labels that it was not fitted to clearly likelier than no
       noise does, it is believed, even where features are so weak that no class is ever clear.
    2. Noise that depends on x shows in no T. Then **the instances whose class is surest** tell: the labels of the
       cleanest class are wrong there as often as those of any class are at least.
    3. **A class may be noisier than that**, by what its surest instances are labelled with, if labels that were not
       counted are likelier by it, or less likely by no more than two estimated numbers cost. A class is tried alone,
       and then together with the class that its wrong labels mostly go to: where two classes are taken for each other,
       half of that explains nothing. Where features are weak for a class, even its surest instances are of others, and
       other labels are less likely by it. That most of its labels are wrong is said of a class only if labels are
       clearly likelier by all such classes together.

    Where nothing of this is clear, but wrong labels are spread evenly (`evenly_wrong`), the surest instances of each
    class are what they look like, and T is what they show.

    Experts that foresee no labels show nothing.
    """
    n = len(labels)

    def pick(rows: Ints) -> Labelled:
        return foretold[rows], labels[rows], None if swapped is None else swapped[rows]

    everything = pick(np.sort(rng.permutation(n)[: settings.rows]))
    none = _fitted(np.eye(foretold.shape[1]), *everything)
    if n < FEWEST or not _foresee(*everything[:2]):
        return none
    halves = [pick(half) for half in np.array_split(rng.permutation(n)[: settings.rows], 2)]
    without = _held_out([_fitted(none.transition, *half) for half in halves], halves)

    fits = [_one_rate(*half) for half in halves]
    with_rate = _held_out(fits, halves)
    judges = rng.permutation(n)[: settings.class_rows]
    counted = counted_on_surest(*pick(judges)[:2], settings.surest, pick(judges)[2])
    even, surest = np.mean([fit.transition for fit in fits], axis=0), at_one_rate(counted)
    proven = clearly_above(with_rate, without)
    found = _fitted(even if proven else surest, *everything)
    transition, clearly = _noisier_classes(found, counted, pick, judges, settings)
    least = replace(_fitted(transition, *everything), by_form=proven or clearly)
    if least.by_form or swapped is not None:
        return least
    if evenly_wrong(everything[0], everything[1], noise_rate(transition, least.shares)):
        return replace(_fitted(counted, *everything), even=True)
    return least


def _noisier_classes(
    found: Likeliest,
    counted: Array,
    pick: Callable[[Ints], Labelled],
    judges: Ints,
    settings: LikelihoodSettings,
) -> tuple[Array, bool]:
    """Return T with the counted rows that make labels likelier which they were not counted on, and whether clearly."""
    folds = np.array_split(judges, settings.folds)
    parts = [pick(fold) for fold in folds]
    by_others = []
    for i in range(len(folds)):
        foretold, labels, swapped = pick(np.concatenate([*folds[:i], *folds[i + 1 :]]))
        by_others.append(counted_on_surest(foretold, labels, settings.surest, swapped))
    fits = [found.transition.copy() for _ in folds]
    transition, accepted = found.transition.copy(), set[int]()
    gains: list[Floats] = []
    noisier = np.diag(transition) - np.diag(counted)
    for y in np.argsort(-noisier)[: settings.classes].tolist():
        taken_for = int(np.argmax(np.where(np.arange(len(counted)) == y, 0, counted[y])))
        for classes in ([y], [y, taken_for]):
            if accepted.intersection(classes) or (noisier[classes] <= 0).any():
                continue
            tried = [fit.copy() for fit in fits]
            for new, rows_of_t in zip(tried, by_others, strict=True):
                new[classes] = rows_of_t[classes]
            gain = np.concatenate(
                [_gain(found, *some, classes, settings) for some in zip(parts, fits, tried, strict=True)]
            )
            if gain.sum() > -COST:
                fits = tried
                gains.append(gain)
                transition[classes] = counted[classes]
                accepted.update(classes)
    gained = np.concatenate([*gains, np.zeros(1)])
    clearly = clearly_above(gained, np.zeros_like(gained))
    unlikely = np.flatnonzero(np.diag(transition) < 0.5)
    if not clearly:
        transition[unlikely] = found.transition[unlikely]
    return transition, clearly


def _gain(
    found: Likeliest, part: Labelled, before: Array, after: Array, classes: list[int], settings: LikelihoodSettings
) -> Floats:
    """Return how much likelier labels are with one T than with another that differs in the rows of some classes."""
    foretold, labels, swapped = part
    rows = np.flatnonzero((foretold[:, classes] > settings.foretold).any(axis=1))
    judged = foretold[rows], labels[rows], None if swapped is None else swapped[rows]
    new, old = (replace(found, transition=transition).log_likelihood(*judged) for transition in (after, before))
    return np.asarray(new - old)


def _held_out(fits: list[Likeliest], halves: list[Labelled]) -> Floats:
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
