import numpy as np
import pytest
from scipy.stats import norm

from truelabel.labels.posterior import LabelPosterior
from truelabel.labels.wrong import count_wrong


def posterior(p_wrong: np.ndarray, labels: np.ndarray, *opinions: np.ndarray) -> LabelPosterior:
    probs = np.where(np.arange(2) == labels[:, None], 1 - p_wrong[:, None], p_wrong[:, None]).astype(np.float32)
    return LabelPosterior(probs, opinions, np.eye(2), None)


def test_the_number_is_the_mean_of_the_opinions_and_the_interval_adds_three_variances() -> None:
    labels = np.array([0, 0, 0, 1, 1])
    p_wrong = np.array([0.5, 0.1, 0.0, 1.0, 0.25])
    found = count_wrong(posterior(p_wrong, labels, np.array([0.6, 1.25]), np.array([1.0, 1.45])), labels, "ab")
    assert found.by_class["a"].number == pytest.approx(0.8)
    assert found.by_class["b"].number == pytest.approx(1.35)
    variance = 0.25 + 0.09 + 0.25 * 0.75 + (2.45 - 1.85) ** 2 / 2 + (0.1 * 2.15) ** 2 + 0.05**2
    assert found.total.number == pytest.approx(2.15)
    assert found.total.high == pytest.approx(2.15 + norm.ppf(0.95) * np.sqrt(variance), rel=1e-5)
    assert found.total.low == pytest.approx(2.15 - norm.ppf(0.95) * np.sqrt(variance), rel=1e-5)
    assert found.by_class["b"].high == 2
    assert found.by_class["a"].low == 0
    assert found.total.share == pytest.approx(0.43)


@pytest.mark.parametrize("bias", [-0.1, 0, 0.1])
def test_intervals_hold_the_truth_as_often_as_they_say(bias: float) -> None:
    """Two opinions that err by 15 % to either side of a common error of up to a tenth."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(100):
        p_wrong = rng.beta(0.3, 1.2, size=400)
        wrong = rng.random(400) < p_wrong
        labels = rng.integers(2, size=400)
        expected = np.bincount(labels, weights=p_wrong, minlength=2) * (1 + bias)
        found = count_wrong(posterior(p_wrong, labels, 0.85 * expected, 1.15 * expected), labels, (0, 1)).total
        held += found.low <= wrong.sum() <= found.high
    assert held >= 90


def test_the_table_and_the_dictionary_say_the_same() -> None:
    labels = np.array([0, 1, 1])
    found = count_wrong(posterior(np.full(3, 0.5), labels, np.array([0.5, 1]), np.array([0.5, 1])), labels, ["a", "b"])
    frame = found.to_frame()
    assert frame.columns.tolist() == ["given", "number", "low", "high", "of", "share"]
    assert frame.to_dict("records") == found.to_dict()["by_class"]
    assert frame["of"].tolist() == [1, 2]
    assert str(found.total).startswith("2 of 3 (50.0%; ")
