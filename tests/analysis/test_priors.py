import numpy as np
import pandas as pd
import pytest

import truelabel as tl
from truelabel.analysis import compare_priors, draw_priors


def said(n: int, seed: int) -> tuple[tl.Predictions, np.ndarray]:
    """Three clusters, and a classifier that memorised labels of which three in ten are wrong."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    features = rng.normal(size=(n, 3)) + 4 * np.eye(3)[truth]
    noisy = np.where(rng.random(n) < 0.3, (truth + 1) % 3, truth)
    return tl.Predictions(np.eye(3)[noisy] * 0.9 + 0.1 / 3, features, labels=noisy), truth


def test_each_prior_is_the_calibrator_with_that_shape() -> None:
    (train, _), (test, truth) = said(240, 0), said(90, 1)
    found = compare_priors(train, test, truth, top_k=[1, 3], seeds=[0, 7], epochs=2, progress=False)
    assert list(found.index) == ["classifier", "one-hot", "TOP-1", "TOP-3"]
    assert list(found.columns) == [0, 7]
    assert found.loc["classifier"].tolist() == [np.mean(test.hard == truth)] * 2
    for name, shape in (("one-hot", {"shape": "one-hot"}), ("TOP-3", {"shape": "top-k", "top_k": 3})):
        npc = tl.NPC("paper", random_state=7, epochs=2, progress=False, **shape).fit(train)  # type: ignore[arg-type]
        assert found.loc[name, 7] == np.mean(npc.predict(test) == truth)


def test_the_figure_has_a_dot_a_seed_and_says_where_the_classifier_is() -> None:
    rows = {"classifier": [0.2, 0.2], "one-hot": [0.70, 0.72], "TOP-2": [0.74, 0.75]}
    axis = draw_priors(pd.DataFrame.from_dict(rows, orient="index")).axes[0]
    dots = [line.get_ydata().tolist() for line in axis.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(dots, [[70, 72], [74, 75]])
    assert [label.get_text() for label in axis.get_xticklabels()] == ["one-hot", "TOP-2"]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["classifier: 20.0, off the axis"]
    near = draw_priors(pd.DataFrame.from_dict(rows | {"classifier": [0.73, 0.73]}, orient="index")).axes[0]
    assert [text.get_text() for text in near.get_legend().get_texts()] == ["classifier: 73.0"]


def test_bad_arguments_are_refused() -> None:
    (train, truth), _ = said(30, 0), None
    for top_k in ([0], [4], [2, 2]):
        with pytest.raises(ValueError, match="top_k must name different numbers from 1 to 3"):
            compare_priors(train, train, truth, top_k=top_k)
    with pytest.raises(ValueError, match="truth has shape"):
        compare_priors(train, train, truth[:5])
