"""Votes for one instance that depend on each other."""

import numpy as np
import pytest
from scipy.stats import dirichlet_multinomial, multinomial

from truelabel.label_noise.annotators import Annotators
from truelabel.label_noise.dependence import CONCENTRATIONS, Dependence
from truelabel.labels import Votes

AVERAGE = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]])


def drawn(concentration: float, n: int, each: int, seed: int = 0) -> tuple[Votes, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    shares = [AVERAGE[y] if np.isinf(concentration) else rng.dirichlet(concentration * AVERAGE[y]) for y in truth]
    return Votes.from_counts(np.stack([rng.multinomial(each, p) for p in shares])), truth


def test_the_ratio_is_that_of_the_two_distributions() -> None:
    counts = np.array([[3, 0, 1], [0, 0, 0], [1, 5, 2]])
    for concentration in (1.0, 7.5):
        found = Dependence(counts).log_ratio(AVERAGE, concentration)
        for i, row in enumerate(counts):
            for y, p in enumerate(AVERAGE):
                n = row.sum()
                together = dirichlet_multinomial.logpmf(row, concentration * p, n) if n else 0.0
                assert found[i, y] == pytest.approx(together - multinomial.logpmf(row, n, p), abs=1e-9)
    np.testing.assert_array_equal(Dependence(counts).log_ratio(AVERAGE, np.inf), 0)


def test_a_concentration_moves_one_step_towards_the_likelier() -> None:
    votes, _ = drawn(4.0, 300, 20)
    alone = votes.counts @ np.log(AVERAGE).T
    found = Dependence(votes.counts).likelier(alone, AVERAGE, np.log(np.full((1, 3), 1 / 3)), np.inf)
    assert found == CONCENTRATIONS[1]


def test_dependent_votes_are_recognised_and_believed_less() -> None:
    votes, truth = drawn(4.0, 1500, 20)
    found = Annotators.estimate(votes)
    assert 2.5 <= found.concentration <= 6
    alone = Annotators.estimate(votes, dependent=False)
    rows = np.arange(len(truth))
    assert np.log(found.probs[rows, truth]).mean() > np.log(np.maximum(alone.probs[rows, truth], 1e-12)).mean() + 0.2


def test_independent_votes_are_left_independent() -> None:
    votes, _ = drawn(np.inf, 1500, 5)
    assert Annotators.estimate(votes).concentration >= 500
