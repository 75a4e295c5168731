import numpy as np
import pytest

from noisy_labels import ASYMMETRIC, SYMMETRIC, labelled
from truelabel.label_noise.surest import SurestSettings, at_one_rate, counted_on_surest, label_counts
from truelabel.label_noise.swaps import Swapped


def count(believed, labels, swapped=None):
    return counted_on_surest(believed, labels, SurestSettings(), swapped)


@pytest.mark.parametrize("transition", [SYMMETRIC, ASYMMETRIC], ids=["symmetric", "asymmetric"])
def test_a_known_transition_is_recovered_from_good_beliefs_within_four_points(transition):
    _, _, labels, believed = labelled(transition)
    found = count(believed, labels)
    np.testing.assert_allclose(found, transition, atol=0.04)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_without_noise_the_transition_is_the_identity():
    clean, _, _, _ = labelled(SYMMETRIC)
    found = count(clean, clean.argmax(axis=1))
    np.testing.assert_allclose(found, np.eye(4), atol=0.01)


def test_mistakes_of_few_instances_are_spread_evenly_as_far_as_chance_explains_them():
    """Twenty instances with three mistakes on three classes say nothing about where mistakes go."""
    believed = np.tile(np.array([0.7, 0.1, 0.1, 0.1], dtype=np.float32), (20, 1))
    even = count(believed, np.array([0] * 17 + [1, 2, 3]))[0]
    np.testing.assert_allclose(even[1:], (1 - even[0]) / 3)
    one_way = count(believed, np.array([0] * 10 + [1] * 10))[0]
    assert one_way[1] > 5 * one_way[2]


def test_a_class_nobody_is_believed_to_be_of_is_as_clean_as_the_cleanest():
    believed = np.array([[0.8, 0.2, 0.0]] * 100 + [[0.2, 0.8, 0.0]] * 100, dtype=np.float32)
    found = count(believed, np.repeat([0, 1, 0, 1], [90, 10, 40, 60]))
    right = (90 + 0.5) / (100 + 0.5 + 0.5 / 3)
    np.testing.assert_allclose(found[2], [(1 - right) / 2, (1 - right) / 2, right])
    assert found[1, 1] < 0.7


