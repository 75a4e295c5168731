"""Labels that are swapped between the two likeliest classes, the more the closer these are."""

import numpy as np
import pytest
import torch
from scipy.special import expit, softmax
from sklearn.datasets import load_digits

from truelabel import NPC, Predictions
from truelabel.label_noise.likelihood import likeliest_transition
from truelabel.label_noise.surest import SurestSettings, counted_on_surest
from truelabel.label_noise.swap_tests import flattened_odds, proven, suspected
from truelabel.label_noise.swaps import Swapped, Swaps
from truelabel.label_noise.transition import given_label, over_all
from truelabel.pool import logs

PROBS = np.array([[0.6, 0.3, 0.1], [0.05, 0.05, 0.9], [0.2, 0.5, 0.3]], dtype=np.float32)
PAIRS = np.array([[0, 1], [2, 0], [1, 2]])


def learned(*weights: float) -> Swaps:
    swaps = Swaps()
    with torch.no_grad():
        swaps.weights.copy_(torch.tensor(weights))
    return swaps


def at_boundary(n: int, rate: float, seed: int = 0, c: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points in the plane, the nearest centre as their class, and the `rate` nearest to a boundary with the next."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(c) / c
    x = rng.uniform(-2, 2, size=(n, 2))
    scores = x @ np.stack([np.cos(angle), np.sin(angle)])
    order = scores.argsort(axis=1)[:, ::-1]
    margin = np.diff(-np.sort(-scores, axis=1), axis=1)[:, 0]
    close = margin >= np.quantile(margin, 1 - rate)
    return x.astype(np.float32), order[:, 0], np.where(close, order[:, 1], order[:, 0])


class TestChances:
    @pytest.mark.parametrize("weights", [(0.5, 0.3, -1.0), (-1.0, 2.0, 0.5)])
    def test_they_are_a_logistic_function_of_the_log_odds(self, weights):
        at_zero, slope, bend = weights
        margin = np.linspace(0, 6, 13)
        expected = expit(at_zero + slope * margin - np.log1p(np.exp(bend)) * margin**2)
        found = learned(*weights).chance(torch.tensor(margin, dtype=torch.float32)).detach()
        np.testing.assert_allclose(found, expected, atol=1e-5)

    def test_they_vanish_far_from_a_boundary_however_steep_they_begin(self):
        steep, margins = learned(3.0, 5.0, 0.0), torch.tensor([1.0, 9.0, 20.0, 1e4])
        chances = steep.chance(margins).detach()
        assert chances[0] > 0.99
        assert (chances[1:] < 1e-3).all()
        assert chances[3] == chances[2]

    def test_the_two_likeliest_classes_give_each_other_that_share_of_their_labels(self):
        swaps = learned(0.0, 0.0, -30.0)  # even chances everywhere
        even = swaps(torch.from_numpy(PROBS).log()).exp().detach().numpy()
        np.testing.assert_allclose(even, [[0.45, 0.45, 0.1], [0.475, 0.05, 0.475], [0.2, 0.4, 0.4]], atol=1e-5)

    def test_the_same_comes_from_the_network_and_from_arrays(self):
        swaps = learned(0.4, 0.7, -1.0)
        by_network = swaps(torch.from_numpy(PROBS).log()).exp().detach()
        found = swaps.at(PROBS)
        np.testing.assert_allclose(found.exchange(PROBS), by_network, atol=1e-6)
        np.testing.assert_array_equal(found.pair[[0, 2]], PAIRS[[0, 2]])
        assert found.pair[1, 0] == 2


class TestExchange:
    chances = np.array([0.25, 0.0, 1.0], dtype=np.float32)

    def test_only_the_pair_changes_and_certain_swaps_undo_themselves(self):
        swapped = Swapped(PAIRS, self.chances)
        once = swapped.exchange(PROBS)
        np.testing.assert_allclose(once, [[0.525, 0.375, 0.1], PROBS[1], [0.2, 0.3, 0.5]], atol=1e-6)
        np.testing.assert_allclose(swapped.exchange(once)[1:], PROBS[1:], atol=1e-6)
        assert PROBS[2, 1] == np.float32(0.5)

    def test_a_label_was_the_other_of_the_pair_before(self):
        other, chance = Swapped(PAIRS, self.chances).before(np.array([1, 1, 1]))
        assert other.tolist() == [0, 1, 2]
        assert chance.tolist() == [0.25, 0, 1]

    def test_rows_can_be_picked(self):
        picked = Swapped(PAIRS, self.chances)[np.array([2, 0])]
        assert picked.pair.tolist() == [[1, 2], [0, 1]]
        assert picked.chance.tolist() == [1, 0.25]

    def test_over_all_instances_it_is_a_transition_matrix(self):
        swapped = Swapped(PAIRS, self.chances)
        found = swapped.matrix(PROBS)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        mass = PROBS.sum(axis=0)
        np.testing.assert_allclose(mass @ found, swapped.exchange(PROBS).sum(axis=0), atol=1e-6)
        assert found[0, 1] == pytest.approx(0.25 * 0.6 / mass[0])
        assert swapped.share(PROBS) == pytest.approx((0.25 * 0.9 + 0.8) / 3)
        np.testing.assert_allclose(over_all(np.eye(3), PROBS, swapped), found)
        assert over_all(found, PROBS, None) is found


class TestBayesRule:
    transition = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.0, 0.1, 0.9]])

    def test_a_label_is_heard_through_the_swap_and_t(self):
        """p(ỹ | y) sums over what the label was before: itself, or the other of the pair."""
        swapped = Swapped(PAIRS[:1], np.array([0.25], dtype=np.float32))
        found = given_label(PROBS[:1], self.transition, np.array([1]), swapped)
        by_hand = PROBS[0] * (0.75 * self.transition[:, 1] + 0.25 * self.transition[:, 0])
        np.testing.assert_allclose(found[0], by_hand / by_hand.sum(), rtol=1e-5)

    def test_t_is_counted_on_labels_as_they_were_before_swaps(self):
        """Sure instances of class 0, one label in four swapped with 1: T has no noise, but over all it has."""
        believed = np.tile(np.array([0.9, 0.1, 0.0], dtype=np.float32), (400, 1))
        labels = np.repeat([0, 1], [300, 100])
        swapped = Swapped(np.tile([0, 1], (400, 1)), np.full(400, 0.25, dtype=np.float32))
        plain = counted_on_surest(believed, labels, SurestSettings())
        found = counted_on_surest(believed, labels, SurestSettings(), swapped)
        # Bayes' rule: a label 1 was a 0 with probability 0.25 · 0.9 / (0.25 · 0.9 + 0.75 · 0.1), a label 0 was a 1 ...
        stayed = 0.75 * 0.9 / (0.75 * 0.9 + 0.25 * 0.1)
        was_zero = 0.25 * 0.9 / (0.25 * 0.9 + 0.75 * 0.1)
        assert plain[0, 0] == pytest.approx(0.75, abs=0.01)
        assert found[0, 0] == pytest.approx((300 * stayed + 100 * was_zero) / 400, abs=0.01)


