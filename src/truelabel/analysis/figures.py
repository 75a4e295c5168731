"""What the figures share: colours that colour-blind readers can tell apart, and files to write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from truelabel.writing import whole

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
        with whole(path) as partial:
            figure.savefig(partial, dpi=dpi, bbox_inches="tight", pad_inches=0.08, **options)
    return paths
