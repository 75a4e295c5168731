"""Repeated application of a calibrator: each round's output is the next round's predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import as_array
from truelabel.predictions import Predictions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from truelabel.calibrators import Calibrator


@dataclass(frozen=True)
class Round:
    """What one round of calibration came to; round 0 is the classifier itself.

    Attributes
    ----------
    number : int
        Which round.
    accuracy : float or None
        Share of test instances whose true class is predicted; None where the truth is not known.
    changed : float
        Share of test instances whose predicted class the round changed.
    moved : float
        How far the round moved the test probabilities: their total variation distance from the last, on average.
    """

    number: int
    accuracy: float | None
    changed: float
    moved: float


def repeat(
    calibrator: Calibrator, train: Predictions, test: Predictions, truth: Any = None, rounds: int = 4
) -> list[Round]:
    """Calibrate again and again: replace p(ŷ | x) by the calibrated probabilities, keep the features, and fit anew.

    Parameters
    ----------
    calibrator : Calibrator
        Its parameters are used, it is not changed.
    train : Predictions
        What the classifier said about its noisy training set.
    test : Predictions
        What it said about other instances, on which the rounds are measured.
    truth : (n,) array, optional
        The true classes of the test instances.
    rounds : int, default 4
        How often.
    """
    from sklearn.base import clone

    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, but is {rounds}.")
    answer = None if truth is None else as_array(truth, "truth")
    if answer is not None and answer.shape != (len(test),):
        raise ValueError(f"truth has shape {answer.shape}, but test has {len(test)} instances; pass one class each.")
    found = [Round(0, _accuracy(test, answer), 0.0, 0.0)]
    for number in range(1, rounds + 1):
        fitted = clone(calibrator).fit(train)
        after = test.replace(probs=fitted.calibrate(test))
        train = train.replace(probs=fitted.calibrate(train))
        moved = np.abs(after.block(slice(None)) - test.block(slice(None))).sum(axis=1).mean() / 2
        found.append(
            Round(number, _accuracy(after, answer), float(np.mean(after.hard != test.hard)), float(moved)),
        )
        test = after
    return found


def _accuracy(said: Predictions, truth: Any) -> float | None:
    return None if truth is None else float(np.mean(said.hard == truth))


def draw_repeat(found: Sequence[Round], title: str | None = None) -> Figure:
    """Draw accuracy by round, and how much each round changed."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    known = all(result.accuracy is not None for result in found)
    figure = Figure(figsize=(8.4 if known else 4.6, 3.6), layout="constrained")
    axes = figure.subplots(1, 2 if known else 1, squeeze=False)[0]
    numbers = [result.number for result in found]
    if known:
        accuracy = [100 * (result.accuracy or 0.0) for result in found]
        axes[0].plot(numbers, accuracy, "o-", color="#0072B2", clip_on=False)
        for number, value, following in zip(numbers, accuracy, [*accuracy[1:], 0.0], strict=True):
            away = -15 if following > value + 1 else 7  # not on the line that rises from here
            axes[0].annotate(f"{value:.1f}", (number, value), (0, away), textcoords="offset points", ha="center")
        axes[0].set_ylabel("test accuracy (%)")
        axes[0].margins(x=0.08, y=0.18)
    series = (("changed", "class changed", "o-", "#D55E00"), ("moved", "probability moved", "s--", "#009E73"))
    for name, label, style, colour in series:
        values = [100 * getattr(result, name) for result in found[1:]]
        axes[-1].plot(numbers[1:], values, style, color=colour, label=label)
    axes[-1].set_ylabel("against the round before (%)")
    axes[-1].set_ylim(bottom=0)
    axes[-1].margins(x=0.08, y=0.1)
    axes[-1].legend(frameon=False)
    for axis in axes:
        axis.set_xlabel("round (0: the classifier)" if axis is axes[0] and known else "round")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", color="#DDDDDD")
        axis.set_axisbelow(True)
    if title:
        figure.suptitle(title)
    return figure
