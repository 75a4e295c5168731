"""What holds for every calibrator alike. A new one is covered as soon as the registry names it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from truelabel import NPC, CalibratedClassifier, Predictions, calibrators
from truelabel.calibrators import Calibrator
from truelabel.calibrators.npc import VotePrior

C, D = 3, 4
NEEDS_NOTHING = {"identity", "temperature"}
SEEDED = {"knn-paper", "rog", "lrt", "mlc", "causalnl", "npc", "npc-paper"}


def blobs(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n) % C)
    return (6 * np.eye(C, D)[truth] + rng.normal(size=(n, D))).astype(np.float32), truth


def said(n: int = 120, seed: int = 0, **parts: Any) -> Predictions:
    """What a classifier that memorised labels, a quarter of them wrong, says of blobs it trained on."""
    x, truth = blobs(n, seed)
    rng = np.random.default_rng(seed + 100)
    noisy = np.where(rng.random(n) < 0.25, (truth + 1) % C, truth)
    everything = {
        "probs": 0.94 * np.eye(C)[noisy] + 0.02,
        "features": x,
        "hidden": x @ np.ones((D, D)),
        "labels": noisy,
    }
    return Predictions(**(everything | parts))


def trusted() -> Predictions:
    x, truth = blobs(30, 50)
    return Predictions(np.eye(C)[truth], x, labels=truth)


def settings(name: str) -> dict[str, Any]:
    """Return what makes a calibrator quick, and what it cannot do without."""
    quick: dict[str, dict[str, Any]] = {
        "knn-paper": {"batch_size": 30},
        "lrt": {"epochs": 3, "batch_size": 32},
        "mlc": {"epochs": 3, "batch_size": 32, "trusted": trusted()},
        "causalnl": {"epochs": 2, "batch_size": 32, "noise_rate": 0.25},
        "npc": {"epochs": 2, "prior": VotePrior(k=5)},
        "npc-paper": {"epochs": 2},
    }
    return quick.get(name, {})


def build(name: str, seed: int = 0) -> Calibrator:
    calibrator = calibrators.build(name, **settings(name))
    return calibrator.set_params(random_state=seed) if name in SEEDED else calibrator


@cache
def fitted(name: str) -> Calibrator:
    return build(name).fit(said())


def test_the_ten_calibrators_are_there() -> None:
    assert list(calibrators.NAMES) == [
        *("identity", "temperature", "knn", "knn-paper", "rog", "lrt", "mlc", "causalnl", "npc", "npc-paper"),
    ]
    paper, default = calibrators.build("npc-paper"), calibrators.build("npc")
    assert isinstance(paper, NPC)
    assert isinstance(default, NPC)
    assert (paper.recipe, default.recipe) == ("paper", "default")


def test_the_one_that_uses_clean_labels_says_so() -> None:
    assert [name for name, summary in calibrators.NAMES.items() if "uses clean labels" in summary] == ["mlc"]


@pytest.mark.parametrize("name", calibrators.NAMES)
class TestEveryCalibrator:
    def test_gives_probabilities(self, name: str) -> None:
        probs = fitted(name).calibrate(said(50, seed=1))
        assert probs.shape == (50, C)
        assert probs.dtype == np.float32
        assert probs.min() >= 0
        np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-5)
        np.testing.assert_array_equal(fitted(name).predict(said(50, seed=1)), probs.argmax(axis=1))

    def test_one_instance_is_answered_as_among_others(self, name: str) -> None:
        new = said(50, seed=1)
        np.testing.assert_allclose(fitted(name).calibrate(new[7:8]), fitted(name).calibrate(new)[7:8], atol=1e-5)

    def test_the_seed_decides(self, name: str) -> None:
        new = said(50, seed=1)
        answers = [build(name, seed).fit(said()).calibrate(new) for seed in (0, 1)]
        np.testing.assert_array_equal(answers[0], fitted(name).calibrate(new))
        if name in SEEDED - {"rog"}:  # several searches for one optimum
            assert np.abs(answers[0] - answers[1]).max() > 0

    def test_fitting_leaves_the_predictions_and_the_parameters_alone(self, name: str) -> None:
        given, calibrator = said(), build(name)
        before = calibrator.get_params(deep=False)
        calibrator.fit(given)
        np.testing.assert_array_equal(given.probs, said().probs)
        np.testing.assert_array_equal(given.views["features"], said().views["features"])
        assert all(calibrator.get_params(deep=False)[key] is value for key, value in before.items())

    def test_a_clone_has_its_parameters_and_none_of_its_state(self, name: str) -> None:
        copy = clone(fitted(name))
        assert set(copy.get_params()) == set(fitted(name).get_params())
        with pytest.raises(NotFittedError):
            copy.calibrate(said())
        np.testing.assert_array_equal(copy.fit(said()).calibrate(said(50, 1)), fitted(name).calibrate(said(50, 1)))

    def test_works_in_a_calibrated_classifier(self, name: str) -> None:
        x, _ = blobs(120, 0)
        names = np.array(["ant", "bee", "cat"])
        labels = said().labels
        assert labels is not None
        model = CalibratedClassifier(DecisionTreeClassifier(random_state=0), build(name), random_state=0)
        probs = model.fit(x, names[labels]).predict_proba(blobs(50, 1)[0])
        assert probs.shape == (50, C)
        np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-9)
        assert set(model.predict(blobs(50, 1)[0])) <= set(names)

    def test_says_what_is_missing(self, name: str) -> None:
        bare = said(features=None, hidden=None)
        if name in NEEDS_NOTHING:
            assert build(name).fit(bare).calibrate(bare).shape == (120, C)
            return
        with pytest.raises(ValueError, match=r"pass Predictions\((features|hidden|inputs)=…"):
            build(name).fit(bare)

    def test_refuses_predictions_of_another_classifier(self, name: str) -> None:
        other = Predictions(np.full((10, 2), 0.5), blobs(10, 0)[0])
        with pytest.raises(ValueError, match="probs has 2 classes, but the calibrator was fitted on 3"):
            fitted(name).calibrate(other)

    def test_refuses_features_of_another_width(self, name: str) -> None:
        narrow = said(features=blobs(120, 0)[0][:, :2], hidden=blobs(120, 0)[0][:, :2])
        if name in NEEDS_NOTHING:
            fitted(name).calibrate(narrow)
            return
        with pytest.raises(ValueError, match=r"has 2 columns, but the calibrator was fitted on 4"):
            fitted(name).calibrate(narrow)

    def test_an_unknown_setting_is_named(self, name: str) -> None:
        with pytest.raises(ValueError, match=f"{name} does not take colour; it takes"):
            calibrators.build(name, colour="red")


def test_an_unknown_calibrator_is_named() -> None:
    with pytest.raises(ValueError, match="no calibrator named 'ncp'; choose one of identity, temperature"):
        calibrators.build("ncp")
