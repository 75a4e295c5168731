import numpy as np
import pytest
from scipy import stats

from truelabel.noise import InstanceDependent
from truelabel.noise.instance_dependent import flip_rates

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("rate", [0.05, 0.4, 0.95])
def test_flip_rates_follow_the_truncated_normal(rate):
    q = flip_rates(rate, 20_000, np.random.default_rng(0))
    reference = stats.truncnorm((0 - rate) / 0.1, (1 - rate) / 0.1, loc=rate, scale=0.1)
    assert q.min() >= 0
    assert q.max() <= 1
    assert stats.kstest(q, reference.cdf).pvalue > 0.001


@pytest.mark.parametrize("rate", [0.2, 0.4, 0.7])
def test_the_stated_share_of_labels_is_flipped(rate):
    x, y = RNG.random((20_000, 20)), RNG.integers(0, 10, 20_000)
    flipped = InstanceDependent(rate).corrupt(x, y, seed=0).rate
    expected = stats.truncnorm.mean(-rate / 0.1, (1 - rate) / 0.1, loc=rate, scale=0.1)
    assert abs(flipped - expected) < 4 * np.sqrt(0.25 / 20_000)


def test_the_rows_are_those_of_the_algorithm():
    """The algorithm's loop, written out, on the same random numbers."""
    x, y = RNG.normal(size=(40, 6)).astype(np.float32), RNG.integers(0, 4, 40)
    rows = InstanceDependent(0.4)._probabilities(x, y, 4, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    q = flip_rates(0.4, 40, rng)
    w = [stream.standard_normal((6, 4), dtype=np.float32) for stream in rng.spawn(4)]
    for i in range(40):
        p = x[i] @ w[y[i]]
        p[y[i]] = -np.inf
        p = q[i] * np.exp(p) / np.exp(p).sum()
        p[y[i]] = 1 - q[i]
        np.testing.assert_allclose(rows[i], p, rtol=1e-4, atol=1e-6)


def test_instances_of_one_class_have_rows_of_their_own():
    x, y = RNG.normal(size=(100, 8)), np.zeros(100, dtype=int)
    rows = InstanceDependent(0.4).corrupt(x, y, seed=0, n_classes=5).probabilities
    shares = rows[:, 1:] / rows[:, 1:].sum(axis=1, keepdims=True)
    assert shares.std(axis=0).min() > 0.05


def test_where_labels_go_depends_on_x():
    """Permutation test: within a class, flips to one class share a place in x, more than chance allows."""
    x, y = RNG.normal(size=(3000, 4)), np.zeros(3000, dtype=int)
    noisy = InstanceDependent(0.5).corrupt(x, y, seed=0, n_classes=3)
    x, labels = x[noisy.flipped], noisy.labels[noisy.flipped]

    def distance(labels):
        return np.linalg.norm(x[labels == 1].mean(axis=0) - x[labels == 2].mean(axis=0))

    permuted = [distance(RNG.permutation(labels)) for _ in range(200)]
    assert distance(labels) > max(permuted)


def test_the_same_instance_is_treated_alike_in_both_shapes():
    x, y = RNG.random((50, 3, 4, 4)).astype(np.float32), RNG.integers(0, 3, 50)
    images = InstanceDependent(0.4).corrupt(x, y, seed=0)
    flat = InstanceDependent(0.4).corrupt(x.reshape(50, -1), y, seed=0)
    assert np.array_equal(images.labels, flat.labels)


def test_blocks_do_not_change_the_result(monkeypatch):
    x, y = RNG.random((200, 12)).astype(np.float32), RNG.integers(0, 3, 200)
    whole = InstanceDependent(0.4).corrupt(x, y, seed=0)
    monkeypatch.setattr("truelabel.noise.instance_dependent.BLOCK_VALUES", 60)
    blocks = InstanceDependent(0.4).corrupt(x, y, seed=0)
    np.testing.assert_allclose(whole.probabilities, blocks.probabilities, atol=1e-6)


def test_no_rate_flips_nothing():
    x, y = RNG.random((500, 4)), RNG.integers(0, 3, 500)
    assert not InstanceDependent(0.0).corrupt(x, y, seed=0).flipped.any()


def test_nan_is_refused():
    x = np.ones((10, 3))
    x[4, 1] = np.nan
    with pytest.raises(ValueError, match="NaN or infinite"):
        InstanceDependent(0.4).corrupt(x, np.arange(10) % 2, seed=0)
