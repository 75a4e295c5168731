"""Gains and losses of a post-processor: the eight regions of the paper's Venn diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Ints, as_array

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MEANINGS = {
    "a": "label right, classifier wrong, calibrated wrong",
    "b": "label right, classifier wrong, calibrated right",
    "c": "label right, classifier right, calibrated right",
    "d": "label right, classifier right, calibrated wrong",
    "e": "label wrong, classifier wrong, calibrated wrong",
    "f": "label wrong, classifier wrong, calibrated right",
    "g": "label wrong, classifier right, calibrated right",
    "h": "label wrong, classifier right, calibrated wrong",
}


@dataclass(frozen=True)
class Gains:
    """What a post-processor gained and lost on training instances, and where.

    The regions are those of the paper's Venn diagram: (a) to (d) where the label is right (ỹ = y), (e) to (h)
    where it is wrong; in each four, first those that classifier and post-processor both miss, then those that
    the post-processor alone hits, those that both hit, and those that the classifier alone hits.

    Attributes
    ----------
    regions : dict
        Rows of the instances in each region, by its letter.
    """

    regions: dict[str, Ints]

    @property
    def counts(self) -> dict[str, int]:
        """Number of instances in each region."""
        return {letter: len(rows) for letter, rows in self.regions.items()}

    @property
    def gained(self) -> int:
        """Instances that were wrong and became right: (b) + (f)."""
        return self.counts["b"] + self.counts["f"]

    @property
    def lost(self) -> int:
        """Instances that were right and became wrong: (d) + (h)."""
        return self.counts["d"] + self.counts["h"]

    @property
    def net(self) -> int:
        """Net gain {(b) + (f)} − {(d) + (h)}."""
        return self.gained - self.lost

    def table(self) -> pd.DataFrame:
        """Return one row an instance, in the order of the instances: `row`, `region` and its `meaning`."""
        import pandas as pd

        letters = np.concatenate([np.full(len(rows), letter) for letter, rows in self.regions.items()])
        frame = pd.DataFrame({"row": np.concatenate([*self.regions.values()]), "region": letters})
        frame["meaning"] = frame["region"].map(MEANINGS)
        return frame.sort_values("row", ignore_index=True)


def gains(truth: Any, labels: Any, before: Any, after: Any) -> Gains:
    """Sort training instances into the eight regions of the paper's Venn diagram.

    Parameters
    ----------
    truth, labels, before, after : (n,) array
        Class indices y (true), ỹ (noisy label), ŷ (classifier) and y* (post-processor).

    Examples
    --------
    >>> from truelabel.analysis import gains
    >>> found = gains(truth=[0, 0, 1, 1], labels=[0, 0, 0, 0], before=[0, 1, 0, 0], after=[0, 0, 1, 0])
    >>> found.counts
    {'a': 0, 'b': 1, 'c': 1, 'd': 0, 'e': 1, 'f': 1, 'g': 0, 'h': 0}
    >>> found.net
    2
    """
    named = {"truth": truth, "labels": labels, "before": before, "after": after}
    y, noisy, was, became = (as_array(value, name) for name, value in named.items())
    for name, array in (("labels", noisy), ("before", was), ("after", became)):
        if array.shape != y.shape or array.ndim != 1:
            raise ValueError(
                f"{name} has shape {array.shape}, but truth {y.shape}; pass one class an instance in each."
            )
    place = np.select([(was != y) & (became != y), was != y, became == y], [0, 1, 2], default=3) + 4 * (noisy != y)
    return Gains({letter: np.flatnonzero(place == number) for number, letter in enumerate(MEANINGS)})


def draw_gains(found: Gains, title: str | None = None, name: str = "y*") -> Figure:
    """Draw the regions as two Venn diagrams with counts: right labels on the left, wrong labels on the right.

    Parameters
    ----------
    found : Gains
        What `gains` returned.
    title : str, optional
        Stands above, before the net gain.
    name : str, default "y*"
        What the post-processor's predictions are called.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.4), layout="compressed")
    axes = figure.subplots(1, 2)
    total = sum(found.counts.values())
    for axis, letters, what in zip(axes, ("abcd", "efgh"), ("ỹ = y", "ỹ ≠ y"), strict=True):
        count = sum(found.counts[letter] for letter in letters)
        words = "the label is right" if letters == "abcd" else "the label is wrong"
        share = f" ({count / total:.1%})" if total else ""
        axis.set_title(f"{words}, {what}: {count:,}{share}")
        _venn(axis, {letter: found.counts[letter] for letter in letters}, name)
    signed = f"{found.net:+,}".replace("-", "−")
    sums = f"gains (b) + (f) = {found.gained:,}, losses (d) + (h) = {found.lost:,}, net gain {signed}"
    figure.suptitle(f"{title}\n{sums}" if title else sums.capitalize())
    return figure


def _venn(axis: Any, counts: dict[str, int], name: str) -> None:
    from matplotlib.patches import Circle, Rectangle

    neither, gained, both, lost = counts.items()
    axis.add_patch(Rectangle((-2.6, -1.75), 5.2, 3.5, facecolor="#F4F4F4", edgecolor="#555555"))
    axis.add_patch(Circle((-0.7, 0.1), 1.25, facecolor="#0072B255", edgecolor="#0072B2", linewidth=1.5))
    axis.add_patch(Circle((0.7, 0.1), 1.25, facecolor="#E69F0055", edgecolor="#B87A00", linewidth=1.5))
    axis.text(-1.35, 1.38, "ŷ = y", ha="right", va="center", color="#005A8E", fontsize=11)
    axis.text(1.35, 1.38, f"{name} = y", ha="left", va="center", color="#8A5C00", fontsize=11)
    places = ((lost, (-1.3, 0.1), "loss"), (both, (0, 0.1), ""), (gained, (1.3, 0.1), "gain"))
    for (letter, count), (x, y), what in (*places, (neither, (0, -1.42), "")):
        head = f"({letter}) {what}".strip()
        between = "  " if letter in "ae" else "\n"
        axis.text(x, y, f"{head}{between}{count:,}", ha="center", va="center", fontsize=11, linespacing=1.5)
    axis.set_xlim(-2.65, 2.65)
    axis.set_ylim(-1.8, 1.8)
    axis.set_aspect("equal")
    axis.axis("off")
