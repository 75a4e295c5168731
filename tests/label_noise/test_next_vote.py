"""Whose vote on which instance would tell most, and which disagreement is the instance's own."""

from dataclasses import replace

import numpy as np
import pytest

from truelabel.label_noise.annotators import Annotators
from truelabel.label_noise.next_vote import ambiguity, best_annotators, expected_information
from truelabel.labels import Votes

GOOD, POOR = np.array([[0.95, 0.05], [0.05, 0.95]]), np.array([[0.6, 0.4], [0.4, 0.6]])


def model(probs: list[list[float]], confusion: np.ndarray, concentration: float = np.inf) -> Annotators:
    estimated = Annotators.estimate(Votes([[0, 1], [1, 1], [0, 0]]))
    average = confusion.mean(axis=0)
    return replace(estimated, probs=np.array(probs), confusion=confusion, average=average, concentration=concentration)


def information(p: np.ndarray, confusion: np.ndarray) -> float:
    """Mutual information of class and vote, by its definition."""
    joint = p[:, None] * confusion
    return float((joint * np.log(joint / np.outer(p, joint.sum(axis=0)))).sum())


def test_a_vote_tells_the_mutual_information_of_vote_and_class() -> None:
    probs = [[0.5, 0.5], [0.9, 0.1], [0.999, 0.001]]
    votes = Votes([[0, 1], [0, 0], [0, 0]])
    found = expected_information(votes, model(probs, np.stack([GOOD, POOR])))
    expected = [information(np.array(p), (GOOD + POOR) / 2) for p in probs]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found[0] > found[1] > found[2]


def test_one_more_vote_tells_little_where_many_people_disagree() -> None:
    votes = Votes.from_counts([[25, 25], [1, 1]])
    found = expected_information(votes, model([[0.5, 0.5]] * 2, GOOD[None], concentration=4.0))
    assert found[0] < 0.1 * found[1]


def test_the_best_annotator_is_the_best_of_those_who_have_not_voted() -> None:
    votes = Votes([[0, -1, -1], [-1, 0, -1], [0, 1, 0]], annotators=["good", "poor", "fair"])
    fair = np.array([[0.8, 0.2], [0.2, 0.8]])
    found = best_annotators(votes, model([[0.5, 0.5]] * 3, np.stack([GOOD, POOR, fair])))
    assert found.tolist() == [2, 0, -1]


def test_an_annotator_who_knows_one_class_is_asked_about_it() -> None:
    knows_0_or_1 = np.array([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [0.3, 0.3, 0.4]])
    knows_1_or_2 = knows_0_or_1[::-1, ::-1]
    votes = Votes([[-1, -1, 0], [-1, -1, 2]])
    found = model([[0.5, 0.5, 0], [0, 0.5, 0.5]], np.stack([knows_0_or_1, knows_1_or_2, np.full((3, 3), 1 / 3)]))
    assert best_annotators(votes, found).tolist() == [0, 1]


def test_disagreement_of_poor_annotators_is_not_the_instances_own() -> None:
    good, poor = np.tile(GOOD, (4, 1, 1)), np.tile(POOR, (4, 1, 1))
    by_good = [0, 0, 1, 1, -1, -1, -1, -1]
    by_poor = [-1, -1, -1, -1, 0, 0, 1, 1]
    agreed = [0, 0, 0, 0, -1, -1, -1, -1]
    votes = Votes([by_good, by_poor, agreed])
    found = model([[1.0, 0.0]] * 3, np.concatenate([good, poor]), concentration=4.0)
    # Votes for class 0: 2 of 4 where good annotators give 3.8 and poor ones 2.4; beside a concentration of 4.
    assert ambiguity(votes, found) == pytest.approx([1.8 / 8, 0.4 / 8, 0])
    assert ambiguity(votes, replace(found, concentration=np.inf)).tolist() == [0, 0, 0]