def block(y: int, c: int, sure: float, labels: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows believed to be of class y, `sure` each, and how many have which label."""
    believed = np.full((sum(labels.values()), c), (1 - sure) / (c - 1), dtype=np.float32)
    believed[:, y] = sure
    return believed, np.repeat(list(labels), list(labels.values()))


def together(*blocks):
    return tuple(np.concatenate(parts) for parts in zip(*blocks, strict=True))


def test_only_the_surest_fifth_and_what_is_nearly_as_sure_is_counted():
    """Of 300 rows 60 are the surest fifth; 10 more come within a twentieth; 230 with other labels do not."""
    sure = block(0, 2, 0.9, {0: 45, 1: 15})
    close = block(0, 2, 0.87, {1: 10})
    unsure = block(0, 2, 0.8, {0: 30, 1: 200})
    other = block(1, 2, 0.9, {1: 50})
    found = count(*together(sure, close, unsure, other))
    right = (45 + 0.5) / (70 + 0.5 + 0.25)
    np.testing.assert_allclose(found[0], [right, 1 - right])


def test_fifty_are_counted_where_a_fifth_would_be_fewer():
    sure = block(0, 2, 0.9, {0: 20})
    less = block(0, 2, 0.8, {0: 10, 1: 20})
    least = block(0, 2, 0.6, {1: 40})
    found = count(*together(sure, less, least, block(1, 2, 0.9, {1: 50})))
    assert found[0, 0] == pytest.approx((30 + 0.5) / (50 + 0.5 + 0.25))


def counted(right: list[int], of: int = 50):
    """Beliefs and labels of one class for each number of right labels, the wrong ones spread evenly."""
    c = len(right)
    blocks = []
    for y, r in enumerate(right):
        others = [j for j in range(c) if j != y]
        wrong = {j: (of - r + i) // (c - 1) for i, j in enumerate(others)}
        blocks.append(block(y, c, 0.9, {y: r} | wrong))
    return together(*blocks)


def test_diagonals_that_chance_explains_are_evened_out():
    """Ten rows of 50 with 31 to 39 right labels spread less than chance would have it: χ² is 4.4 where 7 is even."""
    found = count(*counted([31, 33, 34, 35, 35, 35, 35, 36, 37, 39]))
    np.testing.assert_allclose(np.diag(found), 0.7, atol=1e-9)


def test_diagonals_that_chance_does_not_explain_stay_apart():
    """45 and 20 right labels of 50: rates 45.5/50.55 and 20.5/50.55, χ² 134.4, so 7/134.4 of the way to 0.65."""
    found = count(*counted([45, 20] * 5))
    np.testing.assert_allclose(np.diag(found), [0.887, 0.418] * 5, atol=1e-3)


def test_symmetric_noise_on_few_instances_gives_diagonals_closer_than_they_are_counted():
    """Fifty instances of each of ten classes: the counts have a deviation of 0.065, the estimates half of it."""
    rng = np.random.default_rng(0)
    counts, estimates = [], []
    for _ in range(20):
        right = rng.binomial(50, 0.7, size=10)
        counts.append(right / 50)
        estimates.append(np.diag(count(*counted(right.tolist()))))
    assert np.std(counts, axis=1).mean() > 0.055
    assert np.std(estimates, axis=1).mean() < 0.03
    np.testing.assert_allclose(np.mean(estimates), np.mean(counts), atol=0.01)


def test_three_classes_are_too_few_to_be_evened_out():
    found = count(*counted([34, 35, 36]))
    np.testing.assert_allclose(np.diag(found), (np.array([34, 35, 36]) + 0.5) / (50 + 0.5 + 0.5 / 3))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({0: 40, 1: 60}, (0.5, 0.5, 0)),
        ({0: 10, 1: 50, 2: 40}, (1 / 3, 1 / 3, 1 / 3)),
        ({0: 25, 1: 51, 2: 24}, (0.38, 0.38, 0.24)),
        ({0: 20, 1: 60, 2: 20}, (0.4, 0.4, 0.2)),
        ({0: 15, 1: 60, 2: 25}, (0.375, 0.375, 0.25)),
        ({0: 50, 1: 49, 2: 1}, (0.5, 0.49, 0.01)),
    ],
)
def test_no_label_is_likelier_than_the_right_one(labels, expected):
    """Likelier ones share with it; other classes have so many right labels that nothing else is evened out."""
    said = together(block(0, 3, 0.9, labels), block(1, 3, 0.9, {1: 100}), block(2, 3, 0.9, {2: 100}))
    found = count(*said)
    np.testing.assert_allclose(found[0], expected, atol=0.04)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    if labels[0] < 50:
        assert found[0, 0] == found[0].max()


def test_which_instances_count_can_be_set():
    """The surer half alone is counted, or all."""
    said = together(block(0, 2, 0.9, {0: 50}), block(0, 2, 0.6, {1: 30, 0: 20}), block(1, 2, 0.9, {1: 50}))
    half = counted_on_surest(*said, SurestSettings(share=0.5, fewest=1))
    whole = counted_on_surest(*said, SurestSettings(share=1.0, fewest=1))
    assert half[0, 0] == pytest.approx(50.5 / 50.75)
    assert whole[0, 0] == pytest.approx(70.5 / 100.75)


class TestLabelCounts:
    probs = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]], dtype=np.float32)
    labels = np.array([1, 1, 2])

    def test_labels_are_counted_as_they_are(self):
        np.testing.assert_array_equal(label_counts(self.probs, self.labels, np.array([0, 2]), None), [0, 1, 1])

    def test_a_label_that_may_be_swapped_counts_in_part_as_the_other_of_the_pair(self):
        """The first was a 0 with odds of 0.25 · 0.6 to 0.75 · 0.3, the second with 1 · 0.2 to 0; the third stays."""
        swapped = Swapped(np.array([[0, 1], [1, 0], [2, 0]]), np.array([0.25, 1.0, 0.0], dtype=np.float32))
        found = label_counts(self.probs, self.labels, np.arange(3), swapped)
        moved = 0.15 / (0.15 + 0.225)
        np.testing.assert_allclose(found, [moved + 1, 1 - moved, 1], rtol=1e-6)


class TestAtOneRate:
    def test_all_classes_are_as_clean_as_the_cleanest_and_wrong_labels_are_spread_as_they_were(self):
        found = at_one_rate(np.array([[0.9, 0.1, 0.0], [0.3, 0.6, 0.1], [0.25, 0.25, 0.5]]))
        np.testing.assert_allclose(found, [[0.9, 0.1, 0], [0.075, 0.9, 0.025], [0.05, 0.05, 0.9]])

    def test_a_class_without_wrong_labels_makes_all_classes_clean(self):
        np.testing.assert_allclose(at_one_rate(np.array([[1.0, 0.0], [0.4, 0.6]])), np.eye(2))

    def test_one_rate_stays_as_it_is(self):
        np.testing.assert_allclose(at_one_rate(SYMMETRIC), SYMMETRIC)
