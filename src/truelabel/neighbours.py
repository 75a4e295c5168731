"""Nearest neighbours by faiss, over a reference set whose size is capped."""

from __future__ import annotations

from typing import Any

import numpy as np

from truelabel.arrays import Floats, Ints

EXACT = 20_000  # reference rows up to which an approximate search would save nothing
CELL = 200  # rows in a cell of an approximate search, on average
MANY = 200_000  # reference rows from which on cells are found by a graph, so that time stays linear
LINKS = 16  # of each cell in that graph
PROBES = 5  # cells that it looks into
FAR = 30.0  # spreads from zero beyond which float32 would lose the differences between rows


class Neighbours:
    """Nearest neighbours among reference rows in Euclidean distance.

    Parameters
    ----------
    reference : (r, d) float32 array
        The rows to find.
    approximate : bool, default False
        Look only into the cells around a query where there are many rows, and compare at half the precision: some of
        the nearest are missed, and the next take their place.
    """

    def __init__(self, reference: Floats, *, approximate: bool = False) -> None:
        import faiss

        self._centre = _far_centre(reference)
        reference = self._near_zero(reference)
        self.size, width = reference.shape
        self._index: Any = faiss.IndexFlatL2(width)
        self._cells = self.size // CELL if approximate and self.size > EXACT else 0
        if self._cells:
            half = faiss.ScalarQuantizer.QT_bf16
            if self.size > MANY:
                self._index = faiss.IndexHNSWFlat(width, LINKS)
                chosen = np.random.default_rng(0).choice(self.size, self._cells, replace=False)
                self._index.add(reference[np.sort(chosen)])
            self._index = faiss.IndexIVFScalarQuantizer(self._index, width, self._cells, half, faiss.METRIC_L2)
            self._index.cp.niter = 5
            self._index.cp.max_points_per_centroid = 39  # fewer would be called too few
            self._index.nprobe = PROBES
            self._index.train(reference)
        self._index.add(reference)

    def search(self, queries: Floats, k: int, own: Ints | None = None) -> tuple[Floats, Ints]:
        """Return distances and positions of the k nearest reference rows of each query.

        `own` gives the position each query has itself among the reference rows (−1: none); a row is not its own
        neighbour.
        """
        extra = 0 if own is None else 1
        squared, found = self._nearest(self._near_zero(queries), min(k + extra, self.size))
        if own is not None:
            keep = found != own[:, None]
            keep[keep.all(axis=1), -1] = False
            shape = (len(queries), found.shape[1] - 1)
            squared, found = squared[keep].reshape(shape), found[keep].reshape(shape)
        return np.sqrt(np.maximum(squared, 0)), found

    def _near_zero(self, rows: Floats) -> Floats:
        return np.ascontiguousarray(rows if self._centre is None else rows - self._centre)

    def _nearest(self, queries: Floats, count: int) -> tuple[Floats, Ints]:
        squared, found = self._index.search(queries, count)
        short = np.flatnonzero(found[:, -1] < 0)
        if len(short) > 0:  # the cells around them hold too few rows
            import faiss

            everywhere = faiss.SearchParametersIVF()
            everywhere.nprobe = self._cells
            squared[short], found[short] = self._index.search(queries[short], count, params=everywhere)
        return squared, found


def _far_centre(reference: Floats) -> Floats | None:
    """Return the mean of rows that lie far from zero; None of others, which are searched as they are."""
    centre = reference.mean(axis=0, dtype=np.float64)
    spread = float(reference.std(axis=0, dtype=np.float64).max(initial=0))
    far = spread > 0 and np.abs(centre).max(initial=0) > FAR * spread
    return centre.astype(np.float32) if far else None


def stratified(labels: Ints, size: int, rng: np.random.Generator) -> Ints:
    """Pick about `size` rows with every class at its share, and at least one of each; sorted."""
    if size >= len(labels):
        return np.arange(len(labels))
    picked = []
    for k in np.unique(labels):
        rows = np.flatnonzero(labels == k)
        count = max(1, round(size * len(rows) / len(labels)))
        picked.append(rng.choice(rows, size=min(count, len(rows)), replace=False))
    return np.sort(np.concatenate(picked))


def shares(labels: Ints, weights: Floats, n_classes: int) -> Floats:
    """Sum `weights` (n×k) by the neighbours' `labels` (n×k) and return each class's share."""
    n = len(labels)
    cells = (np.arange(n)[:, None] * n_classes + labels).ravel()
    votes = np.bincount(cells, weights=weights.ravel(), minlength=n * n_classes)
    votes = votes.reshape(n, n_classes)
    return np.asarray(votes / np.maximum(votes.sum(axis=1, keepdims=True), 1e-30), dtype=np.float32)


def inverse_distance(distances: Floats) -> Floats:
    """Weights 1/d; where a neighbour coincides with the query, only such neighbours count."""
    zero = distances == 0
    with np.errstate(divide="ignore"):
        weights = 1 / distances
    return np.where(zero.any(axis=1, keepdims=True), zero, weights).astype(np.float32)
