"""Bounds for a total: against exact inversions, and by how often they hold the truth."""

import numpy as np
import pytest
from scipy.stats import binomtest, hypergeom

from truelabel.labels.audit_bounds import Sampled, likeliest

BINARY, SIGNED = np.array([0, 1]), np.array([-1, 0, 1])


def sampled(sizes: list[int], counts: list[list[int]], values: np.ndarray = BINARY) -> Sampled:
    return Sampled(np.array(sizes), np.array(counts), values)


@pytest.mark.parametrize("wrong", [0, 1, 10, 50, 99, 100])
def test_a_plain_sample_of_a_large_population_has_the_exact_binomial_interval(wrong: int) -> None:
    low, high = sampled([1_000_000], [[100 - wrong, wrong]]).interval(0.9)
    exact = binomtest(wrong, 100).proportion_ci(0.9, "exact")
    assert low / 1e6 == pytest.approx(exact.low, abs=2e-4)
    assert high / 1e6 == pytest.approx(exact.high, abs=2e-4)


@pytest.mark.parametrize(("size", "drawn", "wrong"), [(60, 20, 3), (60, 20, 0), (25, 24, 10), (7, 2, 2)])
def test_a_plain_sample_of_a_small_population_has_the_exact_hypergeometric_interval(
    size: int, drawn: int, wrong: int
) -> None:
    every = np.arange(wrong, size - (drawn - wrong) + 1)
    as_low, as_high = hypergeom.cdf(wrong, size, every, drawn), hypergeom.sf(wrong - 1, size, every, drawn)
    low, high = sampled([size], [[drawn - wrong, wrong]]).interval(0.9)
    assert low == every[as_high > 0.05].min()
    assert high == every[as_low > 0.05].max()


def test_where_all_are_drawn_nothing_is_left_open() -> None:
    assert sampled([4, 3], [[1, 3], [3, 0]]).interval(0.9) == (3, 3)
    assert sampled([4], [[1, 1, 2]], SIGNED).interval(0.9) == (1, 1)


def test_a_stratum_that_is_drawn_whole_adds_its_sum_to_the_bounds_of_the_other() -> None:
    low, high = sampled([60], [[17, 3]]).interval(0.9)
    assert sampled([60, 5], [[17, 3], [1, 4]]).interval(0.9) == (low + 4, high + 4)


def test_of_a_stratum_that_none_was_drawn_from_nothing_is_known() -> None:
    low, high = sampled([60], [[17, 3]]).interval(0.9)
    wider = sampled([60, 10], [[17, 3], [0, 0]])
    assert wider.interval(0.9)[0] <= low
    assert wider.interval(0.9)[1] >= high + 10
    assert wider.estimate() == pytest.approx(70 * 3 / 20)


def test_the_estimate_weights_each_stratum_by_its_size() -> None:
    assert sampled([100, 30], [[8, 2], [1, 2]]).estimate() == pytest.approx(100 * 0.2 + 30 * 2 / 3)
    assert sampled([90], [[2, 3, 4]], SIGNED).estimate() == pytest.approx(90 * 2 / 9)


def test_strata_in_which_nothing_was_seen_count_for_what_they_may_hide() -> None:
    """With no wrong label among 12 of each of eight alike strata, the bound is that of 0 among 96."""
    _, high = sampled([10_000] * 8, [[12, 0]] * 8).interval(0.9)
    assert high / 80_000 == pytest.approx(binomtest(0, 96).proportion_ci(0.9, "exact").high, rel=0.01)


def test_values_of_both_signs_are_bounded_as_two_values_are_where_only_two_were_seen() -> None:
    low, high = sampled([500], [[6, 14]]).interval(0.9)
    assert sampled([500], [[6, 0, 14]], SIGNED).interval(0.9) == pytest.approx((2 * low - 500, 2 * high - 500), abs=2)


def test_the_likeliest_population_is_the_sample_in_proportion_where_nothing_is_tilted() -> None:
    sizes, counts = np.array([90, 30]), np.array([[7, 2], [1, 2]])
    np.testing.assert_array_equal(likeliest(sizes, counts, BINARY, 1e-9), [[70, 20], [10, 20]])
    three = likeliest(np.array([90]), np.array([[2, 3, 4]]), SIGNED, -1e-9)
    np.testing.assert_array_equal(three, [[20, 30, 40]])


@pytest.mark.parametrize("tilt", [-3.0, -0.05, 0.05, 3.0])
def test_the_likeliest_population_holds_what_was_drawn(tilt: float) -> None:
    sizes, counts = np.array([40, 12, 9]), np.array([[3, 0, 5], [0, 0, 0], [4, 2, 3]])
    population = likeliest(sizes, counts, SIGNED, tilt)
    np.testing.assert_array_equal(population.sum(axis=1), sizes)
    assert (population >= counts).all()


@pytest.mark.parametrize(
    "rates", [(0.0, 0.01, 0.4, 0.95), (0.3, 0.3, 0.3, 0.3), (0.0, 0.0, 0.0, 0.0), (0.9, 0.5, 0.1, 0.0)]
)
def test_intervals_hold_the_truth_at_least_as_often_as_they_say(rates: tuple[float, ...]) -> None:
    rng = np.random.default_rng(0)
    sizes, drawn = np.array([2_000, 800, 300, 150]), np.full(4, 12)
    wrong = np.round(sizes * np.array(rates)).astype(int)
    held = 0
    for _ in range(100):
        seen = rng.hypergeometric(wrong, sizes - wrong, drawn)
        low, high = Sampled(sizes, np.stack([drawn - seen, seen], axis=1), BINARY).interval(0.9)
        held += low <= wrong.sum() <= high
    assert held >= 0.88 * 100
