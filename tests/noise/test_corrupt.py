"""What holds for every kind of noise."""

import subprocess
import sys

import numpy as np
import pytest

from truelabel.noise import Asymmetric, Clean, InstanceDependent, SimilarityReflected, Symmetric

N, C = 6000, 5
RNG = np.random.default_rng(7)
X = RNG.random((N, 2, 3, 4)).astype(np.float32)
Y = RNG.integers(0, C, N)
SCORES = RNG.dirichlet(np.ones(C), N)
KINDS = [
    Clean(),
    Symmetric(0.3),
    Asymmetric(0.3, {0: 1, 1: 0, 2: 4}),
    InstanceDependent(0.3),
    SimilarityReflected(0.3, scores=SCORES),
]
every_kind = pytest.mark.parametrize("noise", KINDS, ids=lambda noise: type(noise).__name__)


class FakeSplit:
    inputs = X
    labels = Y
    n_classes = C


@every_kind
def test_what_comes_back_fits_together(noise):
    noisy = noise.corrupt(X, Y, seed=0)
    assert noisy.labels.dtype == np.int64
    assert len(noisy) == N
    assert np.array_equal(noisy.flipped, noisy.labels != Y)
    assert noisy.rate == noisy.flipped.mean()
    assert noisy.probabilities.shape == (N, C)
    assert noisy.probabilities.dtype == np.float32
    np.testing.assert_allclose(noisy.probabilities.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(noisy.transition.sum(axis=1), 1, atol=1e-12)


@every_kind
def test_the_true_transition_is_what_the_labels_show(noise):
    noisy = noise.corrupt(X, Y, seed=1)
    for k in range(C):
        members = k == Y
        np.testing.assert_allclose(noisy.transition[k], noisy.probabilities[members].mean(axis=0), atol=1e-4)
        seen = np.bincount(noisy.labels[members], minlength=C) / members.sum()
        assert np.abs(seen - noisy.transition[k]).max() < 4 * np.sqrt(0.25 / members.sum())


@every_kind
def test_labels_only_go_where_their_probability_is_positive(noise):
    noisy = noise.corrupt(X, Y, seed=2)
    assert (noisy.probabilities[np.arange(N), noisy.labels] > 0).all()


@every_kind
def test_a_seed_decides_the_noise(noise):
    first, again = noise.corrupt(X, Y, seed=3), noise.corrupt(X, Y, seed=3)
    assert np.array_equal(first.labels, again.labels)
    assert np.array_equal(first.probabilities, again.probabilities)
    if not isinstance(noise, Clean | SimilarityReflected):
        assert not np.array_equal(first.labels, noise.corrupt(X, Y, seed=4).labels)


@every_kind
def test_a_split_brings_its_labels(noise):
    from_split = noise.corrupt(FakeSplit(), seed=0)
    assert np.array_equal(from_split.labels, noise.corrupt(X, Y, seed=0).labels)


@every_kind
def test_the_true_labels_are_left_alone(noise):
    before = Y.copy()
    noise.corrupt(X, Y, seed=0)
    assert np.array_equal(Y, before)


def test_labels_given_beside_a_split_take_precedence():
    y = np.zeros(N, dtype=int)
    noisy = Symmetric(0.0).corrupt(FakeSplit(), y, seed=0, n_classes=C)
    assert np.array_equal(noisy.labels, y)


def test_a_class_without_instances_has_a_row_of_the_identity():
    noisy = Symmetric(0.5).corrupt(None, np.array([0, 2, 2]), seed=0, n_classes=4)
    assert np.array_equal(noisy.transition[[1, 3]], np.eye(4)[[1, 3]])
    np.testing.assert_allclose(noisy.transition[0], [1 / 2, 1 / 6, 1 / 6, 1 / 6], atol=1e-6)


def test_clean_changes_nothing():
    noisy = Clean().corrupt(X, Y, seed=0)
    assert np.array_equal(noisy.labels, Y)
    assert np.array_equal(noisy.transition, np.eye(C))


@pytest.mark.parametrize("rate", [-0.1, 1.0, 40])
def test_a_rate_lies_between_0_and_1(rate):
    with pytest.raises(ValueError, match=r"40 % noise is 0\.4"):
        Symmetric(rate)


@pytest.mark.parametrize(
    ("x", "y", "n_classes", "message"),
    [
        (X, None, None, "y is missing"),
        (X, Y[:-1], None, "x has 6000 rows, but y has 5999"),
        (None, Y, None, "depends on the instances"),
        (X, Y.astype(float), None, r"astype\(int\)"),
        (X, np.eye(C, dtype=int)[Y], None, "one whole class index"),
        (X, np.full(N, "cat"), None, "encode names"),
        (X, Y - 1, None, "label -1"),
        (X, Y, 3, "raise n_classes"),
        (X, np.zeros(N, dtype=int), None, "one class only"),
        (X[:0], Y[:0], None, "y is empty"),
    ],
)
def test_bad_input_is_refused_with_the_cure(x, y, n_classes, message):
    with pytest.raises(ValueError, match=message):
        InstanceDependent(0.3).corrupt(x, y, seed=0, n_classes=n_classes)


def test_importing_noise_does_not_import_torch():
    code = "import sys, truelabel.noise; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
