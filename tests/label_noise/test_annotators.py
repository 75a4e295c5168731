"""Annotators and true classes estimated together, on votes whose truth is known."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr

from truelabel.label_noise.annotators import Annotators
from truelabel.labels import Votes


def draw(qualities: np.ndarray, n: int, per_instance: int, c: int = 3, seed: int = 0) -> SimpleNamespace:
    """Votes of annotators who are right at their own rates; each instance is given to a few of them."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(c, size=n)
    right = rng.random((n, len(qualities))) < qualities
    matrix = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, c, size=right.shape)) % c)
    out = rng.random(right.shape).argsort(axis=1) >= per_instance
    matrix[out] = -1
    return SimpleNamespace(truth=truth, matrix=matrix, votes=Votes(matrix, class_names=[str(k) for k in range(c)]))


@pytest.fixture(scope="module")
def many() -> SimpleNamespace:
    qualities = np.random.default_rng(1).uniform(0.45, 0.98, size=25)
    made = draw(qualities, 1500, 5)
    return SimpleNamespace(qualities=qualities, found=Annotators.estimate(made.votes), **vars(made))


def test_the_consensus_beats_the_majority(many: SimpleNamespace) -> None:
    by_majority = np.mean(many.votes.majority() == many.truth)
    assert np.mean(many.found.probs.argmax(axis=1) == many.truth) > by_majority + 0.03


def test_the_consensus_is_bayes_rule_on_the_confusions(many: SimpleNamespace) -> None:
    found = Annotators.estimate(many.votes, dependent=False)
    expected = np.tile(np.log(found.shares), (len(many.truth), 1))
    for j, confusion in enumerate(found.confusion):
        rows = np.flatnonzero(many.matrix[:, j] >= 0)
        expected[rows] += np.log(confusion[:, many.matrix[rows, j]].T)
    expected = np.exp(expected)
    np.testing.assert_allclose(found.probs, expected / expected.sum(axis=1, keepdims=True), atol=1e-4)
    assert found.log_likelihood == pytest.approx(np.log(expected.sum(axis=1)).sum(), rel=1e-4)


def test_the_quality_of_annotators_is_estimated_with_intervals_that_hold_it(many: SimpleNamespace) -> None:
    found = many.found
    assert spearmanr(found.quality, many.qualities)[0] > 0.95
    assert np.mean(np.abs(found.quality - many.qualities)) < 0.03
    assert np.mean((found.low <= many.qualities) & (many.qualities <= found.high)) >= 0.8
    assert (found.low < found.quality).all()
    assert (found.quality < found.high).all()


def test_known_classes_give_the_counted_confusion_of_a_busy_annotator() -> None:
    made = draw(np.array([0.9, 0.6]), 30_000, 2)
    found = Annotators.estimate(made.votes, np.eye(3)[made.truth], dependent=False)
    for j in range(2):
        counted = np.stack([np.bincount(made.matrix[made.truth == y, j], minlength=3) for y in range(3)])
        np.testing.assert_allclose(found.confusion[j], counted / counted.sum(axis=1, keepdims=True), atol=0.01)


def test_an_annotator_with_few_votes_is_taken_to_be_like_the_others() -> None:
    made = draw(np.full(12, 0.8), 600, 6)
    matrix = np.hstack([made.matrix, np.full((600, 1), -1)])
    matrix[:2, 12] = (made.truth[:2] + 1) % 3  # twice wrong
    found = Annotators.estimate(Votes(matrix))
    assert 0.6 < found.quality[12] < found.quality[:12].mean() < 0.86
    assert (found.high - found.low)[:12].max() < 0.2


def test_an_annotator_without_votes_is_taken_to_be_the_average_one(many: SimpleNamespace) -> None:
    votes = Votes(np.hstack([many.matrix, np.full((len(many.truth), 1), -1)]))
    found = Annotators.estimate(votes)
    np.testing.assert_allclose(found.probs, many.found.probs, atol=1e-3)
    np.testing.assert_allclose(found.confusion[-1], found.average)
    assert found.low[-1] < found.quality[-1] == pytest.approx(found.quality[:-1].mean(), abs=0.02)


def test_what_the_features_say_settles_ties() -> None:
    votes = Votes([[0, 1]] * 4 + [[0, 0]] * 8 + [[1, 1]] * 8)
    prior = np.array([[0.9, 0.1]] * 2 + [[0.1, 0.9]] * 2 + [[0.5, 0.5]] * 16)
    assert Annotators.estimate(votes, prior).probs[:4].argmax(axis=1).tolist() == [0, 0, 1, 1]


def test_shares_and_rows_sum_to_one(many: SimpleNamespace) -> None:
    for part in (many.found.probs, many.found.confusion, many.found.average, many.found.shares):
        np.testing.assert_allclose(part.sum(axis=-1), 1)


def test_a_prior_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"prior has shape \(3, 2\), but there are 2 instances and 2 classes"):
        Annotators.estimate(Votes([[0, 1], [1, 1]]), np.full((3, 2), 0.5))
