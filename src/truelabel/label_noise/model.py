"""One model of the noise in the labels: what T may be, how sure that is, and from what evidence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp

from truelabel.arrays import Array, Floats, Ints
from truelabel.label_noise.likelihood import LikelihoodSettings, least_noise
from truelabel.label_noise.surest import label_counts
from truelabel.label_noise.swaps import Swapped
from truelabel.label_noise.transition import TINY, denoise, noise_rate

LEVEL = 0.9
WIDEST = 50.0  # logarithm of the largest factor by which odds are changed
Evidence = Literal["given", "checked labels", "its form", "the surest instances"]


@dataclass(frozen=True)
class NoiseSettings:
    """What is assumed of noise before anything is seen.

    Attributes
    ----------
    likelihood : LikelihoodSettings
        How the lower end is looked for.
    positions : int
        Places between the two ends that are considered, all alike to begin with: nothing that x and the labels show
        can tell them apart.
    at_an_end : float
        How likely noise is to be at one of the two ends, before anything is seen, each half: noise that does not depend
        on x, or that x explains as far as it can, is likelier than any one mixture of both. All this is said of the
        labels that the lower end leaves unexplained: noise has one cause more often than two, so that the lower end is
        the truth with a probability that is its share of the labels that the upper end calls wrong.
    strengths : tuple of float
        How many checked labels of a class a T between the two ends may be worth; which of them is right, checked labels
        decide.
    draws : int
        Draws from which intervals are read.
    """

    likelihood: LikelihoodSettings = field(default_factory=LikelihoodSettings)
    positions: int = 11
    at_an_end: float = 0.5
    strengths: tuple[float, ...] = (3.0, 10.0, 30.0, 100.0, 300.0)
    draws: int = 2_000


@dataclass(frozen=True)
class LabelNoise:
    """What is known of the noise in the labels.

    From x and the labels alone, noise that grows where classes are hard to tell apart looks like classes that overlap.
    So there are two ends. The lower is the noise that there is at least (`least_noise`). At the upper end every label
    that the experts contradict is wrong. All between them is possible, until checked labels say more.

    Attributes
    ----------
    lower, upper : (c, c) arrays
        T[y, ỹ] = p(ỹ | y) at the two ends.
    shares : (c,) array
        p(y).
    checked : (c, c) array
        How many checked labels of each true class came out as each label.
    by_form : bool
        Whether the lower end is borne out by labels that it was not fitted to. If not, it rests on the surest instances
        being of their class.
    even : bool
        Whether wrong labels are spread evenly, which the surest instances then show.
    fixed : bool
        Whether T was given, and is not in question.
    settings : NoiseSettings
        What was assumed.
    """

    lower: Array
    upper: Array
    shares: Array
    checked: Array
    by_form: bool = True
    even: bool = False
    fixed: bool = False
    settings: NoiseSettings = field(default_factory=NoiseSettings)

    @classmethod
    def estimate(
        cls,
        foretold: Floats,
        labels: Ints,
        rng: np.random.Generator,
        *,
        rows: Ints,
        trusted: Ints | None = None,
        weights: Array | None = None,
        swapped: Swapped | None = None,
        settings: NoiseSettings | None = None,
    ) -> LabelNoise:
        """Estimate the noise from what experts foretell of labels that they have not seen.

        Parameters
        ----------
        foretold : (n, c) array
            p(ỹ | x).
        labels : (n,) array
            ỹ.
        rng : Generator
            Picks the rows by which the lower end is looked for.
        rows : array
            Rows by which the upper end is counted.
        trusted : (n,) array, optional
            True classes of instances drawn at random, −1 for the rest.
        weights : (n,) array, optional
            How many instances each of these stands for; see `check`.
        swapped : Swapped, optional
            Where labels are swapped near a boundary.
        settings : NoiseSettings, optional
            What is assumed.
        """
        settings = settings or NoiseSettings()
        found = least_noise(foretold, labels, rng, settings.likelihood, swapped)
        part = None if swapped is None else swapped[rows]
        upper = contradicted(denoise(foretold[rows], found.transition), labels[rows], part)
        c = foretold.shape[1]
        none = np.zeros((c, c))
        noise = cls(found.transition, upper, found.shares, none, found.by_form, found.even, settings=settings)
        return noise if trusted is None else noise.check(trusted, labels, weights)

    @classmethod
    def known(cls, transition: Array, shares: Array) -> LabelNoise:
        """Return the noise of a T that is given."""
        return cls(transition, transition, shares, np.zeros_like(transition), fixed=True)

    def check(self, trusted: Ints, labels: Ints, weights: Array | None = None) -> LabelNoise:
        """Return the noise after some labels, drawn at random, were checked.

        Parameters
        ----------
        trusted : (n,) array
            True classes, −1 where they are not known.
        labels : (n,) array
            ỹ.
        weights : (n,) array, optional
            How many instances each checked one stands for, where not all were as likely to be drawn. They count as
            many checked labels as a plain random sample of the same precision would have: (Σw)² / Σw².
        """
        checked = self.checked.copy()
        rows = np.flatnonzero(trusted >= 0)
        counted = np.ones(len(rows)) if weights is None else weights[rows]
        counted = counted * counted.sum() / max(float(np.square(counted).sum()), TINY)
        np.add.at(checked, (trusted[rows], labels[rows]), counted)
        return replace(self, checked=checked)

    def with_upper(self, upper: Array) -> LabelNoise:
        """Return the noise with another upper end, as somebody who knows more than the experts puts it."""
        if self.fixed or noise_rate(upper, self.shares) < noise_rate(self.lower, self.shares):
            return self
        return replace(self, upper=upper)

    @property
    def evidence(self) -> Evidence:
        """What the noise is known from.

        What was given, checked labels, its form, or nothing but the surest instances: then there may be no noise at
        all. Mistakes that follow from x, as those of rules do, show in none but the first two.
        """
        if self.fixed:
            return "given"
        if self._checked_wrong > 0:
            return "checked labels"
        return "its form" if self.by_form else "the surest instances"

    @property
    def is_proven(self) -> bool:
        """Whether anything proves that labels are wrong."""
        return self.evidence != "the surest instances"

    @property
    def is_supported(self) -> bool:
        """Whether anything but weak features would explain the noise at the lower end."""
        return self.is_proven or self.even

    @property
    def shows_in_labels(self) -> bool:
        """Whether T is given, or the labels themselves prove that some are wrong.

        Checked labels do not: they show how many are wrong, but not that what x says of them is right.
        """
        return self.fixed or self.by_form

    @cached_property
    def transition(self) -> Array:
        """The mean of T; where labels were checked, with the share of wrong labels that they show."""
        weights, _ = self._weights
        mean = self._mean(weights)
        return at_rate(mean, self._shares, self.rate) if self.checked.any() and not self.fixed else mean

    @cached_property
    def proven(self) -> Array:
        """T as far as labels and checked labels prove it: what p(y | x) is solved for with.

        Noise that follows x cannot be taken out of p(ỹ | x) by a T that does not.
        """
        if not self.checked.any():
            return self.lower
        at_lower_end = np.zeros_like(self._log_weights)
        at_lower_end[0] = np.exp(self._log_weights[0] - logsumexp(self._log_weights[0]))
        return self._mean(at_lower_end)

    @property
    def rate(self) -> float:
        """The expected share of wrong labels."""
        if self.checked.any() and not self.fixed:
            wrong, right = self._counted
            return wrong / (wrong + right)
        return noise_rate(self.transition, self._shares)

    @property
    def _checked_wrong(self) -> float:
        return float(self.checked.sum() - np.trace(self.checked))

    @cached_property
    def _counted(self) -> tuple[float, float]:
        """How many labels count as known to be wrong, and right: the two numbers of a Beta distribution.

        Checked labels are a plain random sample, and count as they are, so that no belief can move the share that they
        show. Where the form of the noise proves it, what is known from there counts as well: like as many labels as
        would leave it as uncertain. Otherwise half a label of each kind comes first (Jeffreys).
        """
        wrong, right = self._checked_wrong, float(np.trace(self.checked))
        if not self.by_form:
            return wrong + 0.5, right + 0.5
        before = replace(self, checked=np.zeros_like(self.checked)).rates(np.random.default_rng(0))
        mean = float(np.clip(before.mean(), 1e-3, 1 - 1e-3))
        labels = max(mean * (1 - mean) / max(float(before.var()), TINY) - 1, 1.0)
        return wrong + labels * mean, right + labels * (1 - mean)

    @property
    def _shares(self) -> Array:
        held = self.checked.sum(axis=1)
        weights, strengths = self._weights
        mean = [(held + s * len(held) * self.shares) / (held.sum() + s * len(held)) for s in strengths]
        return np.asarray(weights.sum(axis=0) @ np.stack(mean))

    def rates(self, rng: np.random.Generator) -> Array:
        """Return draws of the share of wrong labels."""
        if self.fixed:
            return np.full(self.settings.draws, noise_rate(self.lower, self.shares))
        if self.checked.any():
            return rng.beta(*self._counted, self.settings.draws)
        weights, strengths = self._weights
        c = len(self.shares)
        picked = rng.choice(weights.size, self.settings.draws, p=weights.ravel())
        out = np.empty(len(picked))
        for i, (position, which) in enumerate(zip(*np.unravel_index(picked, weights.shape), strict=True)):
            strength = strengths[which]
            right = np.diag(self._between(position)) * strength
            shares = rng.dirichlet(strength * c * np.maximum(self.shares, 1e-4))
            out[i] = 1 - shares @ rng.beta(np.maximum(right, 1e-3), np.maximum(strength - right, 1e-3))
        return out

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the bounds that hold the share of wrong labels with this probability.

        Where nothing proves that any are wrong, the lower bound is 0.
        """
        low, high = np.quantile(self.rates(np.random.default_rng(0)), [(1 - level) / 2, (1 + level) / 2])
        return max(float(low), 0.0) if self.is_proven else 0.0, float(high)

    def _between(self, position: int) -> Array:
        share = position / max(self.settings.positions - 1, 1)
        return (1 - share) * self.lower + share * self.upper

    def _mean(self, weights: Array) -> Array:
        if self.fixed:
            return self.lower
        _, strengths = self._weights
        held = self.checked.sum(axis=1, keepdims=True)
        out = np.zeros_like(self.lower)
        for position in range(self.settings.positions):
            for which, strength in enumerate(strengths):
                weight = weights[position, which]
                if weight > 0:
                    out += weight * (self.checked + strength * self._between(position)) / (held + strength)
        return out

    @property
    def _weights(self) -> tuple[Array, Array]:
        """The probabilities of places between the ends (rows) and of strengths, and the strengths."""
        return np.exp(self._log_weights - logsumexp(self._log_weights)), np.asarray(self.settings.strengths)

    @cached_property
    def _log_weights(self) -> Array:
        """Log prior and likelihood of the checked labels, at places between the ends and strengths."""
        positions, strengths = self.settings.positions, self.settings.strengths
        before = np.full(positions, (1 - self.settings.at_an_end) / positions)
        before[[0, -1]] += self.settings.at_an_end / 2
        least, most = noise_rate(self.lower, self.shares), noise_rate(self.upper, self.shares)
        explained = float(np.clip(least / max(most, TINY), 0, 1))
        before *= 1 - explained
        before[0] += explained
        out = np.tile(np.log(np.maximum(before, TINY))[:, None], len(strengths))
        held = self.checked.sum(axis=1)
        for position in range(positions if self.checked.any() else 0):
            transition = np.maximum(self._between(position), TINY)
            for which, strength in enumerate(strengths):
                base = strength * transition
                rows = gammaln(strength) - gammaln(strength + held)
                out[position, which] += rows.sum() + (gammaln(base + self.checked) - gammaln(base)).sum()
        return out


