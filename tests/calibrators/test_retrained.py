"""LRT*, MLC* and CausalNL*: the training methods, run on what the classifier said in place of the labels."""

import numpy as np
import pytest
import torch

from truelabel import Predictions, calibrators, datasets, methods, networks

C, D = 3, 4
RNG = np.random.default_rng(0)
TRUTH = np.arange(240) % C
X = (6 * np.eye(C, D)[TRUTH] + RNG.normal(size=(240, D))).astype(np.float32)
SAID = np.where(RNG.random(240) < 0.3, (TRUTH + RNG.integers(1, C, size=240)) % C, TRUTH)
PROBS = 0.9 * np.eye(C)[SAID] + 0.1 / 3
QUICK = {"epochs": 2, "batch_size": 32, "random_state": 0}


def trusted(**parts):
    return Predictions(**({"probs": np.eye(C)[TRUTH[:60]], "features": X[:60], "labels": TRUTH[:60]} | parts))


def build(name, **settings):
    extra = {"mlc": {"trusted": trusted()}, "causalnl": {"noise_rate": 0.3}}.get(name, {})
    return calibrators.build(name, **(extra | settings))


NAMES = ("lrt", "mlc", "causalnl")


@pytest.mark.parametrize("name", NAMES)
def test_wrong_predictions_are_put_right(name):
    """Three tenths of the predictions are wrong, at random; CausalNL* is the slowest to be sure of it."""
    said = Predictions(PROBS, X)
    calibrator = build(name, epochs=20, batch_size=32, random_state=0).fit(said)
    assert np.mean(said.hard == TRUTH) < 0.75
    assert np.mean(calibrator.predict(said) == TRUTH) > 0.95


@pytest.mark.parametrize("name", NAMES)
def test_the_noisy_labels_are_not_read(name):
    answers = [
        build(name, **QUICK).fit(Predictions(PROBS, X, labels=labels)).calibrate(Predictions(PROBS, X))
        for labels in (TRUTH, (TRUTH + 1) % C)
    ]
    np.testing.assert_array_equal(*answers)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_training_method_on_the_predictions(name):
    """On raw inputs, with the seed that the calibrator draws from its random state."""
    said = Predictions(PROBS, inputs=X)
    clean = {"trusted": datasets.Split(X[:60], TRUTH[:60], tuple("abc"))} if name == "mlc" else {}
    given = {"trusted": trusted(inputs=X[:60])} if name == "mlc" else {}
    rate = {"noise_rate": 0.3} if name == "causalnl" else {}
    seed = int(np.random.SeedSequence(0).generate_state(1)[0])
    method = methods.build(name, epochs=2, batch_size=32, learning_rate=0.01, **rate)
    trained = method.fit(datasets.Split(X, SAID, tuple("abc")), "mlp", seed=seed, **clean)
    calibrator = build(name, learning_rate=0.01, **QUICK, **given).fit(said)
    np.testing.assert_array_equal(calibrator.calibrate(said), trained.predict_proba(X))
    assert (calibrator.trained_.transition is None) == (name != "causalnl")


@pytest.mark.parametrize("name", NAMES)
def test_images_are_trained_on_where_they_are_given(name):
    images = RNG.normal(size=(40, 1, 8, 8)).astype(np.float32)
    given = {"trusted": trusted()[:40].replace(inputs=images)} if name == "mlc" else {}
    said = Predictions(PROBS[:40], X[:40], inputs=images)
    calibrator = build(name, network="cnn-tiny", epochs=1, batch_size=20, **given).fit(said)
    assert calibrator.reads_ == "inputs"
    assert calibrator.trained_.network.feature_dim == 64
    without_features = Predictions(PROBS[:40], inputs=images)
    assert calibrator.calibrate(without_features).shape == (40, C)
    with pytest.raises(ValueError, match="fitted on raw inputs; pass"):
        calibrator.calibrate(Predictions(PROBS, X))


def test_views_are_put_side_by_side_and_brought_to_scale():
    views = {"a": X[:, :1] * 1000 + 5, "b": X[:, 1:] / 1000}
    plain = Predictions(PROBS, {"features": (X - X.mean(axis=0)) / X.std(axis=0)})
    scaled, same = (build("lrt", **QUICK).fit(said).calibrate(said) for said in (Predictions(PROBS, views), plain))
    np.testing.assert_allclose(scaled, same, atol=1e-3)


def test_a_network_of_ones_own_is_trained():
    calibrator = build("lrt", network=lambda: torch.nn.Linear(D, C), **QUICK).fit(Predictions(PROBS, X))
    assert isinstance(calibrator.trained_.network, torch.nn.Linear)


def test_its_parameters_reach_the_method():
    lrt = build("lrt", threshold=2.0, growth=0.5, epochs=1).fit(Predictions(PROBS, X)).trained_.method
    assert (lrt["threshold"], lrt["growth"], lrt["epochs"], lrt["batch_size"]) == (2.0, 0.5, 1, 128)
    mlc = build("mlc", meta_rate=0.1, epochs=1).fit(Predictions(PROBS, X)).trained_.method
    assert (mlc["meta_rate"], mlc["learning_rate"]) == (0.1, 1e-3)
    causal = build("causalnl", z_dim=3, epochs=1).fit(Predictions(PROBS, X)).trained_.method
    assert (causal["z_dim"], causal["noise_rate"]) == (3, 0.3)


def test_clean_labels_are_asked_for_and_checked():
    said = Predictions(PROBS, X)
    for wrong in (None, trusted(labels=None), X):
        with pytest.raises(ValueError, match="MLC uses clean labels; pass instances whose labels are right as trusted"):
            calibrators.MLC(wrong).fit(said)
    with pytest.raises(ValueError, match="trusted has 4 classes, but the predictions have 3"):
        calibrators.MLC(trusted(probs=np.eye(4)[TRUTH[:60]])).fit(said)
    with pytest.raises(ValueError, match="trusted has 2 columns of the view 'features', but the predictions have 4"):
        calibrators.MLC(trusted(features=X[:60, :2])).fit(said)
    with pytest.raises(ValueError, match="trusted has no inputs, on which the predictions are fitted"):
        calibrators.MLC(trusted()).fit(Predictions(PROBS, inputs=X))


@pytest.mark.parametrize("name", NAMES)
def test_something_to_train_on_is_needed(name):
    with pytest.raises(ValueError, match=r"trains a network .* pass Predictions\(inputs=…\) or features"):
        build(name).fit(Predictions(PROBS))


def test_images_get_the_papers_network_and_rows_of_numbers_a_perceptron():
    images = RNG.normal(size=(20, 1, 8, 8)).astype(np.float32)
    for given, network in (({"inputs": images}, networks.CNNSmall), ({"features": X[:20]}, networks.MLP)):
        trained = build("lrt", epochs=1, batch_size=20).fit(Predictions(PROBS[:20], **given)).trained_
        assert type(trained.network) is network
