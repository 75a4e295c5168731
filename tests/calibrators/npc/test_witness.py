"""What weight the word of a classifier has that saw the labels."""

import numpy as np
import pytest

from truelabel import Predictions
from truelabel.calibrators.npc.given import Given
from truelabel.calibrators.npc.memory import Memory
from truelabel.calibrators.npc.witness import Witness, in_sample
from truelabel.experts.panel import Panel
from truelabel.label_noise.swaps import Swapped
from truelabel.pool import pool


class TestInSampleWeights:
    """Two experts and the classifier, last. The experts alone have 0.6 and 0.4, which is 1 in all."""

    ALONE = np.array([0.6, 0.4], dtype=np.float32)

    @pytest.mark.parametrize(
        ("joint", "most", "expected"),
        [
            ([0.5, 0.25, 0.25], 2 / 3, [0.5, 0.25, 0.25]),
            ([1.0, 0.5, 0.5], 2 / 3, [0.5, 0.25, 0.25]),  # twice as sharp: halved
            ([0.2, 0.2, 0.4], 1 / 2, [0.25, 0.25, 0.5]),
            ([0.0, 0.0, 3.0], 2 / 3, [0.2, 0.4 / 3, 2 / 3]),  # too much: the experts as they are alone
            ([0.0, 0.2, 0.8], 1 / 2, [0.225, 0.275, 0.5]),  # 5/8 of the joint ones, 3/8 of the experts alone
            ([0.7, 0.7, 0.0], 1 / 2, [0.5, 0.5, 0.0]),
            ([0.0, 0.0, 0.0], 1 / 2, [0.0, 0.0, 0.0]),
        ],
    )
    def test_they_are_the_joint_ones_as_far_as_the_classifier_may_be_heard(self, joint, most, expected):
        found = in_sample(np.array(joint, dtype=np.float32), self.ALONE, most)
        np.testing.assert_allclose(found, expected, atol=1e-6)

    def test_a_classifier_that_is_barely_too_loud_changes_little(self):
        joint = np.array([0.5, 0.0, 0.501], dtype=np.float32)
        np.testing.assert_allclose(in_sample(joint, self.ALONE, 0.5), [0.5, 0.0, 0.5], atol=2e-3)

    @pytest.mark.parametrize("total", [1.0, 3.7])
    def test_their_sum_is_that_of_the_experts_and_the_classifier_has_no_more_than_is_allowed(self, total):
        rng = np.random.default_rng(0)
        for most in rng.uniform(0.4, 0.8, size=50):
            joint, without = rng.gamma(0.5, size=5), rng.gamma(0.5, size=4)
            without *= total / without.sum()
            found = in_sample(joint, without, most)
            assert found.sum() == pytest.approx(total, rel=1e-5)
            assert found[-1] <= most * total + 1e-6
            assert (found >= 0).all()

    def test_experts_that_know_nothing_do_not_flatten_the_classifier(self):
        """They have a weight of 0.02 in all; its own word still counts up to what is allowed of 1."""
        found = in_sample(np.array([0.0, 0.0, 1.3]), np.array([0.01, 0.01]), 2 / 3)
        assert found[-1] == pytest.approx(2 / 3)
        np.testing.assert_allclose(found[:2], 0.01 / 3, atol=1e-6)


class TestWitness:
    expert, probs = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 6)).astype(np.float32)
    panel = Panel([("x", "vote")], [expert], {}, {}, {"x": None}, np.arange(6))
    given = Given(Predictions(probs))
    weights, on_unseen = np.array([0.7, 0.2], dtype=np.float32), np.array([0.1, 0.9], dtype=np.float32)

    def test_what_it_foretells_is_the_pool_of_the_experts_and_the_classifier(self):
        found = Witness(self.weights).foretold(self.given, self.panel, None)
        np.testing.assert_allclose(found, pool([self.expert, self.given.predictions.probs], self.weights), rtol=1e-5)

    def test_on_instances_that_it_was_not_trained_on_other_weights_hold(self):
        given = Given(self.given.predictions, unseen=np.array([1, 4]))
        found = Witness(self.weights, on_unseen=self.on_unseen).foretold(given, self.panel, None)
        parts = [self.expert, given.predictions.probs]
        expected = pool(parts, self.weights)
        expected[[1, 4]] = pool(parts, self.on_unseen)[[1, 4]]
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    def test_the_classifier_learned_swapped_labels_too(self):
        """Where labels are swapped for sure, it says the opposite of what is before swaps."""
        pair, chance = np.tile([0, 1], (6, 1)), np.ones(6, dtype=np.float32)
        found = Witness(np.array([0.0, 1.0])).foretold(self.given, self.panel, Swapped(pair, chance))
        np.testing.assert_allclose(found, self.given.predictions.probs[:, [1, 0, 2]], rtol=1e-5)

    def test_reliance_is_its_weight_on_instances_it_was_not_trained_on_where_that_is_known(self):
        memory = Memory(0.1, 0.0, 0.9, 1.0)
        assert Witness(self.weights, memory).reliance == pytest.approx(0.2)
        assert Witness(self.weights, memory, self.on_unseen).reliance == pytest.approx(0.9)

    def test_where_it_contradicts_the_label_it_has_seen_other_weights_hold(self):
        hard = self.probs.argmax(axis=1)
        labels = np.where(np.arange(6) < 2, (hard + 1) % 3, hard)
        given = Given(Predictions(self.probs, labels=labels))
        found = Witness(self.weights, contradicting=self.on_unseen).foretold(given, self.panel, None)
        parts = [self.expert, given.predictions.probs]
        expected = pool(parts, self.weights)
        expected[:2] = pool(parts, self.on_unseen)[:2]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