class TestTheLikeliestTransition:
    def test_it_is_the_one_that_labels_were_drawn_with(self):
        rng = np.random.default_rng(0)
        transition = np.array([[0.7, 0.3, 0.0], [0.0, 0.9, 0.1], [0.2, 0.2, 0.6]])
        probs = softmax(3 * rng.normal(size=(20_000, 3)), axis=1).astype(np.float32)
        rows = probs @ transition
        labels = (rng.random((20_000, 1)) > rows.cumsum(axis=1)).sum(axis=1).clip(max=2)
        np.testing.assert_allclose(likeliest_transition(probs, labels), transition, atol=0.03)

    def test_a_label_that_does_not_occur_is_no_trouble(self):
        found = likeliest_transition(PROBS, np.array([0, 0, 1]))
        assert np.isfinite(found).all()
        assert (found[:, 2] == 0).all()


class TestProof:
    rng = np.random.default_rng(0)
    probs = softmax(2 * rng.normal(size=(4000, 3)), axis=1).astype(np.float32)

    def drawn(self, rows: np.ndarray) -> np.ndarray:
        draws = np.random.default_rng(1).random((len(rows), 1))
        return (draws > rows.cumsum(axis=1)).sum(axis=1).clip(max=rows.shape[1] - 1)

    @pytest.mark.parametrize("at_zero", [2.0, -0.2])
    def test_many_labels_prove_it(self, at_zero):
        swaps = learned(at_zero, 0.0, -1.0)
        labels = self.drawn(swaps.at(self.probs).exchange(self.probs))
        assert suspected(torch.from_numpy(self.probs).log(), torch.from_numpy(labels))
        assert proven(swaps, self.probs, self.probs, labels)

    @pytest.mark.parametrize(("at_zero", "few", "expected"), [(2.0, 100, True), (-0.2, 200, False)])
    def test_few_labels_prove_it_where_more_are_swapped_than_not(self, at_zero, few, expected):
        """Both gain between two and three standard errors; below one half it may be something else than swaps."""
        swaps = learned(at_zero, 0.0, -1.0)
        through = swaps.at(self.probs).exchange(self.probs)
        labels = self.drawn(through)[:few]
        gain = (logs(through) - logs(self.probs))[np.arange(few), labels]
        assert 2 < gain.mean() / gain.std() * np.sqrt(few) < 3
        assert proven(swaps, self.probs[:few], self.probs[:few], labels) is expected

    def test_heads_that_do_as_well_without_swaps_are_believed(self):
        swaps = learned(2.0, 0.0, -1.0)
        through = swaps.at(self.probs).exchange(self.probs)
        assert not proven(swaps, self.probs, through, self.drawn(through))

    def test_heads_that_do_as_well_with_a_transition_matrix_are_believed(self):
        """Two in five of two classes have each other's label, near a boundary and far from it."""
        scores = 6 * np.random.default_rng(0).normal(size=(4000, 3)) - [0, 0, 6]
        probs = softmax(scores, axis=1).astype(np.float32)
        labels = self.drawn(probs @ np.array([[0.6, 0.4, 0.0], [0.4, 0.6, 0.0], [0.0, 0.0, 1.0]]))
        swaps = Swaps()
        swaps.fit(torch.from_numpy(probs).log(), torch.from_numpy(labels))
        swapped = swaps.at(probs)
        gain = (logs(swapped.exchange(probs)) - logs(probs))[np.arange(4000), labels]
        assert gain.mean() / gain.std() * np.sqrt(4000) > 3
        assert np.mean(swapped.chance > 0.5) < 0.01
        assert not proven(swaps, probs, probs, labels)

    def test_labels_that_are_not_swapped_are_not_suspected(self):
        assert not suspected(torch.from_numpy(self.probs).log(), torch.from_numpy(self.drawn(self.probs)))

    def test_labels_that_a_transition_matrix_explains_do_not_either(self):
        """Three in ten of one class have the label of the next: swaps explain that well, T better."""
        rng = np.random.default_rng(0)
        probs = softmax(4 * rng.normal(size=(4000, 3)), axis=1).astype(np.float32)
        rows = probs @ np.array([[0.7, 0.3, 0.0], [0.0, 0.7, 0.3], [0.0, 0.0, 1.0]])
        labels = (rng.random((4000, 1)) > rows.cumsum(axis=1)).sum(axis=1).clip(max=2)
        assert not suspected(torch.from_numpy(probs).log(), torch.from_numpy(labels))

    def test_two_classes_whose_order_heads_do_not_know_are_not_swapped(self):
        """Two in five of each class have the label of the next, and the odds of the two say nothing."""
        rng = np.random.default_rng(0)
        n, c = 3000, 6
        rows, truth, first = np.arange(n), rng.integers(0, c, n), expit(rng.normal(size=n))
        probs = np.full((n, c), 0.05, dtype=np.float32)
        probs[rows, truth], probs[rows, (truth + 1) % c] = 0.8 * first, 0.8 * (1 - first)
        drawn = rng.random(n)
        moved = np.select([drawn < 0.48, drawn < 0.8], [0, 1], rng.integers(2, c, n))
        assert not suspected(torch.from_numpy(probs).log(), torch.from_numpy((truth + moved) % c))

    def test_odds_are_flattened_as_far_as_the_labels_are(self):
        """Labels drawn with the square root of the odds of the two likeliest; the third class stays as it is."""
        flat = self.probs.copy()
        pair = np.argsort(flat, axis=1)[:, 1:]
        both = np.take_along_axis(flat, pair, axis=1)
        shares = np.sqrt(both) / np.sqrt(both).sum(axis=1, keepdims=True)
        np.put_along_axis(flat, pair, both.sum(axis=1, keepdims=True) * shares, axis=1)
        np.testing.assert_allclose(flattened_odds(self.probs, self.drawn(flat)), flat, atol=0.02)


