"""The least noise there is, by what experts foretell of labels and what these are."""

import numpy as np
import pytest
import torch
from scipy.special import softmax

from truelabel.experts.heads import out_of_fold
from truelabel.label_noise.likelihood import Likeliest, LikelihoodSettings, least_noise
from truelabel.label_noise.swaps import Swapped
from truelabel.label_noise.transition import noise_rate
from truelabel.progress import Progress
from truelabel.scale import Scale, moments

C = 4
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
ONE_NOISY = np.eye(C)
ONE_NOISY[1] = [0.0, 0.6, 0.4, 0.0]


def symmetric(rate: float, c: int = C) -> np.ndarray:
    return (1 - rate * c / (c - 1)) * np.eye(c) + rate / (c - 1)


def drawn(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random((len(rows), 1)) > rows.cumsum(axis=1)).sum(axis=1).clip(max=rows.shape[1] - 1)


def gaussians(transition: np.ndarray, apart: float, n: int = 3000, seed: int = 0):
    """Gaussians of deviation 1 at the corners of a square so far apart; labels through T; and p(y | x) T, exactly."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(C, size=n)
    x = apart * CORNERS[truth] + rng.normal(size=(n, 2))
    clean = softmax(-np.square(x[:, None] - apart * CORNERS).sum(axis=2) / 2, axis=1)
    return x.astype(np.float32), drawn(transition[truth], rng), (clean @ transition).astype(np.float32)


def by_heads(x: np.ndarray, labels: np.ndarray, c: int = C) -> np.ndarray:
    """What heads foretell that have not seen the label."""
    torch.manual_seed(0)
    rows, scale = np.arange(len(x)), Scale("whole", *moments(x))
    device = torch.device("cpu")
    return out_of_fold(x, scale, labels, rows, c, device=device, seed=0, progress=Progress(False)).said


def found(foretold, labels, seed=0, swapped=None, **settings) -> Likeliest:
    return least_noise(foretold, labels, np.random.default_rng(seed), LikelihoodSettings(**settings), swapped)


def rate(one: Likeliest) -> float:
    return noise_rate(one.transition, one.shares)


class TestOneRate:
    @pytest.mark.parametrize("noise", [0.15, 0.3, 0.5])
    @pytest.mark.parametrize(("apart", "known"), [(2.0, 0.71), (3.0, 0.87)])
    def test_it_is_found_where_classes_overlap(self, noise, apart, known):
        """`known` is how often the best guess is right."""
        x, labels, ideal = gaussians(symmetric(noise), apart)
        truth = gaussians(np.eye(C), apart)[1]
        assert (ideal.argmax(axis=1) == truth).mean() == pytest.approx(known, abs=0.03)
        assert rate(found(by_heads(x, labels), labels)) == pytest.approx(noise, abs=0.06)

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_what_is_foretold_without_error_leaves_open_how_much_less_it_is(self, seed):
        """p(ỹ | x) makes labels as likely as they can be, through whichever T; more than there is, none explains."""
        _, labels, ideal = gaussians(symmetric(0.3), 3.0, seed=seed)
        assert rate(found(ideal, labels)) < 0.36

    def test_it_is_found_of_two_classes(self):
        rng = np.random.default_rng(0)
        truth = rng.integers(2, size=3000)
        x = (3 * truth + rng.normal(size=3000))[:, None].astype(np.float32)
        labels = np.where(rng.random(3000) < 0.25, 1 - truth, truth)
        assert rate(found(by_heads(x, labels, 2), labels)) == pytest.approx(0.25, abs=0.05)

    def test_class_shares_are_nearer_to_those_of_the_true_classes_than_the_labels_are(self):
        rng = np.random.default_rng(0)
        truth = rng.permutation(np.repeat([0, 1, 2, 3], [500, 1000, 1500, 3000]))
        transition = symmetric(0.3)
        labels = drawn(transition[truth], rng)
        shares = found(((0.95 * np.eye(C)[truth] + 0.0125) @ transition).astype(np.float32), labels).shares
        before, after = (np.abs(p - np.bincount(truth) / 6000).max() for p in (np.bincount(labels) / 6000, shares))
        assert after < 0.5 * before


class TestNoNoise:
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_overlap_alone_is_hardly_any_noise(self, seed):
        """One in eight is taken for another class, the surest of a class for none."""
        x, labels, _ = gaussians(np.eye(C), 3.0, seed=seed)
        assert rate(found(by_heads(x, labels), labels)) < 0.04

    @pytest.mark.parametrize(
        "apart",
        [
            pytest.param(
                apart,
                marks=pytest.mark.xfail(
                    reason="even the surest of every class are often of another, and count as noise"
                ),
            )
            for apart in (1.0, 2.0)
        ],
    )
    def test_overlap_of_all_classes_is_hardly_any_noise_either(self, apart):
        x, labels, _ = gaussians(np.eye(C), apart)
        assert rate(found(by_heads(x, labels), labels)) < 0.04

    def test_classes_whose_features_are_weak_are_not_taken_for_noisy(self):
        """Two of four classes lie in each other: their labels are right, however few are foretold."""
        rng = np.random.default_rng(0)
        truth = rng.integers(C, size=3000)
        places = np.array([0.0, 0.8, 20.0, 40.0])
        x = (places[truth] + rng.normal(size=3000))[:, None]
        foretold = softmax(-np.square(x - places) / 2, axis=1).astype(np.float32)
        assert (foretold.argmax(axis=1) == truth)[truth < 2].mean() < 0.7
        assert rate(found(foretold, truth)) < 0.03

    @pytest.mark.parametrize("c", [2, 3, 10])
    def test_experts_that_foresee_nothing_show_none(self, c):
        rng = np.random.default_rng(0)
        labels = rng.integers(c, size=2000)
        foretold = softmax(0.05 * rng.normal(size=(2000, c)), axis=1).astype(np.float32)
        np.testing.assert_array_equal(found(foretold, labels).transition, np.eye(c))

    def test_experts_that_are_sure_and_wrong_show_none(self):
        """Heads that overfitted: what they say has nothing to do with the labels."""
        rng = np.random.default_rng(0)
        foretold = softmax(3 * rng.normal(size=(2000, C)), axis=1).astype(np.float32)
        np.testing.assert_array_equal(found(foretold, rng.integers(C, size=2000)).transition, np.eye(C))

    def test_nineteen_labels_are_too_few(self):
        _, labels, ideal = gaussians(symmetric(0.5), 20.0, n=19)
        np.testing.assert_array_equal(found(ideal, labels).transition, np.eye(C))


class TestAClassOfItsOwn:
    """One class has four labels in ten of another."""

    def test_it_is_found(self):
        x, labels, _ = gaussians(ONE_NOISY, 6.0)
        np.testing.assert_allclose(found(by_heads(x, labels), labels).transition, ONE_NOISY, atol=0.08)

    @pytest.mark.xfail(reason="with that row, labels that were not counted are no likelier than without")
    def test_it_is_found_where_classes_overlap(self):
        x, labels, _ = gaussians(ONE_NOISY, 3.0)
        np.testing.assert_allclose(found(by_heads(x, labels), labels).transition, ONE_NOISY, atol=0.1)

    def test_classes_are_tried_up_to_a_number(self):
        x, labels, _ = gaussians(ONE_NOISY, 6.0)
        foretold = by_heads(x, labels)
        assert rate(found(foretold, labels, classes=0)) < 0.02 < rate(found(foretold, labels, classes=1))


class TestWhatIsLookedAt:
    def test_so_many_rows_at_most(self, monkeypatch):
        sizes = []
        plain = Likeliest.log_likelihood
        monkeypatch.setattr(
            Likeliest, "log_likelihood", lambda one, *args: sizes.append(len(args[1])) or plain(one, *args)
        )
        _, labels, ideal = gaussians(symmetric(0.3), 3.0)
        found(ideal, labels, rows=1000, class_rows=1000)
        assert max(sizes) == 500

    def test_a_few_thousand_rows_are_enough(self):
        _, labels, ideal = gaussians(symmetric(0.3), 3.0)
        assert rate(found(ideal, labels, rows=2000)) == pytest.approx(0.3, abs=0.06)


class TestTheLikelihood:
    def test_it_is_that_of_the_labels_through_t_by_hand(self):
        transition = np.array([[0.8, 0.2], [0.4, 0.6]])
        foretold = (np.array([[0.7, 0.3], [0.1, 0.9]]) @ transition).astype(np.float32)
        got = Likeliest(transition, np.full(2, 0.5), 1.0).log_likelihood(foretold, np.array([0, 0]))
        np.testing.assert_allclose(got, np.log([0.7 * 0.8 + 0.3 * 0.4, 0.1 * 0.8 + 0.9 * 0.4]), atol=0.01)

    def test_sharpness_is_an_exponent_of_the_clean_probabilities(self):
        foretold = np.array([[0.8, 0.2]], dtype=np.float32)
        got = Likeliest(np.eye(2), np.full(2, 0.5), 2.0).log_likelihood(foretold, np.array([0]))
        np.testing.assert_allclose(got, np.log([0.64 / 0.68]), atol=1e-3)


def test_labels_that_are_swapped_are_no_noise_of_t():
    """A third of the labels is swapped between the two likeliest classes, and it is known where."""
    rng = np.random.default_rng(0)
    clean = softmax(4 * rng.normal(size=(6000, 3)), axis=1).astype(np.float32)
    pair = np.argsort(-clean, axis=1)[:, :2]
    truth = drawn(clean, rng)
    chance = np.full(6000, 0.33, dtype=np.float32)
    before = Swapped(pair, chance)
    other, how = before.before(truth)
    labels = np.where(rng.random(6000) < how, other, truth)
    assert np.mean(labels != truth) > 0.3
    assert rate(found(clean, labels, swapped=before)) < 0.05
    assert rate(found(before.exchange(clean), labels)) > 0.05
