import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisy_labels import ASYMMETRIC, SYMMETRIC, labelled
from truelabel.label_noise.transition import denoise, given_label, label_likelihood, noise_rate, settle


@pytest.mark.parametrize("transition", [SYMMETRIC, ASYMMETRIC], ids=["symmetric", "asymmetric"])
def test_denoising_undoes_the_transition(transition):
    clean, _, _, believed = labelled(transition, 500)
    found = denoise(believed, transition)
    assert np.abs(found - clean).mean() < 0.005
    np.testing.assert_allclose(found @ transition, believed, atol=0.02)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    assert np.abs(believed - clean).mean() > 0.05


def test_denoising_finds_the_distribution_that_explains_the_belief():
    clean = np.array([0.4, 0.3, 0.2, 0.1])
    found = denoise((clean @ ASYMMETRIC).astype(np.float32)[None], ASYMMETRIC)
    np.testing.assert_allclose(found[0], clean, atol=1e-5)


def test_denoising_comes_within_two_points_of_a_sure_class():
    found = denoise(SYMMETRIC.astype(np.float32), SYMMETRIC)
    np.testing.assert_allclose(found, np.eye(4), atol=0.02)


def test_denoising_stays_a_distribution_where_no_distribution_explains_the_belief():
    found = denoise(np.array([[1.0, 0, 0, 0]], dtype=np.float32), SYMMETRIC)
    np.testing.assert_allclose(found, [[1, 0, 0, 0]], atol=1e-3)


def test_denoising_works_for_a_thousand_classes():
    c = 1000
    transition = np.full((c, c), 0.3 / (c - 1)) + (0.7 - 0.3 / (c - 1)) * np.eye(c)
    found = denoise(transition[:3].astype(np.float32), transition)
    assert found.argmax(axis=1).tolist() == [0, 1, 2]
    assert found.max(axis=1).min() > 0.9


def test_the_belief_given_a_label_is_bayes_rule_by_hand():
    clean = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], dtype=np.float32)
    transition = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]])
    found = given_label(clean, transition, np.array([1, 0]))
    first = np.array([0.5 * 0.1, 0.3 * 0.6, 0.2 * 0.3])
    second = np.array([0.1 * 0.8, 0.1 * 0.2, 0.8 * 0.3])
    np.testing.assert_allclose(found, [first / first.sum(), second / second.sum()], rtol=1e-5)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_the_belief_given_a_label_is_on_the_simplex(seed):
    clean, _, labels, _ = labelled(ASYMMETRIC, 20, seed)
    found = given_label(clean, ASYMMETRIC, labels)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)


def test_a_label_that_no_class_has_says_nothing():
    """Nothing is divided by 0; the belief is what it was."""
    clean = np.array([[0.5, 0.3, 0.2]], dtype=np.float32)
    transition = np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]])
    np.testing.assert_allclose(given_label(clean, transition, np.array([2])), clean, rtol=1e-5)


def test_the_likelihood_of_a_label_is_a_column_of_t():
    found = label_likelihood(ASYMMETRIC, np.array([1, 3]))
    np.testing.assert_allclose(found, [[0.4, 0.7, 0, 0.1], [0, 0, 0.05, 0.7]], atol=1e-6)


def test_known_classes_are_settled_and_others_left():
    believed = np.array([[0.2, 0.8], [0.3, 0.7], [0.6, 0.4]], dtype=np.float32)
    settled = settle(believed.copy(), np.array([0, -1, 0]))
    np.testing.assert_array_equal(settled, np.array([[1, 0], [0.3, 0.7], [1, 0]], dtype=np.float32))
    np.testing.assert_array_equal(settle(believed.copy(), None), believed)


def test_the_noise_rate_is_the_share_of_wrong_labels():
    assert noise_rate(SYMMETRIC, np.array([0.7, 0.1, 0.1, 0.1])) == pytest.approx(0.3)
    assert noise_rate(ASYMMETRIC, np.array([0.5, 0.5, 0, 0])) == pytest.approx(0.5 * 0.4 + 0.5 * 0.3)


@pytest.mark.parametrize("rate", [0.2, 0.4])
def test_the_pieces_together_find_most_wrong_labels(rate):
    transition = np.full((4, 4), rate / 3) + (1 - rate * 4 / 3) * np.eye(4)
    _, truth, labels, believed = labelled(transition, 4000)
    belief = given_label(denoise(believed, transition), transition, labels)
    assert (belief.argmax(axis=1) == truth).mean() > (labels == truth).mean() + 0.5 * rate
