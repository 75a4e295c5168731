"""The calibration curve as shapes on a picture of 460×380."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truelabel.report.figures import BINS, Curve

WIDTH, HEIGHT = 460, 380
LEFT, TOP, SIDE_X, SIDE_Y = 56, 12, 390, 300
TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
# Outlines of radius 5 around the origin: every curve has a form and a dash of its own, besides its colour.
MARKS = ("M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z", "M0 -6L6 0L0 6L-6 0z", "M-4.5 -4.5h9v9h-9z", "M0 -6L5.5 4.5h-11z")


@dataclass(frozen=True)
class Line:
    """A curve as drawn: its line, the places of its marks with what they say, and the form of the marks."""

    curve: Curve
    path: str
    marks: list[tuple[float, float, str]]
    mark: str


@dataclass(frozen=True)
class Plot:
    """All that the picture shows: lines, ticks on both axes, and bars for how many were how sure."""

    lines: list[Line]
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    bars: list[tuple[float, float, float, float]]


def plot(curves: Sequence[Curve], confidence_counts: Sequence[int]) -> Plot:
    """Lay out curves; the counts are of the classifier's confidences in ten bins."""
    most = max(*confidence_counts, 1)
    width = SIDE_X / BINS
    bars = []
    for number, count in enumerate(confidence_counts):
        height = 46 * count / most
        bars.append((LEFT + number * width + 2, TOP + SIDE_Y - height, width - 4, height))
    return Plot(
        [_line(curve, mark) for curve, mark in zip(curves, MARKS, strict=False)],
        [(x(tick), f"{100 * tick:.0f}") for tick in TICKS],
        [(y(tick), f"{100 * tick:.0f}") for tick in TICKS],
        bars,
    )


def x(sure: float) -> float:
    """Return where a probability lies across."""
    return LEFT + SIDE_X * sure


def y(right: float) -> float:
    """Return where a share lies up the picture."""
    return TOP + SIDE_Y * (1 - right)


def _line(curve: Curve, mark: str) -> Line:
    places = [(x(a), y(b)) for a, b in zip(curve.sure.tolist(), curve.right.tolist(), strict=True)]
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in places) if places else ""
    marks = [
        (a, b, f"{curve.title}, {100 * sure:.0f} % sure on average: right for {100 * right:.0f} % of {count:,}")
        for (a, b), sure, right, count in zip(places, curve.sure, curve.right, curve.count, strict=True)
    ]
    return Line(curve, path, marks, mark)
