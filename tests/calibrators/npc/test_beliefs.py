"""From what is foretold of the labels to what is believed of the classes."""

import numpy as np
import pytest

from truelabel.calibrators.npc.beliefs import Believer
from truelabel.experts.panel import Panel
from truelabel.label_noise import LabelNoise
from truelabel.label_noise.model import contradicted
from truelabel.label_noise.swaps import Swapped
from truelabel.label_noise.transition import denoise

T = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]])
CLEAN = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1]])
LABELS = np.array([1, 0, 1])
FORETOLD = (CLEAN @ T).astype(np.float32)
NOBODY = Panel([], [], {}, {}, {}, np.arange(3))


def known(transition: np.ndarray) -> LabelNoise:
    return LabelNoise.known(transition, np.full(len(transition), 1 / len(transition)))


def drawn(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random((len(rows), 1)) > rows.cumsum(axis=1)).sum(axis=1).clip(max=rows.shape[1] - 1)


@pytest.fixture(scope="module")
def world():
    """p(y | x), true classes drawn from it, labels drawn from these through T, and p(ỹ | x)."""
    rng = np.random.default_rng(0)
    clean = rng.dirichlet(np.full(3, 0.3), size=6000)
    truth = drawn(clean, rng)
    labels = drawn(T[truth], rng)
    return clean, truth, labels, (clean @ T).astype(np.float32)


class TestBayesRule:
    """Solving for p(y | x) in fifty steps from even probabilities ends within three points of it."""

    def test_with_t_known_it_is_that_of_the_label_given_the_class(self):
        found = Believer(known(T), LABELS, None, None).believe(FORETOLD, 0)
        by_hand = CLEAN * T[:, LABELS].T
        np.testing.assert_allclose(found, by_hand / by_hand.sum(axis=1, keepdims=True), atol=0.035)

    def test_without_the_instances_own_label_it_is_p_of_y_given_x(self):
        found = Believer(known(T), LABELS, None, None, own_label=False).believe(FORETOLD, 0)
        np.testing.assert_allclose(found, CLEAN, atol=0.035)
        other = Believer(known(T), (LABELS + 1) % 3, None, None, own_label=False).believe(FORETOLD, 0)
        np.testing.assert_array_equal(found, other)

    def test_trusted_classes_are_settled(self):
        for own_label in (True, False):
            found = Believer(known(T), LABELS, None, np.array([-1, 1, -1]), own_label=own_label).believe(FORETOLD, 0)
            np.testing.assert_array_equal(found[1], [0, 1, 0])
            assert found[[0, 2]].max() < 1

    def test_where_labels_are_swapped_for_sure_they_mean_the_other_of_the_pair(self):
        swapped = Swapped(np.tile([0, 1], (3, 1)), np.ones(3, dtype=np.float32))
        found = Believer(known(T), LABELS, swapped, None).believe(FORETOLD, 0)
        by_hand = CLEAN * T[:, 1 - LABELS].T
        np.testing.assert_allclose(found, by_hand / by_hand.sum(axis=1, keepdims=True), atol=0.05)

    def test_t_between_two_ends_hears_the_label_and_the_lower_end_is_solved_for(self):
        """p(y | x) is what is foretold where no noise is proven; the label is heard through the mean of T."""
        noise = LabelNoise(np.eye(3), T, np.full(3, 1 / 3), np.zeros((3, 3)))
        found = Believer(noise, LABELS, None, None).believe(FORETOLD, 0)
        by_hand = FORETOLD * ((np.eye(3) + T) / 2)[:, LABELS].T
        np.testing.assert_allclose(found, by_hand / by_hand.sum(axis=1, keepdims=True), atol=0.02)


