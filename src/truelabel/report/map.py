"""Where the instances lie: those that look alike are near each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from truelabel.analysis.figures import MUTED, OKABE_ITO
from truelabel.arrays import Array, Floats, Ints, float32
from truelabel.report.case import Case

Layout = Literal["tsne", "pca", "none"]
WIDTH, HEIGHT, MARGIN = 720, 500, 12
DIMENSIONS = 50  # that t-SNE is given, at most
ITERATIONS = 500
PERPLEXITY = 30.0
FEWEST = 4
# The same hues on a dark page: the deepest ones are lightened.
MUTED_DARK = (
    "#8F80E8",
    "#88CCEE",
    "#44AA99",
    "#4CB36B",
    "#A8A83C",
    "#DDCC77",
    "#DB7F8B",
    "#C2588A",
    "#C46CBE",
    "#9A9A9A",
)
OTHERS = "#9A9A9A"


@dataclass(frozen=True)
class Map:
    """Instances in the plane, the most suspicious last, so that they are drawn on top.

    Attributes
    ----------
    rows : (m,) array
        Which instances are drawn.
    points : (m, 2) array
        Where, in units of the picture.
    how : str
        How the plane was found, in words.
    """

    rows: Ints
    points: Floats
    how: str


def lay_out(case: Case, layout: Layout, most: int, seed: int = 0) -> Map | None:
    """Lay out at most so many instances: the hundred most suspicious, and others at random."""
    rows = _chosen(case, most, seed)
    if layout == "none" or len(rows) < FEWEST:
        return None
    values, what = _values(case, rows)
    plane = _tsne(values, seed) if layout == "tsne" else _principal(values, 2, seed)
    how = f"{'t-SNE' if layout == 'tsne' else 'The first two principal components'} of {what}"
    return Map(rows, _fitted(plane), how)


def _chosen(case: Case, most: int, seed: int) -> Ints:
    order = case.examined.found.table.index.to_numpy()
    worst, rest = order[: min(100, most)], order[min(100, most) :]
    if len(order) > most:
        rest = np.random.default_rng(seed).choice(rest, most - len(worst), replace=False)
    rows = np.concatenate([worst, rest])
    return np.asarray(rows[np.argsort(case.examined.found.p_wrong[rows], kind="stable")])


def _values(case: Case, rows: Ints) -> tuple[Floats, str]:
    """Return what the instances are laid out by: a label-free view if there is one."""
    said = case.examined.predictions
    if said.views:
        name, view = next(iter(said.views.items()))
        return float32(view, rows), "the label-free features" if name == "features" else f"the view “{name}”"
    if said.hidden is not None:
        return float32(said.hidden, rows), "the classifier's hidden layer, which has seen the labels"
    return np.log(np.maximum(float32(said.probs, rows), 1e-6)), "the classifier's probabilities"


def _principal(values: Floats, dimensions: int, seed: int) -> Floats:
    from sklearn.decomposition import PCA

    width = min(dimensions, *values.shape)
    plane = PCA(width, random_state=seed).fit_transform(values)
    return np.pad(plane, ((0, 0), (0, max(0, 2 - width)))).astype(np.float32)


def _tsne(values: Floats, seed: int) -> Floats:
    from sklearn.manifold import TSNE

    reduced = _principal(values, DIMENSIONS, seed)
    perplexity = min(PERPLEXITY, (len(values) - 1) / 3)
    tsne = TSNE(perplexity=perplexity, init="pca", random_state=seed, max_iter=ITERATIONS)
    return np.asarray(tsne.fit_transform(reduced), dtype=np.float32)


def _fitted(plane: Floats) -> Floats:
    """Return points scaled to the picture; each direction by itself, for the axes have no unit."""
    low, high = plane.min(axis=0), plane.max(axis=0)
    share = (plane - low) / np.maximum(high - low, 1e-12)
    size = np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN], dtype=np.float32)
    return np.asarray(MARGIN + share * size, dtype=np.float32)


@dataclass(frozen=True)
class Key:
    """Colours of the classes: `slot` of each class, and for each slot its name and colours on light and dark."""

    slot: Array
    entries: list[tuple[str, str, str]]


def key(case: Case) -> Key:
    """Return a colour for each class; where there are more than ten, for the nine most doubtful."""
    c = len(case.names)
    if c <= len(MUTED):
        light, dark = (OKABE_ITO, OKABE_ITO) if c <= len(OKABE_ITO) else (MUTED, MUTED_DARK)
        return Key(np.arange(c), list(zip(case.names, light, dark, strict=False)))
    few = len(MUTED) - 1
    suspects = np.bincount(case.given[case.given != case.suggested], minlength=c)
    shown = np.sort(np.argsort(-suspects, kind="stable")[:few])
    slot = np.full(c, few)
    slot[shown] = np.arange(few)
    entries = [(case.names[k], MUTED[i], MUTED_DARK[i]) for i, k in enumerate(shown)]
    return Key(slot, [*entries, (f"the other {c - few} classes", OTHERS, OTHERS)])
