import numpy as np
import pytest

from truelabel import Predictions
from truelabel.calibrators import Identity, TemperatureScaling

RNG = np.random.default_rng(0)


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
def test_a_known_temperature_is_found(temperature):
    """Labels drawn from softmax(z), of which a classifier says softmax(z·T): T undoes it."""
    z = 2 * RNG.normal(size=(20_000, 4))
    drawn = (softmax(z).cumsum(axis=1) > RNG.random((20_000, 1))).argmax(axis=1)
    said = Predictions(softmax(z * temperature), labels=drawn)
    scaled = TemperatureScaling().fit(said)
    assert scaled.temperature_ == pytest.approx(temperature, rel=0.03)
    exact = said.replace(probs=softmax(z * temperature))
    np.testing.assert_allclose(scaled.calibrate(exact), softmax(z * temperature / scaled.temperature_), atol=1e-4)


def test_two_classes_by_hand():
    """p = 0.9 that is right 7 times in 10: 9^(1/T) = 7/3."""
    said = Predictions(np.tile([0.9, 0.1], (10, 1)), labels=[0] * 7 + [1] * 3)
    assert TemperatureScaling().fit(said).temperature_ == pytest.approx(np.log(9) / np.log(7 / 3), rel=1e-4)


def test_the_class_stays():
    probs = RNG.dirichlet(np.ones(5), 200)
    said = Predictions(probs, labels=RNG.integers(5, size=200))
    np.testing.assert_array_equal(TemperatureScaling().fit(said).predict(said), said.hard)


def test_certain_predictions_stay_finite():
    said = Predictions(np.eye(3)[np.arange(30) % 3], labels=np.arange(30) % 3)
    probs = TemperatureScaling().fit(said).calibrate(said)
    assert np.isfinite(probs).all()
    np.testing.assert_allclose(probs, said.probs, atol=1e-6)


def test_labels_are_needed():
    with pytest.raises(ValueError, match="temperature scaling needs the noisy labels; pass"):
        TemperatureScaling().fit(Predictions(np.full((5, 2), 0.5)))


def test_identity_is_the_classifier():
    probs = RNG.dirichlet(np.ones(5), 200).astype(np.float32)
    said = Predictions(probs)
    np.testing.assert_allclose(Identity().fit(said).calibrate(said), probs, atol=1e-6)
    assert len(Identity().fit(said).corrections(said)) == 0
