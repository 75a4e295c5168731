"""What the figures share: colours that colour-blind readers can tell apart, images to show, files to write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, as_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, without black, which is left for text; and Paul Tol's "muted" for more classes.
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
MUTED = (
    "#332288",
    "#88CCEE",
    "#44AA99",
    "#117733",
    "#999933",
    "#DDCC77",
    "#CC6677",
    "#882255",
    "#AA4499",
    "#9A9A9A",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", ">", "p")


def class_styles(n_classes: int) -> list[tuple[str, str]]:
    """Return a colour and a marker for each class; no two classes share both, up to 88 classes."""
    colours = OKABE_ITO if n_classes <= len(OKABE_ITO) else MUTED
    return [(colours[k % len(colours)], MARKERS[k % len(MARKERS)]) for k in range(n_classes)]


def save_figure(figure: Figure, folder: str | os.PathLike[str], name: str, *, dpi: int = 100) -> list[Path]:
    """Write a figure as `name`.svg and `name`.png, and return the two paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for kind in ("svg", "png")]
    for path in paths:
        # The date would make every file differ from the last.
        options = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"pil_kwargs": {"optimize": True}}
        figure.savefig(path, dpi=dpi, bbox_inches="tight", pad_inches=0.08, **options)
    return paths


def pictures(images: Any) -> Array:
    """Return images as `imshow` takes them: (n, h, w) grey or (n, h, w, 3), with values in [0, 1].

    Channels may come first or last. Images with values outside [0, 1], such as standardised ones, are stretched
    from the least to the largest value of each.
    """
    array = as_numbers(images, "images").astype(np.float32)
    if array.ndim == 4 and array.shape[1] in (1, 3):
        array = array.transpose(0, 2, 3, 1)
    if array.ndim == 4 and array.shape[3] == 1:
        array = array[..., 0]
    if array.ndim != 3 and not (array.ndim == 4 and array.shape[3] == 3):
        raise ValueError(
            f"images must be grey or have three channels, one image a row, but have shape {np.shape(images)}; "
            "reshape them first."
        )
    if len(array) and (array.min() < 0 or array.max() > 1):
        around = tuple(range(1, array.ndim))
        low, high = array.min(axis=around, keepdims=True), array.max(axis=around, keepdims=True)
        array = (array - low) / np.maximum(high - low, 1e-12)
    return array
