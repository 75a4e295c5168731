"""Heat maps of transition matrices, side by side, with their errors where the truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 3
MOST_WRITTEN = 12  # classes up to which the shares stand in the cells
MOST_NAMED = 40  # ... and up to which classes are named
LONGEST = 12  # characters of a class name


def draw_transitions(
    matrices: Mapping[str, Any],
    class_names: Sequence[str] | None = None,
    title: str | None = None,
    *,
    truth: Any = None,
) -> Figure:
    """Draw transition matrices T[y, ỹ] as heat maps on one colour scale; the mapping's keys are their titles.

    Parameters
    ----------
    matrices : mapping of names to (c, c) arrays
        What to draw.
    class_names : sequence of str, optional
        Names of the classes; numbers where None.
    title : str, optional
        Stands above the figure.
    truth : (c, c) array, optional
        The true T. It is drawn first, and each estimate's mean squared error stands in its title.
    """
    from matplotlib.figure import Figure

    from truelabel.transitions.error import check_transition, transition_error

    shown = {name: check_transition(matrix, name) for name, matrix in matrices.items()}
    if truth is not None:
        errors = {name: transition_error(matrix, truth).squared for name, matrix in shown.items()}
        shown = {f"{name}\nmean squared error {errors[name]:.4f}": matrix for name, matrix in shown.items()}
        shown = {"true T\n": check_transition(truth, "truth")} | shown
    if not shown:
        raise ValueError("there is no matrix to draw; pass at least one.")
    c = len(next(iter(shown.values())))
    columns = min(COLUMNS, len(shown))
    rows = ceil(len(shown) / columns)
    side = 4.2
    figure = Figure(figsize=(side * columns + 0.8, (side + 0.3) * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    image: Any = None
    for axis, (name, matrix) in zip(axes.flat, shown.items(), strict=False):
        image = axis.imshow(matrix, cmap="cividis", vmin=0, vmax=1)
        axis.set_title(name, fontsize=11)
        axis.set_xlabel("noisy label ỹ")
        axis.set_ylabel("true class y")
        _name_classes(axis, c, class_names)
        if c <= MOST_WRITTEN:
            _write_shares(axis, matrix)
    for axis in list(axes.flat)[len(shown) :]:
        axis.set_axis_off()
    label = "p(ỹ | y)" + ("; in the cells: percent" if c <= MOST_WRITTEN else "")
    figure.colorbar(image, ax=axes, label=label, shrink=0.8)
    if title:
        figure.suptitle(title)
    return figure


def _name_classes(axis: Any, c: int, class_names: Sequence[str] | None) -> None:
    if c > MOST_NAMED:
        return
    names = [str(k) for k in range(c)] if class_names is None else [_short(str(name)) for name in class_names]
    size = 9 if c <= MOST_WRITTEN else 6
    axis.set_xticks(range(c), names, rotation=90 if max(map(len, names)) > 2 else 0, fontsize=size)
    axis.set_yticks(range(c), names, fontsize=size)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _write_shares(axis: Any, matrix: Array) -> None:
    for (row, column), share in np.ndenumerate(matrix):
        if share >= 0.005:
            colour = "black" if share > 0.55 else "white"
            axis.text(column, row, f"{100 * share:.0f}", ha="center", va="center", color=colour, fontsize=8)
