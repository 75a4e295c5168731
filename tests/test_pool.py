import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import gmean

from truelabel.pool import clearly_above, likelihood_weights, logs, pool, pool_everywhere


def experts_and_labels(n: int = 1500, c: int = 3, seed: int = 0):
    """One good expert, one that is worse, one of pure noise, and labels drawn from the truth."""
    rng = np.random.default_rng(seed)
    truth = 1.5 * rng.normal(size=(n, c))
    labels = (rng.random((n, 1)) > softmax(truth, axis=1).cumsum(axis=1)).sum(axis=1).clip(max=c - 1)
    good = softmax(truth + 0.3 * rng.normal(size=(n, c)), axis=1).astype(np.float32)
    worse = softmax(truth + 1.5 * rng.normal(size=(n, c)), axis=1).astype(np.float32)
    noise = softmax(1.5 * rng.normal(size=(n, c)), axis=1).astype(np.float32)
    return [good, worse, noise], labels


def log_likelihood(experts, weights, labels) -> float:
    product = np.prod([p.astype(float) ** w for p, w in zip(experts, weights, strict=True)], axis=0)
    return float(np.log(product[np.arange(len(labels)), labels] / product.sum(axis=1)).mean())


def test_the_pool_is_the_normalised_product_of_powers():
    (good, worse, _), _ = experts_and_labels(50)
    expected = good**0.7 * worse**0.4
    np.testing.assert_allclose(pool([good, worse], [0.7, 0.4]), expected / expected.sum(1, keepdims=True), atol=1e-5)


def test_equal_weights_give_the_geometric_mean():
    experts, _ = experts_and_labels(50)
    mean = gmean(experts, axis=0)
    np.testing.assert_allclose(pool(experts, [1 / 3] * 3), mean / mean.sum(1, keepdims=True), atol=1e-5)


def test_no_weight_at_all_gives_an_even_belief():
    experts, _ = experts_and_labels(5)
    np.testing.assert_allclose(pool(experts, [0, 0, 0]), 1 / 3)


def test_an_expert_that_rules_a_class_out_can_be_outvoted():
    never, sure = np.array([[0.0, 1.0]], dtype=np.float32), np.array([[1 - 1e-9, 1e-9]], dtype=np.float32)
    assert logs(never)[0, 0] == pytest.approx(np.log(1e-4))
    assert pool([never, sure], [0.5, 1.0])[0, 0] > 0.99


@pytest.mark.parametrize("n", [7, 50, 51])
def test_the_pool_of_all_rows_does_not_depend_on_where_blocks_end(n, monkeypatch):
    monkeypatch.setattr("truelabel.pool.BLOCK", 10)
    (good, worse, _), _ = experts_and_labels(n)
    expected = good.astype(float) ** 0.7 * worse**0.4
    found = pool_everywhere([good.astype(np.float64), worse.astype(np.float16)], np.array([0.7, 0.4]))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected / expected.sum(1, keepdims=True), atol=1e-3)


def test_the_weights_are_the_best_of_a_grid():
    experts, labels = experts_and_labels()
    experts = experts[:2]
    weights = likelihood_weights(experts, labels)
    steps = np.linspace(0, 2, 41)
    scores = np.array([[log_likelihood(experts, (a, b), labels) for b in steps] for a in steps])
    best = np.unravel_index(scores.argmax(), scores.shape)
    np.testing.assert_allclose(weights, steps[list(best)], atol=0.05)
    assert log_likelihood(experts, weights, labels) >= scores.max() - 1e-6


def test_an_expert_of_pure_noise_gets_no_weight():
    experts, labels = experts_and_labels()
    weights = likelihood_weights(experts, labels)
    assert weights[2] < 0.05
    assert weights[0] > 0.6
    assert weights[0] > weights[1]


def test_weights_are_not_negative_even_for_an_expert_that_is_wrong_on_purpose():
    (good, worse, _), labels = experts_and_labels()
    against = softmax(-np.log(good), axis=1)
    weights = likelihood_weights([worse, against], labels)
    assert log_likelihood([worse, against], (0.5, -0.5), labels) > log_likelihood([worse], (0.5,), labels)
    assert weights[1] == 0


class TestThroughNoise:
    """Experts speak of the class, and labels come from it through a T, one for every instance if need be."""

    @staticmethod
    def labelled(noise: float, n: int = 6000):
        experts, truth = experts_and_labels(n)
        transition = (1 - 1.5 * noise) * np.eye(3) + noise / 2
        rng = np.random.default_rng(1)
        labels = np.where(rng.random(n) < noise, (truth + rng.integers(1, 3, size=n)) % 3, truth)
        return experts, truth, labels, transition[:, labels].T.astype(np.float32)

    def test_the_weights_are_those_that_the_true_classes_would_choose(self):
        experts, truth, labels, likelihood = self.labelled(0.3)
        ideal = likelihood_weights(experts, truth)
        through, as_they_are = likelihood_weights(experts, labels, likelihood), likelihood_weights(experts, labels)
        np.testing.assert_allclose(through, ideal, atol=0.15)
        assert as_they_are[0] < 0.7 * ideal[0]

    def test_they_are_the_best_of_a_grid(self):
        (good, worse, _), _, labels, likelihood = self.labelled(0.4, n=1500)
        experts, steps = [good, worse], np.linspace(0, 2, 41)

        def score(*weights):
            product = np.prod([p.astype(float) ** w for p, w in zip(experts, weights, strict=True)], axis=0)
            return np.log((product * likelihood).sum(axis=1) / product.sum(axis=1)).mean()

        scores = np.array([[score(a, b) for b in steps] for a in steps])
        found = likelihood_weights(experts, labels, likelihood)
        best = np.unravel_index(scores.argmax(), scores.shape)
        np.testing.assert_allclose(found, steps[list(best)], atol=0.05)
        assert score(*found) >= scores.max() - 1e-6

    def test_without_noise_they_are_the_same(self):
        experts, truth, _, _ = self.labelled(0.0, n=1500)
        likelihood = np.eye(3, dtype=np.float32)[truth]
        np.testing.assert_allclose(
            likelihood_weights(experts, truth, likelihood), likelihood_weights(experts, truth), atol=1e-3
        )

    def test_labels_that_say_nothing_move_no_weight(self):
        experts, _, labels, _ = self.labelled(0.3, n=300)
        silent = np.full((300, 3), 1 / 3, dtype=np.float32)
        np.testing.assert_allclose(likelihood_weights(experts, labels, silent), 1 / 3)


@pytest.mark.parametrize(("mean", "expected"), [(0.31, True), (0.29, False), (-0.31, False), (0.0, False)])
def test_clearly_above_means_three_standard_errors_of_the_difference(mean, expected):
    """A hundred differences of deviation 1 around the mean: three standard errors are 0.3."""
    old = np.linspace(-50, 50, 100)
    new = old + mean + np.tile([1.0, -1.0], 50)
    assert clearly_above(new, old) is expected
    assert clearly_above(old, old) is False
