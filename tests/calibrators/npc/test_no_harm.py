"""A classifier that deserves trust is not made worse, though the features know far less than it does."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier

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


def test_a_forest_judged_on_its_training_set_is_not_made_worse_by_mistakes_that_grow_with_difficulty():
    """Digits get the label of the class next to them, the likelier the nearer they are; a forest fits all labels.

    On its training set it is sure of each label, on new digits it is not. Nothing proves the noise.
    """
    images, truth = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(truth))
    images, truth = images[order] / 16, truth[order]
    rows = np.arange(len(truth))
    means = np.stack([images[truth == k].mean(axis=0) for k in range(10)])
    away = np.square(images[:, None] - means).sum(axis=2)
    own = away[rows, truth].copy()
    away[rows, truth] = np.inf
    ease = np.argsort(np.argsort(away.min(axis=1) - own)) / len(truth)
    noisy = np.where(rng.random(len(truth)) < np.clip(1.2 - 2.4 * ease, 0, 0.95), away.argmin(axis=1), truth)
    forest = ExtraTreesClassifier(50, random_state=0).fit(images[:700], noisy[:700])
    said = Predictions(forest.predict_proba(images), images)
    train, test = said[:700].replace(labels=noisy[:700]), said[700:]
    npc = NPC(random_state=0).fit(train)
    assert (train.hard == noisy[:700]).mean() == 1
    assert npc.report_.noise_evidence == "the surest instances"
    assert (npc.predict(test) == truth[700:]).mean() > (test.hard == truth[700:]).mean() - 0.01