@pytest.mark.parametrize("seed", [0, 1])
def test_labels_swapped_at_the_boundary_are_seen_through(seed):
    """Two labels in five are wrong, all of them foreseeable, and the classifier has learned every one."""
    x, truth, noisy = at_boundary(3000, 0.4, seed)
    said = Predictions(0.01 + 0.97 * np.eye(3)[noisy], x, labels=noisy)
    npc = NPC(random_state=seed, progress=False).fit(said)
    assert (noisy == truth).mean() == pytest.approx(0.6, abs=0.001)
    assert (npc.predict(said) == truth).mean() > 0.9
    assert npc.report_.swapped == pytest.approx(0.4, abs=0.12)
    assert npc.report_.noise_rate == pytest.approx(0.4, abs=0.12)
    assert "swapped near a class boundary" in str(npc.report_)


def test_where_none_is_swapped_none_is_found(problem):
    made = problem(n=400)
    npc = NPC(random_state=0, progress=False).fit(made.said)
    assert npc.report_.swapped == 0
    assert "swapped" not in str(npc.report_)


@pytest.mark.parametrize("seed", [0, 1])
def test_noise_that_goes_one_way_is_not_taken_for_swaps(seed):
    """Two in five of each digit have the label of the next: the two likeliest classes are hard to tell apart."""
    x, truth = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(truth))[:1200]
    noisy = np.where(rng.random(1200) < 0.4, (truth[rows] + 1) % 10, truth[rows])
    npc = NPC(random_state=seed, progress=False).fit(Predictions(0.01 + 0.9 * np.eye(10)[noisy], x[rows], labels=noisy))
    assert npc.report_.swapped == 0
    assert npc.report_.noise_rate == pytest.approx(0.4, abs=0.08)