def at_rate(transition: Array, shares: Array, rate: float) -> Array:
    """Return T with this share of wrong labels: their odds are multiplied by one number, the same for all classes."""
    right = np.diag(transition)
    odds = (1 - right) / np.maximum(right, TINY)

    def wrong(log_factor: float) -> Array:
        scaled = odds * np.exp(log_factor)
        return np.asarray(scaled / (1 + scaled))

    if not 0 < float(shares @ wrong(0.0)) < 1:
        return transition
    factor = brentq(lambda log_factor: float(shares @ wrong(log_factor)) - rate, -WIDEST, WIDEST)
    scaled = wrong(factor)
    out = transition * (scaled / np.maximum(1 - right, TINY))[:, None]
    np.fill_diagonal(out, 1 - scaled)
    return np.asarray(out)


def contradicted(clean: Floats, labels: Ints, swapped: Swapped | None = None) -> Array:
    """Return T if every label is wrong that is not the likeliest class: the upper end.

    Nothing is known of which way such noise goes, so that it goes both ways alike: classes keep their shares.
    """
    c = clean.shape[1]
    counts = np.zeros((c, c))
    guessed = clean.argmax(axis=1)
    for y in range(c):
        counts[y] = label_counts(clean, labels, np.flatnonzero(guessed == y), swapped)
    both = counts + counts.T + np.eye(c) + 1 / c
    return np.asarray(both / both.sum(axis=1, keepdims=True))
