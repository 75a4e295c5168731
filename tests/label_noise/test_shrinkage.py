"""How alike groups are, estimated from their counts."""

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import dirichlet_multinomial

from truelabel.label_noise.shrinkage import log_likelihood, shrunk, strength


def test_the_likelihood_is_that_of_scipy_for_draws_in_their_order() -> None:
    counts, mean = np.array([[3, 0, 2], [1, 1, 7]]), np.array([0.5, 0.2, 0.3])
    orders = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
    expected = dirichlet_multinomial.logpmf(counts, 4 * mean, counts.sum(axis=1)) - orders
    np.testing.assert_allclose(log_likelihood(counts, mean, 4.0), expected)


@pytest.mark.parametrize("true", [2.0, 16.0, 128.0])
def test_the_strength_that_groups_were_drawn_with_is_estimated(true: float) -> None:
    rng = np.random.default_rng(0)
    mean = np.array([0.7, 0.2, 0.1])
    counts = np.stack([rng.multinomial(60, rng.dirichlet(true * mean)) for _ in range(400)])
    assert true / 2 <= strength(counts, mean) <= true * 2


def test_equal_groups_are_all_alike_and_different_ones_their_own() -> None:
    mean = np.array([0.5, 0.5])
    assert strength(np.full((20, 2), 50), mean) == 1024
    assert strength(np.array([[100, 0], [0, 100]]), mean) == 0.5


def test_few_counts_are_shrunk_and_many_are_not() -> None:
    found = shrunk(np.array([[0, 1], [0, 1000]]), np.array([0.9, 0.1]), 10.0)
    np.testing.assert_allclose(found, [[9 / 11, 2 / 11], [9 / 1010, 1001 / 1010]])
