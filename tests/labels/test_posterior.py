from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

import truelabel as tl
from truelabel.calibrators import KNN, Identity
from truelabel.labels.posterior import label_posterior

TRANSITION = np.array([[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.0, 0.4, 0.6]])
PROBS = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.1, 0.2, 0.7]], dtype=np.float32)


def fitted(said: tl.Predictions, transition: np.ndarray | None, shares: np.ndarray | None) -> Identity:
    calibrator = Identity().fit(said)
    calibrator.transition_matrix_, calibrator.class_shares_ = transition, shares
    return calibrator


def test_the_given_label_is_heard_through_t_by_bayes_rule() -> None:
    said = tl.Predictions(PROBS, labels=[1, 1, 0])
    shares = np.array([0.5, 0.25, 0.25])
    found = label_posterior(said, fitted(said, TRANSITION, shares))
    by_hand = [
        np.array([0.6 * 0.2, 0.3 * 0.9, 0.1 * 0.4]),
        np.array([0.1 * 0.2, 0.2 * 0.9, 0.7 * 0.4]),
        np.array([0.1 * 0.7, 0.2 * 0.05, 0.0]),
    ]
    np.testing.assert_allclose(found.probs, [row / row.sum() for row in by_hand], atol=1e-6)
    by_network = [1 - by_hand[2][0] / by_hand[2].sum(), sum(1 - row[1] / row.sum() for row in by_hand[:2]), 0]
    np.testing.assert_allclose(found.opinions[0], by_network, atol=1e-6)
    given = shares @ TRANSITION  # p(ỹ)
    by_t = [1 - 0.5 * 0.7 / given[0], 2 * (1 - 0.25 * 0.9 / given[1]), 0]
    np.testing.assert_allclose(found.opinions[1], by_t, atol=1e-6)


def test_a_calibrator_without_a_transition_has_it_estimated_from_the_labels(problem: SimpleNamespace) -> None:
    right = tl.Predictions(0.91 * np.eye(3)[problem.truth] + 0.03, problem.x, labels=problem.noisy)
    found = label_posterior(right, fitted(right, None, None))
    counted = np.array([np.bincount(problem.noisy[problem.truth == k], minlength=3) for k in range(3)])
    np.testing.assert_allclose(found.transition, counted / counted.sum(axis=1, keepdims=True), atol=0.08)
    np.testing.assert_array_equal(found.probs.argmax(axis=1), problem.truth)


def test_an_npc_that_is_not_fitted_is_fitted_on_a_copy_with_its_settings(problem: SimpleNamespace) -> None:
    paper = tl.NPC("paper", epochs=1, random_state=0, progress=False)
    found = label_posterior(problem.said, paper)
    assert not hasattr(paper, "n_classes_")
    assert (found.calibrator.recipe, len(found.calibrator.history_)) == ("paper", 1)


def test_calibrators_that_repeat_their_labels_have_to_be_fitted_elsewhere(problem: SimpleNamespace) -> None:
    with pytest.raises(ValueError, match="KNN may repeat the labels that it learns from"):
        label_posterior(problem.said, KNN(15))
    elsewhere = KNN(15).fit(problem.said[:150])
    found = label_posterior(problem.said[150:], elsewhere)
    assert np.mean(found.probs.argmax(axis=1) == problem.truth[150:]) > 0.94 > np.mean(~problem.wrong[150:])


def test_npc_hears_its_prior_and_can_be_saved(problem: SimpleNamespace, found, tmp_path) -> None:
    assert found.calibrator.prior is None
    found.calibrator.save(tmp_path / "npc.safetensors")
    again = label_posterior(problem.said, tl.load(tmp_path / "npc.safetensors"))
    np.testing.assert_allclose(again.probs, found.probs, atol=1e-5)


def test_predictions_out_of_sample_do_without_features() -> None:
    """A classifier that knows p(ỹ | x) exactly, of classes that the labels move through a known T."""
    rng = np.random.default_rng(1)
    clean = rng.dirichlet(np.full(3, 0.1), size=4_000)
    truth = np.array([rng.choice(3, p=row) for row in clean])
    labels = np.array([rng.choice(3, p=TRANSITION[y]) for y in truth])
    said = tl.Predictions(clean @ TRANSITION, labels=labels, out_of_sample=True)
    found = label_posterior(said)
    wrong = labels != truth
    ideal = clean * TRANSITION[:, labels].T
    ideal /= ideal.sum(axis=1, keepdims=True)
    rows = np.arange(4_000)
    best = average_precision_score(wrong, 1 - ideal[rows, labels])
    plain = average_precision_score(wrong, 1 - said.probs[rows, labels])
    reached = average_precision_score(wrong, 1 - found.probs[rows, labels])
    assert reached > best - 0.02 > plain + 0.02
    assert np.mean(found.opinions, axis=0).sum() == pytest.approx(wrong.sum(), rel=0.15)


def test_predictions_in_sample_without_features_are_refused(problem: SimpleNamespace) -> None:
    with pytest.raises(ValueError, match="a classifier that saw the labels cannot judge them alone"):
        label_posterior(tl.Predictions(problem.said.probs, labels=problem.noisy))


def test_labels_are_needed_and_predictions() -> None:
    with pytest.raises(ValueError, match="there are no labels"):
        label_posterior(tl.Predictions(PROBS))
    with pytest.raises(TypeError, match=r"several labels an instance in truelabel\.labels\.MultiLabel"):
        label_posterior(PROBS)  # type: ignore[arg-type]
