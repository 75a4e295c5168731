import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from truelabel.neighbours import Neighbours, inverse_distance, shares, stratified

RNG = np.random.default_rng(0)
REFERENCE = RNG.normal(size=(300, 6)).astype(np.float32)


@pytest.mark.parametrize("queries", [1, 15, 200])
@pytest.mark.parametrize("offset", [0, 1000])
def test_neighbours_are_those_of_brute_force(queries, offset):
    reference = REFERENCE + np.float32(offset)
    asked = RNG.normal(size=(queries, 6)).astype(np.float32) + np.float32(offset)
    distances, found = Neighbours(reference).search(asked, 7)
    every = cdist(asked.astype(np.float64), reference.astype(np.float64))
    np.testing.assert_array_equal(found, every.argsort(axis=1)[:, :7])
    np.testing.assert_allclose(distances, np.sort(every, axis=1)[:, :7], atol=1e-5)


def test_a_row_is_not_its_own_neighbour():
    own = np.arange(len(REFERENCE))
    distances, found = Neighbours(REFERENCE).search(REFERENCE, 5, own)
    expected_distances, expected = NearestNeighbors(n_neighbors=5, algorithm="brute").fit(REFERENCE).kneighbors()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(distances, expected_distances, atol=1e-5)


class TestAnApproximateSearch:
    many = np.random.default_rng(1).normal(size=(25_000, 8)).astype(np.float32)

    def test_it_is_exact_where_there_are_few_rows(self):
        exact, approximate = (Neighbours(REFERENCE, approximate=a).search(REFERENCE, 5) for a in (False, True))
        np.testing.assert_array_equal(exact[1], approximate[1])

    def test_it_finds_most_of_many(self):
        rows = np.arange(0, 25_000, 50)
        exact, approximate = (
            Neighbours(self.many, approximate=a).search(self.many[rows], 20, rows) for a in (False, True)
        )
        found = [len(set(one) & set(other)) for one, other in zip(exact[1], approximate[1], strict=True)]
        assert np.mean(found) > 14
        assert (approximate[1] != rows[:, None]).all()
        assert approximate[0].mean() < 1.1 * exact[0].mean()

    def test_rows_among_too_few_find_the_others_all_the_same(self):
        """One cell holds a single row, far from all others, and so do the cells around it."""
        lonely = np.concatenate([self.many, np.full((1, 8), 1e3, dtype=np.float32)])
        index = Neighbours(lonely, approximate=True)
        distances, found = index.search(lonely[-1:], 20_000, np.array([25_000]))
        assert sorted(set(found[0])) == sorted(found[0])
        assert found.min() >= 0
        assert (np.diff(distances[0]) >= 0).all()


def test_rows_that_are_no_reference_lose_no_neighbour():
    asked = REFERENCE[[3, 4]] + np.float32(0.01)
    with_own = Neighbours(REFERENCE).search(asked, 5, np.array([-1, -1]))
    without = Neighbours(REFERENCE).search(asked, 5)
    np.testing.assert_array_equal(with_own[1], without[1])
    np.testing.assert_array_equal(with_own[0], without[0])
    assert without[1][:, 0].tolist() == [3, 4]


@pytest.mark.parametrize("k", [2, 5, 9])
def test_duplicates_are_neighbours_of_each_other_but_not_of_themselves(k):
    reference = np.repeat(REFERENCE[:20], 5, axis=0)
    own = np.arange(len(reference))
    distances, found = Neighbours(reference).search(reference, k, own)
    assert found.shape == (100, k)
    assert not (found == own[:, None]).any()
    assert all(len(set(row)) == k for row in found.tolist())
    twins = min(k, 4)
    np.testing.assert_array_equal(found[:, :twins] // 5, np.repeat(own[:, None] // 5, twins, axis=1))
    assert (distances[:, :twins] == 0).all()
    assert (distances[:, 4:] > 0).all()


def test_more_neighbours_than_there_are_gives_all():
    index = Neighbours(REFERENCE[:4])
    assert index.size == 4
    assert np.sort(index.search(REFERENCE[:4], 10)[1]).tolist() == [[0, 1, 2, 3]] * 4
    others = index.search(REFERENCE[:4], 10, np.arange(4))[1]
    assert np.sort(others).tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=200), st.integers(1, 100), st.integers(0, 3))
def test_a_stratified_pick_keeps_every_class_at_its_share(labels, size, seed):
    labels = np.array(labels)
    picked = stratified(labels, size, np.random.default_rng(seed))
    assert (np.diff(picked) > 0).all()
    if size >= len(labels):
        assert picked.tolist() == list(range(len(labels)))
    for k, count in zip(*np.unique(labels, return_counts=True), strict=True):
        expected = min(size / len(labels), 1) * count
        assert np.sum(labels[picked] == k) == pytest.approx(max(1, expected), abs=0.5)


def test_a_stratified_pick_is_random_within_the_class():
    labels = np.zeros(100, dtype=np.int64)
    one, other = (stratified(labels, 10, np.random.default_rng(seed)) for seed in (0, 1))
    assert one.tolist() != other.tolist()
    assert one.tolist() == stratified(labels, 10, np.random.default_rng(0)).tolist()


def test_shares_are_the_weights_of_each_class():
    labels = np.array([[0, 2, 2], [1, 1, 1], [3, 0, 3]])
    weights = np.array([[1, 2, 1], [5, 1, 2], [0, 1, 3]], dtype=np.float32)
    expected = [[0.25, 0, 0.75, 0], [0, 1, 0, 0], [0.25, 0, 0, 0.75]]
    found = shares(labels, weights, 4)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_shares_of_no_weight_are_zero_and_not_nan():
    assert shares(np.array([[0, 1]]), np.zeros((1, 2), np.float32), 2).tolist() == [[0, 0]]


def test_weights_are_inverse_distances_and_coinciding_neighbours_count_alone():
    distances = np.array([[0.5, 1, 4], [0, 0.5, 1], [0, 0, 3]], dtype=np.float32)
    weights = inverse_distance(distances)
    assert weights.dtype == np.float32
    assert weights.tolist() == [[2, 1, 0.25], [1, 0, 0], [1, 1, 0]]
