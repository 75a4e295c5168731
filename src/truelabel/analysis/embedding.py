"""t-SNE of the posterior: which instances the calibrator holds to be alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.analysis.figures import class_styles
from truelabel.arrays import Floats, Ints, as_array, matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_IN_LEGEND = 30


@dataclass(frozen=True)
class Embedding:
    """Instances in the plane.

    Attributes
    ----------
    rows : (m,) array
        Which instances were embedded, in ascending order.
    points : (m, 2) array
        Where each of them lies.
    """

    rows: Ints
    points: Floats


def embedding(concentration: Any, *, most: int = 2000, perplexity: float = 30.0, seed: int = 0) -> Embedding:
    """Embed the Dirichlet posteriors q(y | ŷ, x) in the plane by t-SNE.

    Distances are taken between log α̂, so that a class counts by its ratio to the others and not only where it
    leads.

    Parameters
    ----------
    concentration : (n, c) array
        α̂, as in ``npc.posterior(predictions).concentration``.
    most : int, default 2000
        Instances to embed; a random sample where there are more.
    perplexity : float, default 30
        Of t-SNE: about how many neighbours each instance keeps.
    seed : int, default 0
        Of the sample and of t-SNE.
    """
    from sklearn.manifold import TSNE

    alpha = matrix(concentration, "concentration")
    if alpha.min() <= 0:
        raise ValueError("concentration has values that are not above 0; pass npc.posterior(…).concentration.")
    n = len(alpha)
    if most < 4 or n < 4:
        raise ValueError(f"t-SNE needs at least 4 instances, but most is {most} and there are {n}.")
    rows = np.arange(n)
    if n > most:
        rows = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
    logs = np.log(alpha[rows].astype(np.float64))
    tsne = TSNE(perplexity=min(perplexity, (len(rows) - 1) / 3), init="pca", random_state=seed)
    return Embedding(rows, tsne.fit_transform(logs).astype(np.float32))


def draw_embedding(
    points: Any,
    colourings: Mapping[str, Any],
    class_names: Sequence[str] | None = None,
    title: str | None = None,
    n_classes: int | None = None,
) -> Figure:
    """Draw the points once for each colouring, side by side; the mapping's keys are their titles.

    Parameters
    ----------
    points : (m, 2) array
        Where the instances lie.
    colourings : mapping of str to (m,) array
        Class indices by title, as in ``{"ŷ": …, "y*": …}``.
    class_names : sequence of str, optional
        A name for each class.
    title : str, optional
        Stands above.
    n_classes : int, optional
        Number of classes; by default as many as are named, or occur.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    where = as_array(points, "points")
    classes = {name: as_array(value, name) for name, value in colourings.items()}
    c = n_classes or (len(class_names) if class_names else 1 + max(int(value.max()) for value in classes.values()))
    names = [str(k) for k in range(c)] if class_names is None else list(class_names)
    styles = class_styles(c)
    figure = Figure(figsize=(4.6 * len(classes) + 1.6, 4.9), layout="constrained")
    axes = figure.subplots(1, len(classes), squeeze=False)[0]
    for axis, (name, value) in zip(axes, classes.items(), strict=True):
        for k, (colour, marker) in enumerate(styles):
            chosen = where[value == k]
            axis.scatter(
                chosen[:, 0], chosen[:, 1], s=11, color=colour, marker=marker, linewidths=0, alpha=0.85, label=names[k]
            )
        axis.set_title(name)
        axis.set_xticks([])
        axis.set_yticks([])
        axis.set_xlabel("t-SNE 1")
        axis.set_aspect("equal", adjustable="datalim")
    axes[0].set_ylabel("t-SNE 2")
    if c <= MOST_IN_LEGEND:
        handles = [
            Line2D([], [], linestyle="", color=colour, marker=marker, markersize=7, label=name)
            for name, (colour, marker) in zip(names, styles, strict=True)
        ]
        figure.legend(handles=handles, loc="outside right center", frameon=False, title="class")
    if title:
        figure.suptitle(title)
    return figure
