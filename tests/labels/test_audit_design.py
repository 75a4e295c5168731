"""Which labels an audit draws, and with what probability."""

import numpy as np
import pytest

from truelabel.labels.audit_design import allocate, draw, stratify, telling


def test_what_tells_most_is_what_may_be_either() -> None:
    """p = 0.2 has odds of 1/4, whose root is 1/2: a cautious 1/3."""
    np.testing.assert_allclose(telling(np.array([0.5, 0.2, 0.8])), [0.5, np.sqrt(2 / 9), np.sqrt(2 / 9)])


def test_nothing_tells_so_little_that_it_is_never_drawn() -> None:
    np.testing.assert_allclose(telling(np.array([0.0, 1e-9, 1.0])), np.sqrt(0.02 * 0.98))


def test_strata_follow_p_wrong_and_tell_equally_much() -> None:
    p_wrong = np.random.default_rng(0).beta(0.2, 1, size=5_000)
    stratum = stratify(p_wrong, 96)
    order = np.argsort(p_wrong)
    assert (np.diff(stratum[order]) >= 0).all()
    sums = np.bincount(stratum, weights=telling(p_wrong))
    assert len(sums) == 8
    assert sums.max() < 1.05 * sums.min()
    assert np.bincount(stratum)[0] > 2 * np.bincount(stratum)[-1]


def test_labels_of_one_p_wrong_are_in_one_stratum() -> None:
    assert stratify(np.full(50, 0.3), 40).max() == 0
    stratum = stratify(np.repeat([0.1, 0.9], [1_000, 3]), 100)
    assert stratum[:1_000].min() == stratum[:1_000].max()


def test_draws_are_shared_by_what_strata_tell_and_no_stratum_gives_more_than_it_has() -> None:
    np.testing.assert_array_equal(allocate(np.array([3.0, 1.0]), np.array([100, 100]), 40), [30, 10])
    np.testing.assert_array_equal(allocate(np.array([3.0, 1.0]), np.array([20, 100]), 40), [20, 20])
    np.testing.assert_array_equal(allocate(np.array([3.0, 1.0]), np.array([20, 10]), 99), [20, 10])
    np.testing.assert_array_equal(allocate(np.array([999.0, 1.0]), np.array([50, 50]), 10), [9, 1])


def test_every_label_is_drawn_as_often_as_its_stratum_says() -> None:
    stratum, number = np.repeat([0, 1], [6, 3]), np.array([2, 2])
    rng = np.random.default_rng(0)
    times = np.zeros(9)
    for _ in range(3_000):
        times[draw(stratum, number, np.empty(0, dtype=int), rng)] += 1
    np.testing.assert_allclose(times / 3_000, np.repeat([2 / 6, 2 / 3], [6, 3]), atol=0.03)


def test_nothing_is_drawn_twice() -> None:
    stratum = np.repeat([0, 1], [6, 3])
    taken = np.array([0, 1, 2, 6])
    rows = draw(stratum, np.array([3, 2]), taken, np.random.default_rng(0))
    assert sorted([*rows, *taken]) == list(range(9))


@pytest.mark.parametrize("sample", [1, 5, 11, 12, 30])
def test_small_samples_have_few_strata(sample: int) -> None:
    stratum = stratify(np.linspace(0, 1, 200), sample)
    assert stratum.max() + 1 == max(sample // 12, 1)


def test_large_samples_have_ten() -> None:
    assert stratify(np.linspace(0, 1, 2_000), 1_000).max() == 9
