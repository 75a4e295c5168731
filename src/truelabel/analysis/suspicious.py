"""Suspicious labels: annotations that the calibrated prediction contradicts, the surest first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import as_array, matrix
from truelabel.pictures import pictures

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def suspicious(labels: Any, probs: Any, most: int | None = None) -> pd.DataFrame:
    """Return the instances whose label and calibrated prediction differ, by falling confidence.

    Parameters
    ----------
    labels : (n,) array
        The annotations, as class indices.
    probs : (n, c) array
        Calibrated p(y | x), from a calibrator that did not learn from these annotations.
    most : int, optional
        How many to return; all by default.

    Returns
    -------
    pandas.DataFrame
        `row`, `label`, `prediction` (class indices), `confidence` (probability of the prediction) and
        `probability_of_label`.

    Examples
    --------
    >>> from truelabel.analysis import suspicious
    >>> suspicious([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.4, 0.6]])[["row", "label", "prediction"]].values.tolist()
    [[1, 1, 0]]
    """
    import pandas as pd

    annotated, shares = as_array(labels, "labels"), matrix(probs, "probs")
    if annotated.shape != (len(shares),):
        raise ValueError(f"labels has shape {annotated.shape}, but probs {shares.shape}; pass one label an instance.")
    predicted = shares.argmax(axis=1)
    rows = np.flatnonzero(predicted != annotated)
    frame = pd.DataFrame(
        {
            "row": rows,
            "label": annotated[rows],
            "prediction": predicted[rows],
            "confidence": shares[rows, predicted[rows]],
            "probability_of_label": shares[rows, annotated[rows]],
        }
    )
    frame = frame.sort_values("confidence", ascending=False, kind="stable", ignore_index=True)
    return frame if most is None else frame.head(most)


def draw_suspicious(
    images: Any,
    found: pd.DataFrame,
    class_names: Sequence[str] | None = None,
    title: str | None = None,
    columns: int = 8,
) -> Figure:
    """Draw a gallery, `label → prediction` and the confidence under each image.

    Parameters
    ----------
    images : (m, …) array
        The images of the m rows of `found`, in its order.
    found : pandas.DataFrame
        What `suspicious` returned.
    class_names : sequence of str, optional
        A name for each class.
    title : str, optional
        Stands above.
    columns : int, default 8
        Images side by side.
    """
    from matplotlib.figure import Figure

    shown = pictures(images)
    if len(shown) != len(found):
        raise ValueError(f"there are {len(shown)} images for {len(found)} suspicious labels; pass one each.")
    if not len(found):
        raise ValueError("there is no suspicious label to draw: every prediction agrees with its label.")
    columns = min(columns, len(found))
    lines = math.ceil(len(found) / columns)
    long = class_names is not None and max(map(len, class_names)) > 3
    figure = Figure(figsize=(1.35 * columns, (1.95 if long else 1.75) * lines + 0.4), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False).reshape(-1)
    for axis in axes:
        axis.axis("off")
    for axis, image, (_, row) in zip(axes, shown, found.iterrows(), strict=False):
        axis.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        label, prediction = (_name(int(row[what]), class_names) for what in ("label", "prediction"))
        between = "\n→ " if long else " → "
        axis.text(
            0.5,
            -0.04,
            f"{label}{between}{prediction}\n{row['confidence']:.1%}",
            transform=axis.transAxes,
            ha="center",
            va="top",
            fontsize=8.5,
        )
    if title:
        figure.suptitle(title, fontsize=11)
    return figure


def _name(k: int, class_names: Sequence[str] | None) -> str:
    return str(k) if class_names is None else class_names[k]
