"""Bounds for a total of a finite population from a stratified sample, whatever the strata are like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import gammaln
from scipy.stats import norm

from truelabel.arrays import Array

GRID = 1024  # steps in which the statistic is measured: finer ones move a bound by less than one answer does
HALVINGS = 40  # of the interval for a multiplier: to the precision of a float64
STEPS = 14  # halvings on the way to a bound: to a thousandth of its distance from the estimate
NEAREST, FARTHEST = -5.0, 2.5  # log10 of the tilt: from as good as none to all that is possible
COST = 3.0  # answers that each further stratum with several values costs; by simulation: less covers too seldom


@dataclass(frozen=True)
class Sampled:
    """A population in strata, from each of which some instances were drawn without replacement.

    Every instance has one of a few values, known for those drawn; what is asked for is their sum over all instances.

    Attributes
    ----------
    sizes : (h,) array
        How many instances each stratum has.
    counts : (h, j) array
        How many of those drawn have each value.
    values : (j,) array
        The values, ascending and one apart: 0 and 1; or −1, 0 and 1.
    """

    sizes: Array
    counts: Array
    values: Array

    @property
    def drawn(self) -> Array:
        """How many instances were drawn of each stratum."""
        return np.asarray(self.counts.sum(axis=1))

    def estimate(self) -> float:
        """Return the sum, as estimated: the mean of each stratum's draws for all its instances.

        Strata that none was drawn from are taken to be as the others are.
        """
        drawn = self.drawn
        seen = drawn > 0
        total = float((self.sizes[seen] / drawn[seen]) @ (self.counts[seen] @ self.values))
        return total * float(self.sizes.sum() / self.sizes[seen].sum()) if seen.any() else 0.0

    def bound(self, side: int, level: float) -> float:
        """Return the upper (`side` 1) or lower (−1) end of an interval that holds the sum with this probability.

        The largest (smallest) sum that is not refuted: its population is the likeliest one of that sum, and a
        population is refuted where an estimate as low (high) as the one from the sample has a probability below
        (1 − level)/2. That probability is exact, by convolution of hypergeometric distributions, so that strata
        in which nothing was seen count for what they may hide. That the likeliest population stands for all of its
        sum makes the interval a little too short, the more strata there are in which several values were seen; in
        return each of these beyond the first costs `COST` answers. With one stratum the bounds are exact.
        """
        if not len(self.sizes) or (self.drawn == self.sizes).all():
            return self.estimate()
        test = _Test(self)
        partly = self.drawn < self.sizes
        mixed = int((partly & ((self.counts > 0).sum(axis=1) > 1)).sum())
        answers = float(self.drawn[partly].sum())
        left = max(answers - COST * max(mixed - 1, 0), answers / 2, 1.0)
        tail = float(norm.sf(norm.isf((1 - level) / 2) * np.sqrt(max(answers, 1.0) / left)))
        near, far = NEAREST, FARTHEST
        last, probability = test.at(side * 10**far, side)
        if probability > tail:
            return last
        best, _ = test.at(side * 10**near, side)
        for _ in range(STEPS):
            middle = (near + far) / 2
            total, probability = test.at(side * 10**middle, side)
            if probability > tail:
                best, near = total, middle
            else:
                far = middle
        return best

    def interval(self, level: float) -> tuple[float, float]:
        """Return both bounds."""
        return self.bound(-1, level), self.bound(1, level)


class _Test:
    """How probable an estimate as low or as high as the one from the sample is in other populations."""

    def __init__(self, sampled: Sampled) -> None:
        self.sizes = sampled.sizes.astype(np.int64)
        self.counts = sampled.counts.astype(np.int64)
        self.values = sampled.values.astype(np.int64)
        self.drawn = self.counts.sum(axis=1)
        self.seen = np.flatnonzero(self.drawn)
        span = int(self.values.max() - self.values.min())
        step = self.sizes[self.seen] / self.drawn[self.seen]
        unit = max(float(self.sizes[self.seen].sum()) * span / GRID, 1e-12)
        self.weights = np.maximum(np.round(step / unit), 1).astype(np.int64)
        self.scores = self.counts[self.seen] @ (self.values - self.values.min())
        self.observed = int(self.weights @ self.scores)

    def at(self, tilt: float, side: int) -> tuple[float, float]:
        """Return the sum of the likeliest population with this tilt, and the probability of such an estimate there."""
        population = likeliest(self.sizes, self.counts, self.values, tilt)
        lower, upper = self._tails(population[self.seen])
        return float((population @ self.values).sum()), lower if side > 0 else upper

    def _tails(self, population: Array) -> tuple[float, float]:
        if not len(self.seen):
            return 1.0, 1.0
        by_stratum = _score_probs(population, self.drawn[self.seen], len(self.values))
        length = int(self.weights @ (self.drawn[self.seen] * (len(self.values) - 1))) + 1
        spread = np.zeros((len(self.seen), length))
        for row, weight, scores in zip(spread, self.weights, by_stratum, strict=True):
            row[: weight * len(scores) : weight] = scores
        probs = np.fft.irfft(np.fft.rfft(spread, next_fast_len(length), axis=1).prod(axis=0), next_fast_len(length))
        return float(probs[: self.observed + 1].sum()), float(probs[self.observed : length].sum())


def likeliest(sizes: Array, counts: Array, values: Array, tilt: float) -> Array:
    """Return the population that makes the sample likeliest, of all with its sum; `tilt` says which sum.

    With X_j instances of value v_j in a stratum of M, of which x_j were drawn, log C(X_j, x_j) has the slope
    −log(1 − x_j/X_j), about. At the maximum these slopes differ by tilt·v_j alone: X_j = x_j / (1 − m e^{tilt·v_j}),
    with m such that they sum to M. Values that were not drawn come in where even m e^{tilt·v_j} = 1 leaves some over.
    """
    lean = np.exp(tilt * values - np.max(tilt * values))
    population = _filled(counts, _multiplier(sizes, counts, lean), lean)
    population[:, int(np.argmax(lean))] += np.maximum(sizes - population.sum(axis=1), 0)
    whole = np.maximum(np.floor(population + 1e-9), counts)
    left = sizes - whole.sum(axis=1)
    order = np.argsort(-(population - whole), axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    return np.asarray(whole + (rank < left[:, None])).astype(np.int64)


def _multiplier(sizes: Array, counts: Array, lean: Array) -> Array:
    """Return m of each stratum, by a quadratic equation where there are two values, and else by halving."""
    if len(lean) == 2:
        least, steep = float(lean.min()), int(np.argmax(lean))
        gentle_drawn, steep_drawn = counts[:, 1 - steep], counts[:, steep]
        linear = sizes * (1 + least) - steep_drawn * least - gentle_drawn
        constant = sizes - counts.sum(axis=1)
        root = np.sqrt(np.maximum(linear * linear - 4 * sizes * least * constant, 0))
        return np.asarray(np.minimum(2 * constant / np.maximum(linear + root, 1e-300), 1.0))
    low, high = np.zeros(len(sizes)), np.ones(len(sizes))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        over = _filled(counts, middle, lean).sum(axis=1) > sizes
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return low


def _filled(counts: Array, multiplier: Array, lean: Array) -> Array:
    share = np.maximum(1 - multiplier[:, None] * lean, 1e-15)
    return np.where(counts > 0, counts / share, 0.0)


def _score_probs(population: Array, drawn: Array, values: int) -> list[Array]:
    """Return for each stratum the probabilities of the draws' scores: the sum of value numbers 0, 1 (, 2)."""
    number = np.arange(int(drawn.max()) + 1)
    if values == 2:
        of = [population[:, 1, None], population[:, 0, None]]
        drawn_of = [number[None, :], drawn[:, None] - number[None, :]]
        probs = _hypergeometric(of, drawn_of, population.sum(axis=1)[:, None], drawn[:, None])
        return [row[: n + 1] for row, n in zip(probs, drawn, strict=True)]
    out = []
    for (least, middle, most), n in zip(population, drawn, strict=True):
        up, down = np.meshgrid(number[: n + 1], number[: n + 1], indexing="ij")
        probs = _hypergeometric([most, least, middle], [up, down, n - up - down], least + middle + most, n)
        out.append(np.bincount((up - down + n).ravel(), probs.ravel(), minlength=2 * n + 1))
    return out


def _hypergeometric(of: list[Array], drawn_of: list[Array], size: Array, drawn: Array) -> Array:
    log = -_log_choose(size, drawn)
    possible: Array = np.ones(np.broadcast_shapes(*(np.shape(part) for part in drawn_of)), dtype=bool)
    for held, part in zip(of, drawn_of, strict=True):
        possible = possible & (part >= 0) & (part <= held)
        log = log + _log_choose(held, np.clip(part, 0, held))
    return np.where(possible, np.exp(np.where(possible, log, -np.inf)), 0.0)


def _log_choose(n: Array, k: Array) -> Array:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
