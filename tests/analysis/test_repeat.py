import numpy as np
import pytest

import truelabel as tl
from truelabel.analysis import Round, draw_repeat, repeat
from truelabel.arrays import Floats
from truelabel.calibrators import Calibrator
from truelabel.predictions import Predictions


class Halfway(Calibrator):
    """Goes half the way to the class that the first feature names, and remembers what it was fitted on."""

    seen: list[np.ndarray] = []  # noqa: RUF012

    def _fit(self, predictions: Predictions) -> None:
        self.seen.append(np.array(predictions.probs))

    def _calibrate(self, predictions: Predictions) -> Floats:
        target = np.eye(predictions.n_classes)[predictions.views["features"][:, 0].astype(int)]
        return ((predictions.probs + target) / 2).astype(np.float32)


def said(truth: np.ndarray, share: float) -> tl.Predictions:
    """Predictions that give the true class of two a probability of `share`."""
    probs = np.where(np.eye(2)[truth] == 1, share, 1 - share)
    return tl.Predictions(probs, truth[:, None].astype(float), labels=1 - truth)


TRUTH = np.array([0, 1, 1, 0])


def test_each_round_starts_from_the_last_one_s_output() -> None:
    Halfway.seen.clear()
    # p(true class) goes 0.1, 0.55, 0.775, 0.8875: right from the first round on, and moving by halves.
    found = repeat(Halfway(), said(TRUTH, 0.1), said(TRUTH, 0.1), TRUTH, rounds=3)
    assert [result.number for result in found] == [0, 1, 2, 3]
    assert [result.accuracy for result in found] == [0, 1, 1, 1]
    assert [result.changed for result in found] == [0, 1, 0, 0]
    np.testing.assert_allclose([result.moved for result in found], [0, 0.45, 0.225, 0.1125], atol=1e-6)
    np.testing.assert_allclose([probs[0, 0] for probs in Halfway.seen], [0.1, 0.55, 0.775], atol=1e-6)


def test_without_the_truth_there_is_no_accuracy_and_one_panel() -> None:
    found = repeat(Halfway(), said(TRUTH, 0.1), said(TRUTH, 0.1), rounds=2)
    assert [result.accuracy for result in found] == [None] * 3
    assert len(draw_repeat(found).axes) == 1


def test_the_calibrator_passed_in_stays_unfitted() -> None:
    calibrator = tl.NPC(epochs=1, random_state=0, progress=False)
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    train = tl.Predictions(np.eye(2)[truth] * 0.8 + 0.1, rng.normal(size=(60, 2)) + truth[:, None], labels=truth)
    repeat(calibrator, train, train, rounds=2)
    assert not hasattr(calibrator, "network_")


def test_the_figure_shows_accuracy_and_change() -> None:
    found = [Round(0, 0.5, 0, 0), Round(1, 0.8, 0.4, 0.3), Round(2, 0.81, 0.02, 0.05)]
    left, right = draw_repeat(found, "digits").axes
    np.testing.assert_allclose(left.lines[0].get_ydata(), [50, 80, 81])
    np.testing.assert_allclose(right.lines[0].get_ydata(), [40, 2])
    assert [text.get_text() for text in left.texts] == ["50.0", "80.0", "81.0"]


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="rounds must be at least 1"):
        repeat(Halfway(), said(TRUTH, 0.1), said(TRUTH, 0.1), rounds=0)
    with pytest.raises(ValueError, match="truth has shape"):
        repeat(Halfway(), said(TRUTH, 0.1), said(TRUTH, 0.1), TRUTH[:2])
