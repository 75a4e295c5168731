"""An instance's nearest neighbours, found when they are asked for."""

from __future__ import annotations

import threading
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from truelabel.arrays import Ints, float32
from truelabel.labels.support import NEIGHBOURS, REFERENCE, view_of
from truelabel.neighbours import Neighbours, stratified

if TYPE_CHECKING:
    from truelabel.labels.examined import Examined
    from truelabel.scale import Scale

REMEMBERED = 20_000  # instances whose neighbours are kept


class Nearest:
    """The nearest neighbours of instances in the label-free features, as `support` counts them.

    Parameters
    ----------
    examined : Examined
        The instances. Where there are many, neighbours are found among 50,000 of them.
    """

    def __init__(self, examined: Examined) -> None:
        self._predictions = examined.predictions
        self.view = examined.neighbour_view
        self._labels = examined.found.labels
        self._lock = threading.Lock()
        self.of = lru_cache(REMEMBERED)(self._of)

    def __bool__(self) -> bool:
        """Return whether anything is known by which neighbours can be found."""
        return self.view is not None and len(self._predictions) > 1

    @cached_property
    def _index(self) -> tuple[Neighbours, Scale, Ints]:
        from truelabel.scale import Scale, moments

        assert self.view is not None
        name, kind = self.view
        view = view_of(self._predictions, name)
        reference = stratified(self._labels, REFERENCE, np.random.default_rng(0))
        scale = Scale(kind, *moments(view))
        return Neighbours(scale(float32(view, reference))), scale, reference

    def _of(self, row: int) -> tuple[int, ...]:
        """Return the rows of an instance's ten nearest neighbours, the nearest first."""
        if not self:
            return ()
        assert self.view is not None
        view = view_of(self._predictions, self.view[0])
        with self._lock:
            index, scale, reference = self._index
        place = int(np.searchsorted(reference, row))
        among = place < len(reference) and reference[place] == row
        own = np.array([place if among else -1])
        k = min(NEIGHBOURS, len(reference) - 1)
        _, near = index.search(scale(float32(view, slice(row, row + 1))), k, own)
        return tuple(int(neighbour) for neighbour in reference[near[0][:k]])
