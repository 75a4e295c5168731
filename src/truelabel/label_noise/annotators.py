"""Several annotators: how well each of them labels, and what the true classes are, by expectation–maximisation.

The model: an instance has class y with probability p(y | x), or the class's share where nothing else is known.
Annotator j gives it class k with probability T_j[y, k]. Annotators are alike: each row of T_j is drawn around that of
an average annotator who makes as many mistakes as j, and how many mistakes j makes is drawn around the average. How
alike they are is estimated. So an annotator with three votes is taken to be like the average one, and one with a
thousand is judged by these. The estimate is by the votes that are expected of each class; where classes are unsure,
these differ less than votes do, so that annotators are taken to be rather more alike than they are. Votes for one
instance may depend on each other; see `Dependence`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, logsumexp

from truelabel.arrays import Array
from truelabel.label_noise.dependence import Dependence
from truelabel.label_noise.shrinkage import shrunk, strength
from truelabel.label_noise.transition import TINY
from truelabel.votes import Votes

LEVEL = 0.9  # of the intervals
STEPS = 200  # of expectation and maximisation, at most
TOLERANCE = 1e-6  # gain in log-likelihood per vote below which steps end
COST = 1.0  # log-likelihood that the one number of dependent votes has to be worth
ONE_VOTE = 1.0  # weight of the prior beside the votes where EM starts


@dataclass(frozen=True)
class Annotators:
    """What the votes say of the annotators and of the instances.

    Attributes
    ----------
    probs : (n, c) array
        p(y | x, all votes): the consensus.
    likelihood : (n, c) array
        log p(votes | y), by instance.
    confusion : (a, c, c) array
        T_j[y, k]: how often annotator j gives instances of class y class k.
    average : (c, c) array
        That of the average annotator.
    shares : (c,) array
        p(y).
    quality, low, high : (a,) arrays
        The probability that a label of this annotator is right, with a 90 % interval.
    concentration : float
        After how many votes an instance's own shares weigh as much as its class; infinite where votes are independent.
    log_likelihood : float
        log p(all votes).
    """

    probs: Array
    likelihood: Array
    confusion: Array
    average: Array
    shares: Array
    quality: Array
    low: Array
    high: Array
    concentration: float
    log_likelihood: float

    @classmethod
    def estimate(
        cls, votes: Votes, prior: Array | None = None, *, start: Array | None = None, dependent: bool = True
    ) -> Annotators:
        """Estimate the annotators and the true classes together.

        Parameters
        ----------
        votes : Votes
            Who gave which instance which class.
        prior : (n, c) array, optional
            p(y | x) of somebody who has not seen the votes for that instance. By default the shares of the classes,
            which are estimated.
        start : (n, c) array, optional
            p(y | x, votes) to start from. By default the shares of the votes, with one vote more by `prior`.
        dependent : bool, default True
            Whether votes for one instance may depend on each other beyond its class.
        """
        if prior is not None and prior.shape != (len(votes), votes.n_classes):
            raise ValueError(
                f"prior has shape {prior.shape}, but there are {len(votes)} instances and {votes.n_classes} classes."
            )
        independent = _fit(votes, prior, None, start)
        if not dependent or votes.per_instance.max() < 2:
            return independent
        # From there, so that votes which agree are first taken to agree because of their class.
        found = _fit(votes, prior, Dependence(votes.counts), independent.probs)
        return found if found.log_likelihood > independent.log_likelihood + COST else independent


def _fit(votes: Votes, prior: Array | None, dependence: Dependence | None, probs: Array | None) -> Annotators:
    """Alternate E and M steps until the votes get no likelier; start from majorities where there are no `probs`."""
    if probs is None:
        shares = (votes.counts.sum(axis=0) + ONE_VOTE) / (votes.count.sum() + ONE_VOTE * votes.n_classes)
        start = votes.counts + ONE_VOTE * (shares if prior is None else prior)
        probs = start / start.sum(axis=1, keepdims=True)
    before, concentration = -np.inf, np.inf
    for _ in range(STEPS):
        skill, shares = maximise(votes, probs), probs.mean(axis=0)
        known = np.log(np.maximum(shares[None] if prior is None else prior, TINY))
        likelihood = np.asarray(votes.cells @ np.log(skill.by_label))
        if dependence is not None:
            concentration = dependence.likelier(likelihood, skill.average, known, concentration)
            likelihood = likelihood + dependence.log_ratio(skill.average, concentration)
        probs, after = expect(likelihood, known)
        if abs(after - before) < TOLERANCE * votes.count.sum():
            break
        before = after
    quality, low, high = skill.quality(probs, votes)
    return Annotators(
        probs, likelihood, skill.confusion, skill.average, shares, quality, low, high, concentration, after
    )


@dataclass(frozen=True)
class Skill:
    """The annotators' part of the model.

    Attributes
    ----------
    confusion, average
        As in `Annotators`.
    expected : (a, c, c) array
        Votes of each annotator by (expected) true class and class given.
    """

    confusion: Array
    average: Array
    expected: Array

    @property
    def by_label(self) -> Array:
        """p(label | y) with a row per annotator and label, as the columns of `Votes.cells`."""
        a, c, _ = self.confusion.shape
        return np.maximum(self.confusion.transpose(0, 2, 1).reshape(a * c, c), TINY)

    def quality(self, probs: Array, votes: Votes) -> tuple[Array, Array, Array]:
        """Return each annotator's quality with the bounds of its interval.

        It is shrunk to the quality of all, whichever classes each of them met: that needs no confusion to be right.
        Two things are unsure: quality, given which of the labels are right, and which of them are.
        """
        right, total = _right(self.expected)
        both, all_of_them = np.stack([right, total - right], axis=1), right.sum() / total.sum()
        common = np.array([all_of_them, 1 - all_of_them])
        alike = strength(both, common) if len(both) > 1 else 0.0
        mean, size = shrunk(both, common, alike)[:, 0], total + alike
        p = probs[votes.rows, votes.labels]
        doubt = np.bincount(votes.columns, weights=votes.count * p * (1 - p), minlength=len(mean)) / size**2
        variance = mean * (1 - mean) / (size + 1) + doubt
        worth = np.maximum(mean * (1 - mean) / np.maximum(variance, TINY) - 1, 1e-3)
        low, high = (betaincinv(mean * worth, (1 - mean) * worth, q) for q in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
        return mean, low, high


def expect(likelihood: Array, log_prior: Array) -> tuple[Array, float]:
    """E step: return p(y | x, votes) and log p(votes)."""
    joint = log_prior + likelihood
    total = logsumexp(joint, axis=1, keepdims=True)
    return np.exp(joint - total), float(total.sum())


def maximise(votes: Votes, probs: Array) -> Skill:
    """M step: return the annotators' confusions, each shrunk to what they have in common as far as they are alike."""
    c = votes.n_classes
    given = np.asarray(votes.cells.T @ probs).reshape(votes.n_annotators, c, c)
    expected = given.transpose(0, 2, 1)  # by true class and class given
    average = _average(expected.sum(axis=0))
    right, total = _right(expected)
    if votes.n_annotators == 1:
        return Skill(average[None], average, expected)
    # What the average annotator's quality would be with the instances of each; somebody without votes is that one.
    of_class = np.where(total[:, None] > 0, expected.sum(axis=2), 1.0)
    usual = of_class @ np.diag(average) / of_class.sum(axis=1)
    both = np.stack([right, total - right], axis=1)
    mean = np.stack([usual, 1 - usual], axis=1)
    alike = strength(both, mean)
    own = shrunk(both, mean, alike)
    centre = _with_quality(average, own[:, 0], usual)
    return Skill(shrunk(expected, centre, strength(expected, centre)), average, expected)


def _right(expected: Array) -> tuple[Array, Array]:
    """Return how many labels of each annotator are expected to be right, and how many there are."""
    return np.trace(expected, axis1=1, axis2=2), expected.sum(axis=(1, 2))


def _average(expected: Array) -> Array:
    """Return the confusion of the average annotator, shrunk to one rate of mistakes that go to all classes alike."""
    c = len(expected)
    rate = (np.trace(expected) + c - 1) / (expected.sum() + c)
    even = rate * np.eye(c) + (1 - rate) * (1 - np.eye(c)) / (c - 1)
    return shrunk(expected, even, strength(expected, even))


def _with_quality(average: Array, quality: Array, usual: Array) -> Array:
    """Return the average confusion for each annotator, with the odds of a mistake multiplied to give their quality."""
    times = (1 - quality) / quality * usual / (1 - usual)
    right = np.diag(average)
    scaled = times[:, None, None] * average
    c = np.arange(len(average))
    scaled[:, c, c] = right
    return np.asarray(scaled / scaled.sum(axis=2, keepdims=True))
