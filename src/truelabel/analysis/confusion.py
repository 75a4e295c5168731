"""Confusion matrices against the truth, before and after calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, as_array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def confusion(truth: Any, predicted: Any, n_classes: int) -> Array:
    """Return the share of each true class (row) that got each prediction (column); rows sum to 1, or to 0 if empty.

    Examples
    --------
    >>> from truelabel.analysis import confusion
    >>> confusion([0, 0, 1, 1], [0, 1, 1, 1], 2)
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (as_array(truth, "truth"), as_array(predicted, "predicted")), 1)
    shares: Array = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return shares


def draw_confusions(
    matrices: Mapping[str, Array], class_names: Sequence[str] | None = None, title: str | None = None
) -> Figure:
    """Draw confusion matrices side by side on one colour scale; the mapping's keys are their titles."""
    from matplotlib.figure import Figure

    side = 4.2
    figure = Figure(figsize=(side * len(matrices) + 0.8, side + 0.6), layout="compressed")
    axes = figure.subplots(1, len(matrices), squeeze=False)[0]
    c = len(next(iter(matrices.values())))
    names = [str(k) for k in range(c)] if class_names is None else list(class_names)
    image: Any = None
    for axis, (name, matrix) in zip(axes, matrices.items(), strict=True):
        image = axis.imshow(matrix, cmap="cividis", vmin=0, vmax=1)
        axis.set_title(name)
        axis.set_xlabel("predicted class")
        axis.set_xticks(range(c), names, rotation=90 if max(map(len, names)) > 2 else 0)
        axis.set_yticks(range(c), names)
        if c <= 12:
            _write_shares(axis, matrix)
    axes[0].set_ylabel("true class")
    figure.colorbar(image, ax=list(axes), label="share of the true class (numbers: percent)", shrink=0.8)
    if title:
        figure.suptitle(title)
    return figure


def _write_shares(axis: Any, matrix: Array) -> None:
    for (row, column), share in np.ndenumerate(matrix):
        if share > 0.005:
            colour = "black" if share > 0.55 else "white"
            axis.text(column, row, f"{100 * share:.0f}", ha="center", va="center", color=colour, fontsize=8)
