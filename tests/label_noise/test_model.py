"""What is known of the noise: two ends, everything between them, and what checked labels say of it."""

from dataclasses import replace

import numpy as np
import pytest

from truelabel.label_noise import LabelNoise, NoiseSettings
from truelabel.label_noise.model import at_rate, contradicted
from truelabel.label_noise.swaps import Swapped
from truelabel.label_noise.transition import noise_rate

C = 4


def symmetric(rate: float, c: int = C) -> np.ndarray:
    return (1 - rate * c / (c - 1)) * np.eye(c) + rate / (c - 1)


def between(low: float, high: float, **settings) -> LabelNoise:
    """Noise of which nothing is known but that its rate is between these two."""
    shares = np.full(C, 1 / C)
    return LabelNoise(symmetric(low), symmetric(high), shares, np.zeros((C, C)), settings=NoiseSettings(**settings))


def looked_at(n: int, wrong: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """True classes and labels, of which exactly this share is wrong."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % C
    moved = rng.permutation(n) < round(wrong * n)
    return truth, np.where(moved, (truth + rng.integers(1, C, size=n)) % C, truth)


def width(noise: LabelNoise) -> float:
    low, high = noise.interval()
    return high - low


class TestWeights:
    def test_equal_weights_are_no_weights(self):
        truth, labels = looked_at(80, 0.25)
        plain, weighted = (between(0, 0.4).check(truth, labels, w) for w in (None, np.full(80, 7.0)))
        np.testing.assert_allclose(weighted.checked, plain.checked)

    def test_instances_that_were_likelier_to_be_drawn_count_less(self):
        """Half of all labels are wrong among 100 suspects and none among 900 others; 50 of each are checked."""
        truth = np.zeros(100, dtype=int)
        labels = np.repeat([0, 1], [75, 25])  # 50 others and 25 suspects are right
        weights = np.repeat([18.0, 2.0], 50)
        checked = between(0, 0.6).check(truth, labels, weights)
        share = checked.checked[0, 1] / checked.checked.sum()
        assert share == pytest.approx(0.05)  # 50 of 1,000, by hand
        assert checked.checked.sum() == pytest.approx(1_000**2 / (50 * 18**2 + 50 * 2**2))
        unweighted = between(0, 0.6).check(truth, labels)
        assert unweighted.checked[0, 1] / unweighted.checked.sum() == pytest.approx(0.25)


class TestEvidence:
    @pytest.mark.parametrize(("by_form", "evidence"), [(True, "its form"), (False, "the surest instances")])
    def test_the_interval_starts_at_0_where_nothing_is_proven(self, by_form, evidence):
        noise = replace(between(0.2, 0.4), by_form=by_form)
        assert noise.evidence == evidence
        assert noise.is_proven is by_form
        assert (noise.interval()[0] > 0) is by_form

    def test_checked_labels_prove_a_rate_but_not_what_each_label_is(self):
        truth, labels = looked_at(100, 0.3)
        noise = replace(between(0, 0.4), by_form=False).check(truth, labels)
        assert noise.is_proven
        assert not noise.shows_in_labels


class TestBeforeAnythingIsChecked:
    def test_t_is_halfway_between_the_ends(self):
        noise = between(0.0, 0.4)
        np.testing.assert_allclose(noise.transition, symmetric(0.2), atol=1e-9)
        assert noise.rate == pytest.approx(0.2)

    def test_the_interval_covers_both_ends(self):
        low, high = between(0.1, 0.4).interval()
        assert low < 0.12
        assert high > 0.38

    def test_it_is_wider_at_a_higher_level(self):
        noise = between(0.1, 0.4)
        assert noise.interval(0.5)[0] > noise.interval(0.9)[0]
        assert noise.interval(0.5)[1] < noise.interval(0.9)[1]

    def test_where_the_ends_are_close_it_is_narrower(self):
        assert width(between(0.2, 0.25)) < 0.7 * width(between(0.0, 0.6))

    def test_what_is_proven_is_the_lower_end(self):
        np.testing.assert_array_equal(between(0.1, 0.4).proven, symmetric(0.1))

    def test_draws_have_the_mean_and_the_quantiles_that_are_reported(self):
        noise = between(0.1, 0.4)
        draws = noise.rates(np.random.default_rng(5))
        assert len(draws) == noise.settings.draws
        assert draws.mean() == pytest.approx(noise.rate, abs=0.01)
        np.testing.assert_allclose(np.quantile(draws, [0.05, 0.95]), noise.interval(), atol=0.02)

    def test_where_neither_end_is_likelier_than_the_rest_the_middle_has_more(self):
        """With `at_an_end` of 0 all places are alike, with 1 there would be nothing between the ends."""
        even, ends = (between(0.0, 0.4, at_an_end=share).rates(np.random.default_rng(0)) for share in (0.0, 0.99))
        inside = [np.mean((draws > 0.15) & (draws < 0.25)) for draws in (even, ends)]
        assert inside[0] > inside[1] + 0.1


class TestChecking:
    def test_two_hundred_labels_settle_where_between_the_ends_it_is(self):
        before = between(0.0, 0.4)
        after = before.check(*looked_at(200, 0.3))
        assert after.rate == pytest.approx(0.3, abs=0.03)
        low, high = after.interval()
        assert low < 0.3 < high
        assert width(after) < 0.6 * width(before)

    @pytest.mark.parametrize("wrong", [0.0, 0.15, 0.4, 0.6])
    def test_the_more_are_checked_the_closer_it_comes(self, wrong):
        """Even beyond the ends."""
        after = [between(0.1, 0.4).check(*looked_at(n, wrong)) for n in (40, 400, 4000)]
        assert abs(after[2].rate - wrong) < 0.01
        assert abs(after[1].rate - wrong) < 0.05
        assert width(after[0]) > width(after[1]) > width(after[2])

    def test_a_few_move_it_a_little(self):
        noise = between(0.0, 0.4)
        right, wrong = (noise.check(*looked_at(8, share)).rate for share in (0.0, 1.0))
        assert right < noise.rate < wrong

    def test_labels_that_nobody_looked_at_do_not_count(self):
        truth, labels = looked_at(400, 0.3)
        some = np.where(np.arange(400) < 200, truth, -1)
        np.testing.assert_array_equal(
            between(0.0, 0.4).check(some, labels).checked, between(0.0, 0.4).check(truth[:200], labels[:200]).checked
        )
        none = between(0.0, 0.4).check(np.full(400, -1), labels)
        np.testing.assert_array_equal(none.transition, between(0.0, 0.4).transition)

    def test_checks_add_up(self):
        truth, labels = looked_at(200, 0.3)
        once = between(0.0, 0.4).check(truth, labels)
        twice = between(0.0, 0.4).check(truth[:90], labels[:90]).check(truth[90:], labels[90:])
        np.testing.assert_allclose(once.transition, twice.transition)
        assert once.checked.sum() == 200

    def test_counts_are_by_true_class_and_label(self):
        noise = between(0.0, 0.4).check(np.array([0, 0, 2, -1]), np.array([0, 1, 3, 3]))
        expected = np.zeros((C, C))
        expected[[0, 0, 2], [0, 1, 3]] = 1
        np.testing.assert_array_equal(noise.checked, expected)

    def test_the_way_that_labels_go_is_learned(self):
        truth = np.arange(400) % C
        labels = np.where(np.arange(400) % 3 == 0, (truth + 1) % C, truth)
        found = between(0.0, 0.4).check(truth, labels).transition
        np.testing.assert_allclose(np.diag(found), 2 / 3, atol=0.05)
        assert all(found[y, (y + 1) % C] > 5 * found[y, (y + 2) % C] for y in range(C))

    def test_what_is_proven_is_then_more_than_the_lower_end(self):
        proven = between(0.0, 0.4).check(*looked_at(400, 0.3)).proven
        assert 0 < noise_rate(proven, np.full(C, 1 / C)) <= 0.31
        np.testing.assert_allclose(proven.sum(axis=1), 1)

    @pytest.mark.parametrize("by_form", [False, True])
    @pytest.mark.parametrize("wrong", [0.05, 0.3, 0.6])
    def test_the_interval_holds_the_truth_whatever_was_believed(self, wrong, by_form):
        """A hundred of 5,000 labels, 400 times; where the form proves noise, what it says is right."""
        rng = np.random.default_rng(0)
        truth, labels = looked_at(5_000, wrong)
        noise = between(0.8 * wrong, 1.2 * wrong) if by_form else replace(between(0.0, 0.1), by_form=False)
        held = 0
        for _ in range(400):
            trusted = np.full(5_000, -1)
            rows = rng.choice(5_000, 100, replace=False)
            trusted[rows] = truth[rows]
            low, high = noise.check(trusted, labels).interval()
            held += low <= wrong <= high
        assert held >= 0.86 * 400

    def test_t_has_the_share_of_wrong_labels_that_was_found(self):
        truth, labels = looked_at(100, 0.6)
        noise = replace(between(0.0, 0.1), by_form=False).check(truth, labels)
        assert noise.rate == pytest.approx(60.5 / 101)
        assert noise_rate(noise.transition, np.full(C, 1 / C)) == pytest.approx(noise.rate, abs=0.01)
        np.testing.assert_allclose(noise.transition.sum(axis=1), 1)

    def test_labels_that_are_all_right_prove_no_noise(self):
        noise = replace(between(0.0, 0.1), by_form=False).check(*looked_at(100, 0.0))
        assert not noise.is_proven
        assert noise.interval()[0] == 0
        assert noise.rate < 0.01

    def test_a_class_that_holds_most_of_a_random_sample_holds_most_of_the_data(self):
        """By class shares that were estimated it would be a quarter; nine labels in ten of that class are wrong."""
        truth = np.repeat([0, 1, 2, 3], [700, 100, 100, 100])
        labels = truth.copy()
        labels[:630] = 1
        assert between(0.0, 0.4).check(truth, labels).rate == pytest.approx(0.63, abs=0.05)


class TestKnown:
    def test_it_is_not_in_question(self):
        noise = LabelNoise.known(symmetric(0.3), np.full(C, 1 / C))
        assert noise.rate == pytest.approx(0.3)
        assert noise.interval() == pytest.approx((0.3, 0.3))
        for matrix in (noise.transition, noise.proven):
            np.testing.assert_allclose(matrix, symmetric(0.3))

    def test_neither_checks_nor_another_end_move_it(self):
        noise = LabelNoise.known(symmetric(0.3), np.full(C, 1 / C))
        assert noise.with_upper(symmetric(0.5)) is noise
        checked = noise.check(*looked_at(400, 0.0))
        np.testing.assert_allclose(checked.transition, symmetric(0.3))
        assert checked.rate == pytest.approx(0.3)


class TestAtRate:
    def test_odds_of_a_wrong_label_are_multiplied_by_one_number(self):
        transition = np.array([[0.9, 0.1, 0.0], [0.1, 0.5, 0.4], [0.0, 0.0, 1.0]])
        shares = np.array([0.2, 0.5, 0.3])
        found = at_rate(transition, shares, 0.4)
        odds = (1 - np.diag(found)) / np.diag(found)
        assert noise_rate(found, shares) == pytest.approx(0.4)
        np.testing.assert_allclose(odds[0] / (1 / 9), odds[1])
        assert odds[2] == pytest.approx(0, abs=1e-9)
        assert found[1, 2] == pytest.approx(4 * found[1, 0])

    def test_no_noise_has_no_odds_to_multiply(self):
        np.testing.assert_array_equal(at_rate(np.eye(3), np.full(3, 1 / 3), 0.2), np.eye(3))


class TestAnotherUpperEnd:
    def test_it_is_taken(self):
        noise = between(0.1, 0.4).with_upper(symmetric(0.2))
        np.testing.assert_array_equal(noise.upper, symmetric(0.2))
        assert noise.rate == pytest.approx(0.125)  # half of the way, if the half that is explained is not all

    def test_it_is_not_below_the_lower_one(self):
        noise = between(0.1, 0.4)
        assert noise.with_upper(symmetric(0.05)) is noise


class TestContradicted:
    """Three sure instances of class 0 with the labels 0, 0, 1; two of class 1 with 1 and 2; none of class 2."""

    clean = np.array([[0.8, 0.1, 0.1]] * 3 + [[0.2, 0.7, 0.1]] * 2, dtype=np.float32)
    labels = np.array([0, 0, 1, 1, 2])

    def test_it_counts_every_label_that_is_not_the_likeliest_class_both_ways(self):
        joint = np.array([[2 + 2, 1, 0], [1, 1 + 1, 1], [0, 1, 0]]) + np.eye(3) + 1 / 3
        np.testing.assert_allclose(contradicted(self.clean, self.labels), joint / joint.sum(axis=1, keepdims=True))

    def test_classes_keep_their_shares(self):
        """As joint counts it is symmetric: what leaves a class comes back from others."""
        rng = np.random.default_rng(0)
        clean = rng.dirichlet(np.ones(C), size=500).astype(np.float32)
        found = contradicted(clean, rng.choice(C, 500, p=[0.7, 0.1, 0.1, 0.1]))
        values, vectors = np.linalg.eig(found.T)
        shares = np.real(vectors[:, np.argmax(np.real(values))])
        joint = (shares / shares.sum())[:, None] * found
        np.testing.assert_allclose(joint, joint.T, atol=1e-9)

    def test_a_label_that_was_probably_swapped_contradicts_nobody(self):
        """The one label 1 among those of class 0 is swapped for sure."""
        chance = np.array([0, 0, 1, 0, 0], dtype=np.float32)
        found = contradicted(self.clean, self.labels, Swapped(np.tile([0, 1], (5, 1)), chance))
        joint = np.array([[3 + 3, 0, 0], [0, 1 + 1, 1], [0, 1, 0]]) + np.eye(3) + 1 / 3
        np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), atol=1e-6)


class TestEstimate:
    @staticmethod
    def sure(n: int, rate: float, seed: int = 0):
        """Classes that can be told, and labels that are wrong at this rate."""
        rng = np.random.default_rng(seed)
        truth = rng.integers(C, size=n)
        foretold = (0.97 * np.eye(C) + 0.0075)[truth] @ symmetric(rate)
        labels = np.where(rng.random(n) < rate, (truth + rng.integers(1, C, size=n)) % C, truth)
        return truth, foretold.astype(np.float32), labels

    def test_where_classes_can_be_told_the_upper_end_is_the_noise_and_the_lower_one_not_above_it(self):
        _, foretold, labels = self.sure(4000, 0.3)
        noise = LabelNoise.estimate(foretold, labels, np.random.default_rng(0), rows=np.arange(4000))
        np.testing.assert_allclose(noise.upper, symmetric(0.3), atol=0.04)
        assert noise_rate(noise.lower, noise.shares) < 0.34
        np.testing.assert_allclose(noise.shares, 1 / C, atol=0.03)

    def test_only_the_given_rows_count(self):
        _, foretold, labels = self.sure(4000, 0.3)
        labels[2000:] = foretold[2000:].argmax(axis=1)
        noise = LabelNoise.estimate(foretold, labels, np.random.default_rng(0), rows=np.arange(2000))
        assert noise_rate(noise.upper, noise.shares) == pytest.approx(0.3, abs=0.04)

    def test_trusted_labels_are_checked(self):
        """Of labels that can hardly be foretold, 40 % are wrong; two hundred that somebody looked at say so."""
        rng = np.random.default_rng(0)
        truth, _, labels = self.sure(4000, 0.4)
        foretold = (0.1 * np.eye(C)[truth] + 0.9 * rng.dirichlet(np.ones(C), size=4000)).astype(np.float32)
        trusted = np.where(rng.permutation(4000) < 200, truth, -1)
        asked = {"rows": np.arange(4000), "rng": rng}
        told = LabelNoise.estimate(foretold, labels, trusted=trusted, **asked)
        assert told.checked.sum() == 200
        assert told.rate == pytest.approx(np.mean((labels != truth)[trusted >= 0]), abs=0.05)
        assert width(told) < width(LabelNoise.estimate(foretold, labels, **asked))

    def test_labels_that_are_swapped_are_not_counted_as_wrong(self):
        truth, _, _ = self.sure(3000, 0.0)
        clean = (0.7 * np.eye(C) + 0.2 * np.roll(np.eye(C), 1, axis=1) + 0.025)[truth].astype(np.float32)
        pair = np.stack([truth, (truth + 1) % C], axis=1)
        rng = np.random.default_rng(1)
        drawn = (rng.random((3000, 1)) > clean.cumsum(axis=1)).sum(axis=1).clip(max=C - 1)
        swapped = Swapped(pair, np.full(3000, 0.4, dtype=np.float32))
        other, chance = swapped.before(drawn)
        labels = np.where(rng.random(3000) < chance, other, drawn)
        rows = np.arange(3000)
        heeded = LabelNoise.estimate(clean, labels, rng, rows=rows, swapped=swapped)
        ignored = LabelNoise.estimate(clean, labels, rng, rows=rows)
        assert noise_rate(heeded.upper, heeded.shares) < noise_rate(ignored.upper, ignored.shares) - 0.1
