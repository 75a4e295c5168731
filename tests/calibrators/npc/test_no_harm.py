"""A classifier that deserves trust is not made worse, though the features know far less than it does."""

import numpy as np
import pytest
from scipy.special import softmax

from truelabel import NPC, Predictions

C = 5
CENTRES = np.random.default_rng(99).normal(size=(C, 10))


def strong(n: int, rate: float, signal: float, seed: int) -> tuple[Predictions, np.ndarray]:
    """A classifier right 97 % of the time, that did not memorise: its probabilities of ỹ are Bayes' rule.

    Its hidden layer holds 3.4·onehot(y) and noise of deviation 1, from which it knows p(y | x), and so p(ỹ | x).
    The features hold the class at a strength of `signal`, and noise.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(C, size=n)
    hidden = 3.4 * np.eye(C)[truth] + rng.normal(size=(n, C))
    transition = np.full((C, C), rate / (C - 1)) + (1 - rate * C / (C - 1)) * np.eye(C)
    noisy = np.where(rng.random(n) < rate, (truth + rng.integers(1, C, size=n)) % C, truth)
    probs = softmax(3.4 * hidden, axis=1) @ transition
    features = signal * CENTRES[truth] + rng.normal(size=(n, 10))
    return Predictions(probs, features, hidden=hidden, labels=noisy), truth


@pytest.mark.parametrize(
    ("rate", "signal", "known"),
    [
        (0.2, 0.6, 0.65),
        (0.0, 1.0, 0.87),
        (0.0, 0.6, 0.65),
    ],
    ids=["noisy labels", "clean labels", "clean labels and features that know little"],
)
def test_a_classifier_far_stronger_than_the_features_is_not_made_worse(rate, signal, known):
    """`known` is the best that can be known from the features alone; labels at `rate` are wrong."""
    said, _ = strong(1500, rate, signal, seed=0)
    test, truth = strong(3000, rate, signal, seed=100)
    nearest = np.square(test.views["features"][:, None] - signal * CENTRES).sum(axis=2).argmin(axis=1)
    assert (nearest == truth).mean() == pytest.approx(known, abs=0.02)
    before = (test.hard == truth).mean()
    assert before == pytest.approx(0.97, abs=0.01)
    after = (NPC(random_state=0).fit(said).predict(test) == truth).mean()
    assert after > before - 0.01


@pytest.mark.parametrize("share", [0.2, 0.4])
def test_a_classifier_that_repeats_some_of_the_wrong_labels_does_not_carry_them_over(share):
    """It knows nothing that the features do not; 40 % of the labels are wrong, and it repeats `share` of those."""
    rng = np.random.default_rng(1)
    truth = rng.integers(C, size=2000)
    features = 1.5 * CENTRES[truth] + rng.normal(size=(2000, 10))
    noisy = np.where(rng.random(2000) < 0.4, (truth + rng.integers(1, C, size=2000)) % C, truth)
    echoes = (noisy != truth) & (rng.random(2000) < share)
    probs = 0.01 + 0.95 * np.eye(C)[np.where(echoes, noisy, truth)]
    said = Predictions(probs, features, labels=noisy)
    after = NPC(random_state=0).fit(said).predict(said)
    assert (said.hard == truth).mean() == pytest.approx(1 - 0.4 * share, abs=0.02)
    assert (after == truth).mean() > 0.96