class TestWeighing:
    def weighed(self, world, foretold, transition=T, rows=None) -> Believer:
        believer = Believer(known(transition), world[2], None, None)
        believer.weigh(foretold, np.arange(6000) if rows is None else rows, NOBODY, {}, again=False)
        return believer

    def test_probabilities_that_are_right_stay_as_sure_as_they_are(self, world):
        clean, truth, _, foretold = world
        believer = self.weighed(world, foretold)
        assert believer.sharpness[0] == pytest.approx(1, abs=0.2)
        assert believer.expected == pytest.approx((clean.argmax(axis=1) == truth).mean(), abs=0.04)

    def test_flat_ones_are_sharpened_until_the_labels_bear_them_out(self, world):
        clean, *_ = world
        flat = clean ** (1 / 2)
        flat /= flat.sum(axis=1, keepdims=True)
        believer = self.weighed(world, (flat @ T).astype(np.float32))
        assert believer.sharpness[0] == pytest.approx(2, abs=0.3)

    def test_the_chance_of_a_wrong_label_is_that_of_bayes_rule(self, world):
        clean, truth, labels, foretold = world
        wrong = self.weighed(world, foretold).wrong
        ideal = clean * T[:, labels].T
        ideal /= ideal.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(wrong, 1 - ideal[np.arange(6000), labels], atol=0.15)
        assert wrong.mean() == pytest.approx((labels != truth).mean(), abs=0.02)

    def test_without_noise_no_label_is_wrong(self, world):
        assert self.weighed(world, world[3], np.eye(3)).wrong.max() < 1e-6

    def test_only_the_labels_of_some_rows_choose(self, world):
        """The others are of classes drawn anew."""
        clean, truth, labels, foretold = world
        mixed = (clean, truth, np.r_[labels[:3000], np.random.default_rng(1).integers(3, size=3000)], foretold)
        assert self.weighed(mixed, foretold, rows=np.arange(3000)).sharpness[0] == pytest.approx(1, abs=0.25)
        assert self.weighed(mixed, foretold).sharpness[0] < 0.8


class Neighbours:
    """Stands in for a panel: neighbours vote for the next class of what is believed, or for itself."""

    def __init__(self, turn: int) -> None:
        self.turn, self.asked = turn, 0

    def vote_again(self, believed, by_view):
        self.asked += 1
        return np.roll(believed, self.turn, axis=1)


class TestVotingAgain:
    def test_neighbours_vote_once_to_be_weighed_and_once_a_round(self, world):
        panel = Neighbours(0)
        believer = Believer(known(T), world[2], None, None)
        believer.weigh(world[3], np.arange(6000), panel, {"x": 1.0}, again=True)
        assert panel.asked == 1
        believer.believe(world[3], 3)
        assert panel.asked == 4

    def test_neighbours_that_are_wrong_are_not_heard(self, world):
        believer = Believer(known(T), world[2], None, None)
        before = believer.believe(world[3], 0)
        believer.weigh(world[3], np.arange(6000), Neighbours(1), {"x": 1.0}, again=True)
        assert believer.parts[1] < 0.1 * believer.parts[0]
        assert np.abs(believer.believe(world[3], 3) - before).mean() < 0.02

    def test_no_more_than_half_is_theirs(self, world):
        """What they say is the belief itself, that has heard each label."""
        believer = Believer(known(T), world[2], None, None)
        believer.weigh(world[3], np.arange(6000), Neighbours(0), {"x": 1.0}, again=True)
        assert believer.parts[1] <= believer.parts[0] + 1e-6
        assert believer.parts[1] > 0

    @pytest.mark.parametrize(("again", "by_view"), [(False, {"x": 1.0}), (True, {"x": 0.0})])
    def test_they_are_not_asked_where_that_is_switched_off_or_no_view_has_weight(self, world, again, by_view):
        panel = Neighbours(0)
        believer = Believer(known(T), world[2], None, None)
        believer.weigh(world[3], np.arange(6000), panel, by_view, again=again)
        believer.believe(world[3], 3)
        assert panel.asked == 0


class TestTheUpperEnd:
    def test_it_comes_down_by_a_share_of_what_somebody_who_knows_more_says(self, world):
        _, truth, labels, _ = world
        high = LabelNoise(np.eye(3), np.full((3, 3), 0.25) + 0.25 * np.eye(3), np.full(3, 1 / 3), np.zeros((3, 3)))
        knows = (0.98 * np.eye(3)[truth] + 0.02 / 3).astype(np.float32)
        rows = np.arange(6000)
        for share in (0.0, 0.5, 1.0):
            believer = Believer(high, labels, None, None)
            believer.lower_upper_end(knows, rows, share)
            expected = share * contradicted(denoise(knows, np.eye(3)), labels) + (1 - share) * high.upper
            np.testing.assert_allclose(believer.noise.upper, expected)
        assert believer.noise.rate < high.rate
