"""Values that spoil everything are named, and those of 1 − p that round below 0 do no harm."""

import warnings

import numpy as np
import pytest

import truelabel as tl
from truelabel.notices import WildValueWarning


def test_a_wild_value_is_named() -> None:
    rng = np.random.default_rng(0)
    features = rng.integers(0, 17, size=(1797, 64)).astype(np.float32)
    features[1234, 5] = 1e6
    probs = np.full((1797, 3), 1 / 3)
    with pytest.warns(WildValueWarning, match=r"features has 1e\+06 in row 1234, column 5, where values lie between"):
        tl.Predictions(probs, features)
    features[1234, 5] = -1e6
    with pytest.warns(WildValueWarning, match=r"features\['pixels'\] has -1e\+06 in row 1234"):
        tl.Predictions(probs, {"pixels": features})
    with pytest.warns(WildValueWarning, match="hidden has -1e"):
        tl.Predictions(probs, hidden=features)


@pytest.mark.parametrize(
    "features",
    [
        np.random.default_rng(0).standard_t(2, size=(5000, 8)),
        np.random.default_rng(0).lognormal(0, 2, size=(5000, 8)),
        np.random.default_rng(0).random((5000, 300)) < 0.002,
        np.zeros((50, 3)),
        np.eye(90),
    ],
    ids=["t", "lognormal", "words", "constant", "one-hot"],
)
def test_heavy_tails_and_rare_words_are_not_wild(features: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.Predictions(np.full((len(features), 2), 0.5), features)


def test_a_probability_just_below_zero_is_zero() -> None:
    p = np.array([[1 + 1e-9, -1e-9], [0.3, 0.7], [0.8, 0.2], [0.1, 0.9]] * 20)
    said = tl.Predictions(p, np.random.default_rng(0).normal(size=(80, 3)), labels=[0, 1, 0, 1] * 20)
    assert said.probs.min() == 0
    npc = tl.NPC(random_state=0, epochs=1, progress=False).fit(said)
    assert np.isfinite(npc.calibrate(said)).all()
    untouched = np.array([[0.5, 0.5]])
    assert tl.Predictions(untouched).probs is untouched
    with pytest.raises(ValueError, match="has negative values"):
        tl.Predictions([[1.01, -0.01]])
