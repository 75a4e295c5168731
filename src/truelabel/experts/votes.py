"""The k-NN vote of the noisy labels on one view."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Array, Floats, Ints, float32, row_blocks
from truelabel.copies import ALONE, Copies
from truelabel.neighbours import Neighbours, shares
from truelabel.pool import clearly_above, logs
from truelabel.progress import Progress
from truelabel.scale import Scale, moments

CANDIDATES = (5, 10, 20, 40, 80)  # numbers of neighbours that are tried
SCALES = ("whole", "unit", "columns")  # the first, unless the best of the others is clearly better
TRIAL_ROWS = 2_000
QUERY_BLOCK = 8_192
NEAREST = 10  # neighbours whose beliefs vote, at most
FOUND_AT_ONCE = 4_000_000  # neighbours that are searched at a time where copies are among them


class Vote:
    """The share of each label among the k nearest reference instances, the instance itself and its copies left out.

    One vote more is shared by all labels as they are in the whole, so that no label has probability 0.
    """

    def __init__(
        self,
        scale: Scale,
        k: int,
        index: Neighbours,
        labels: Ints,
        reference: Ints,
        c: int,
        copies: Copies | None = None,
    ) -> None:
        self.scale, self.k, self.index, self.copies = scale, k, index, copies
        self.labels, self.reference = labels[reference], reference
        self.base = np.bincount(self.labels, minlength=c).astype(np.float32) / len(reference)
        self.nearest: Ints = np.empty((0, 0), dtype=np.int32)

    @classmethod
    def best(
        cls,
        view: Array,
        labels: Ints,
        reference: Ints,
        c: int,
        k: int | None,
        rng: np.random.Generator,
        copies: Copies | None = None,
    ) -> Vote:
        """Try scales and numbers of neighbours (if k is None) on some rows; keep what predicts their labels best."""
        mean, deviation = moments(view)
        trial = np.sort(rng.choice(reference, min(TRIAL_ROWS, len(reference)), replace=False))
        others = len(reference) - (1 if copies is None else copies.largest(reference))
        ks = [k for k in CANDIDATES if k < len(reference) / 2 and k <= others] or [1]
        if k is not None:
            ks = [max(1, min(k, others))]
        tried: dict[str, tuple[Floats, Vote]] = {}
        for name in SCALES:
            scale = Scale(name, mean, deviation)
            index = Neighbours(scale(float32(view, reference)), approximate=True)
            vote = cls(scale, max(ks), index, labels, reference, c, copies)
            found = vote.neighbours(view, trial)
            said = [logs(vote.smoothed(found[:, :k]))[np.arange(len(trial)), labels[trial]] for k in ks]
            most = max(range(len(ks)), key=lambda i: float(said[i].mean()))
            tried[name] = said[most], cls(scale, ks[most], index, labels, reference, c, copies)
        best = max(tried, key=lambda name: float(tried[name][0].mean()))
        _, chosen = tried[best if clearly_above(tried[best][0], tried[SCALES[0]][0]) else SCALES[0]]
        return chosen

    def neighbours(self, view: Array, rows: slice | Ints) -> Ints:
        positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        place = np.searchsorted(self.reference, positions).clip(max=len(self.reference) - 1)
        own = np.where(self.reference[place] == positions, place, -1)
        _, found = self.index.search(self.scale(float32(view, rows)), self.k, own)
        if self.copies is not None:
            self._leave_out_copies(self.copies.group, view, positions, found)
        return found

    def _leave_out_copies(self, group: Ints, view: Array, positions: Ints, found: Ints) -> None:
        """Search again for the rows that have copies among their neighbours, as much farther as there are copies."""
        voters = group[self.reference]
        copied = (group[positions] != ALONE) & (voters[found] == group[positions][:, None]).any(axis=1)
        rows = np.flatnonzero(copied)
        count = np.bincount(voters + 1, minlength=int(group.max()) + 2)[group[positions[rows]] + 1]
        extra = 2 ** np.ceil(np.log2(count)).astype(np.int64)
        for more in np.unique(extra):
            part, k = rows[extra == more], self.k + int(more)
            for block in row_blocks(len(part), max(1, FOUND_AT_ONCE // k)):
                here = part[block]
                _, wider = self.index.search(self.scale(float32(view, positions[here])), k)
                same = voters[wider] == group[positions[here]][:, None]
                kept = np.argsort(same, axis=1, kind="stable")[:, : self.k]
                found[here] = np.take_along_axis(wider, kept, axis=1)

    def smoothed(self, found: Ints) -> Floats:
        k = found.shape[1]
        votes = shares(self.labels[found], np.ones(found.shape, dtype=np.float32), len(self.base))
        return np.asarray((k * votes + self.base) / (k + 1), dtype=np.float32)

    def everywhere(self, view: Array, progress: Progress) -> Floats:
        """Return the vote of the neighbours' labels; remember the nearest of them."""
        out = np.empty((len(view), len(self.base)), dtype=np.float32)
        self.nearest = np.empty((len(view), min(NEAREST, self.k)), dtype=np.int32)
        for rows in progress.track(list(row_blocks(len(view), QUERY_BLOCK)), "neighbours"):
            found = self.neighbours(view, rows)
            self.nearest[rows] = self.reference[found[:, : self.nearest.shape[1]]]
            out[rows] = self.smoothed(found)
        return out

    def of_beliefs(self, believed: Floats) -> Floats:
        """Return the mean of what is believed of the nearest; one vote more is shared as in the whole."""
        k = self.nearest.shape[1]
        out = np.tile(believed.mean(axis=0, dtype=np.float64).astype(np.float32), (len(believed), 1))
        for rows in row_blocks(len(out), QUERY_BLOCK):
            for j in range(k):
                out[rows] += believed[self.nearest[rows, j]]
        out /= k + 1
        return out
