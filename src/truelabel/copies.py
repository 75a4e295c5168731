"""Copies among instances: exact ones, and ones that differ by next to nothing; so many only as chance cannot explain.

Equal features alone prove no copy: in a table of a few categories most rows are equal to some other. Nor do small
distances: in dense data all are small. Two things are asked. A copy is much nearer than the nearest instance that is
none. And each half of the columns alone shows it: if two instances were alike by chance, there would be others that
are as much alike in one half of the columns and differ in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from truelabel.arrays import BLOCK_VALUES, Array, Floats, Ints, float32, row_blocks
from truelabel.neighbours import Neighbours
from truelabel.scale import Scale, moments

ALONE = -1
NEARER = 4.0  # times that a copy is nearer than the nearest instance that is none, at least
BY_CHANCE = 0.05  # such instances that chance alone is expected to make among all, at most
RARELY = 0.1  # sets of equal rows that chance makes, as a share of those that are called copies, at most
UNSEEN = 0.1  # others that are equal in half of the columns, expected where there is none but usually are some
IN_HALVES = 2.0  # times that it is nearer in each half of the columns
NEIGHBOURS = 10  # of an instance, among which its copies are found
OUTER = 5  # the farthest of these, which tell how fast instances become more with distance
SPLITS = 5  # of the columns into two halves
FEWEST = 10  # different instances below which nothing can be said of chance
LEAST_DIFFERENT = 0.2  # share of different instances, likewise
SAMPLE = 2_000  # instances that dimensions are estimated from
BLOCK = 8_192


@dataclass(frozen=True)
class Copies:
    """Which instances are copies of each other.

    Attributes
    ----------
    group : (n,) array
        The number of each instance's group of copies, numbered as they come; −1 for an instance without a copy.
    exact : (g,) array of bool
        Whether all of a group have the same features to the last bit.
    nearer : (g,) array
        How many times nearer the copies of a group are, the one that fits least, than the nearest instance that is no
        copy; infinite where all are exact.
    """

    group: Ints
    exact: Array
    nearer: Array

    def __len__(self) -> int:
        return len(self.exact)

    @property
    def units(self) -> Ints:
        """A number for each group and for each instance without a copy, as they come: what is never taken apart."""
        n = len(self.group)
        own = np.where(self.group == ALONE, np.arange(n), n + self.group)
        _, first, place = np.unique(own, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[place]

    def largest(self, rows: Ints) -> int:
        """Return how many copies of one instance there are among these rows, at most; 1 where there are none."""
        group = self.group[rows]
        return max(1, int(np.bincount(group[group != ALONE], minlength=1).max()))

    def folds_elsewhere(self, rows: Ints, folds: Ints) -> Ints:
        """Return for each instance the fold that its copies among `rows` are in, by the `folds` of these; else −1."""
        of_group = np.full(len(self) + 1, ALONE)
        of_group[self.group[rows]] = folds
        of_group[-1] = ALONE
        return of_group[self.group]

    def __getitem__(self, rows: Array) -> Copies:
        """Return the copies among some of the instances."""
        group = self.group[rows]
        count = np.bincount(group + 1, minlength=len(self) + 1)
        count[0] = 0
        return _numbered(np.where(count[group + 1] > 1, group, ALONE), self.exact, self.nearer)


def folds_of(copies: Copies | None, rows: Ints, folds: int, rng: np.random.Generator) -> Ints:
    """Return the fold of each of these rows, with copies in one fold; there may be fewer folds than asked for."""
    if copies is None:
        return rng.permutation(np.arange(len(rows)) % min(folds, len(rows)))
    units = copies[rows].units
    count = int(units.max()) + 1
    return np.asarray(rng.permutation(np.arange(count) % min(folds, count))[units])


def find_copies(views: Mapping[str, Array], reference: Ints | None = None) -> Copies | None:
    """Return which instances are copies of each other in all views together; None where there are none.

    Parameters
    ----------
    views : mapping of names to (n, d) arrays
        Features.
    reference : (m,) array, optional
        Rows, sorted, at least one of which is in each near pair that is looked for: for those who have no use for
        others. By default all.
    """
    n = len(next(iter(views.values()))) if views else 0
    columns = _Columns(views)
    if n < FEWEST or columns.varying < 2:
        return None
    words = columns.hashes()
    same = _equal_rows(columns, words[:, 0])
    different = int(same.max()) + 1
    if different < max(FEWEST, LEAST_DIFFERENT * n):
        return None
    size = np.bincount(same)
    proven = (size > 1) & _beyond_chance(same, size, words) & ~_empty(columns, same)
    proven &= _equal_by_chance(same, words) <= RARELY * proven.sum()
    first = _firsts(same, reference)
    asked = np.sort(first[(size == 1) | proven])
    asked = asked[~_empty(columns, np.arange(n))[asked]]
    one, other, nearer = _near_pairs(columns, asked, reference, rng=np.random.default_rng(0))
    return _joined(same, proven, one, other, nearer)


class _Columns:
    """The columns of all views side by side, each view brought to scale, and cut into halves several times."""

    def __init__(self, views: Mapping[str, Array]) -> None:
        self.views = list(views.values())
        self.n = len(self.views[0]) if self.views else 0
        self.scales, deviations = [], []
        for view in self.views:
            mean, deviation = moments(view)
            scale = Scale("whole", mean, deviation)
            varies = deviation > 1e-6 * max(float(deviation.max()), 1e-30)
            self.scales.append((scale, np.float32(1 / np.sqrt(view.shape[1]))))
            deviations.append(np.where(varies, deviation / scale.divisor, 0) / np.sqrt(view.shape[1]))
        weight = np.concatenate(deviations) if deviations else np.zeros(0)
        if weight.any():
            weight[self._twins()] = 0
        self.varying = int((weight > 0).sum())
        self.halves = _halves(weight, np.random.default_rng(0))

    def _twins(self) -> Array:
        """Return which columns say the same as an earlier one, as the two indicators of two categories do."""
        sample = self.raw(np.unique(np.linspace(0, self.n - 1, SAMPLE, dtype=np.int64))).astype(np.float64)
        sample -= sample[:1]
        largest = np.abs(sample).max(axis=0)
        scaled = sample / np.maximum(largest, 1e-300)
        sign = np.sign(scaled[np.abs(scaled).argmax(axis=0), np.arange(scaled.shape[1])])
        _, first = np.unique(np.round(scaled * sign, 6) + 0.0, axis=1, return_index=True)
        twins: Array = np.asarray(largest > 0)
        twins[first] = False
        return twins

    def raw(self, rows: slice | Ints) -> Floats:
        """Return rows as they are, without a sign at zeros."""
        return np.concatenate([float32(view, rows) for view in self.views], axis=1) + np.float32(0)

    def scaled(self, rows: Ints) -> Floats:
        parts = [scale(float32(view, rows)) * by for view, (scale, by) in zip(self.views, self.scales, strict=True)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def hashes(self) -> Array:
        """Return numbers that are equal where rows are: of all columns, and of each half of them."""
        rng = np.random.default_rng(0)
        factors = rng.integers(2**63, size=(self.halves.shape[1], 1 + len(self.halves)), dtype=np.uint64) * 2 + 1
        factors[:, 1:] *= self.halves.T
        out = np.empty((self.n, factors.shape[1]), dtype=np.uint64)
        for rows in row_blocks(self.n, BLOCK):
            bits = np.ascontiguousarray(self.raw(rows)).view(np.uint32).astype(np.uint64)
            out[rows] = (bits ^ (bits >> np.uint64(16))) @ factors  # small numbers have zeros for last bits
        return out


def _halves(weight: Array, rng: np.random.Generator) -> Array:
    """Return 2·SPLITS masks of columns: in each split, of two columns that vary as much, one goes to each half."""
    order = np.argsort(-weight, kind="stable")[: int((weight > 0).sum())]
    masks = np.zeros((2 * SPLITS, len(weight)), dtype=bool)
    for split in range(SPLITS):
        side = rng.integers(2, size=(len(order) + 1) // 2)
        side = np.stack([side, 1 - side], axis=1).ravel()[: len(order)]
        for half in range(2):
            masks[2 * split + half, order[side == half]] = True
    return masks


def _equal_rows(columns: _Columns, words: Array) -> Ints:
    """Return a number for each different row, as they come."""
    order = np.argsort(words, kind="stable")
    new = np.ones(len(order), dtype=bool)
    for rows in row_blocks(len(order) - 1, BLOCK):
        here, after = order[rows], order[rows.start + 1 : rows.stop + 1]
        alike = np.flatnonzero(words[here] == words[after])
        new[rows.start + 1 + alike] = (columns.raw(here[alike]) != columns.raw(after[alike])).any(axis=1)
    same = np.empty(len(order), dtype=np.int64)
    same[order] = np.cumsum(new) - 1
    return same


def _beyond_chance(same: Ints, size: Ints, words: Array) -> Array:
    """Return for which different rows chance does not explain that several instances have them.

    If one half of the columns had nothing to do with the other, chance would make n · p · q more instances equal to one
    that is equal to a share p of all in one half, and to a share q in the other.
    """
    rare = np.ones(len(size), dtype=bool)
    if size.max() == 1:
        return rare
    for split in range(SPLITS):
        expected = np.ones(len(same))
        for column in (1 + 2 * split, 2 + 2 * split):
            _, place, count = np.unique(words[:, column], return_inverse=True, return_counts=True)
            others = count[place] - size[same]
            usual = others.mean()
            expected *= (others + UNSEEN) * usual / (usual + UNSEEN)
        rare[same[expected > BY_CHANCE]] = False
    return rare


def _equal_by_chance(same: Ints, words: Array) -> float:
    """Return how many sets of equal rows chance makes, at most, however much the columns depend on each other.

    Rows that are equal are equal in each half of the columns, too. So there are no more sets by chance than pairs of
    different rows that are equal in half of the columns: in the half where that is rarest.
    """
    _, first = np.unique(same, return_index=True)
    pairs = []
    for column in range(1, words.shape[1]):
        _, place, count = np.unique(words[first, column], return_inverse=True, return_counts=True)
        pairs.append(float((count[place] > 1).sum()) / 2)
    return min(pairs)


def _empty(columns: _Columns, same: Ints) -> Array:
    """Return which different rows consist of zeros, and say nothing."""
    out = np.zeros(int(same.max()) + 1, dtype=bool)
    for rows in row_blocks(columns.n, BLOCK):
        out[same[rows][~columns.raw(rows).any(axis=1)]] = True
    return out


def _firsts(same: Ints, reference: Ints | None) -> Ints:
    """Return one instance for each different row, from the reference where it has one."""
    first = np.full(int(same.max()) + 1, -1)
    order = np.arange(len(same))[::-1]
    first[same[order]] = order
    if reference is not None:
        first[same[reference[::-1]]] = reference[::-1]
    return first


def _near_pairs(
    columns: _Columns, asked: Ints, reference: Ints | None, rng: np.random.Generator
) -> tuple[Ints, Ints, Array]:
    """Return pairs of instances that are much nearer to each other than either is to any that is no copy."""
    among = asked if reference is None else np.intersect1d(asked, reference, assume_unique=True)
    nothing = np.empty(0, dtype=np.int64)
    if len(among) <= NEIGHBOURS:
        return nothing, nothing, np.empty(0)
    index = Neighbours(columns.scaled(among), approximate=True)
    sample = np.sort(rng.choice(among, min(SAMPLE, len(among)), replace=False))
    times = _times_nearer(_search(columns, index, among, sample)[0], len(among))
    outside = np.zeros(columns.n)  # distance to the nearest that is no copy
    pairs: list[tuple[Ints, Ints, Array]] = []
    others = np.setdiff1d(asked, among, assume_unique=True)
    for part in (among, others):
        for block in row_blocks(len(part), BLOCK):
            rows = part[block]
            distances, found = _search(columns, index, among, rows)
            outside[rows] = distances[:, 0]
            some = rows[(distances[:, -1] >= NEARER * distances[:, 0])]
            near, distances = _measured(columns, some, among[found[np.isin(rows, some)]])
            inside, outside[some] = _before_gap(distances, times)
            at, k = np.nonzero(inside & _near_in_halves(columns, some, near, inside))
            pairs.append((some[at], near[at, k], distances[at, k]))
    one, other, distance = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    nearer = np.minimum(outside[one], outside[other]) / np.maximum(distance, 1e-30)
    kept = nearer >= times
    return one[kept], other[kept], nearer[kept]


def _search(columns: _Columns, index: Neighbours, among: Ints, rows: Ints) -> tuple[Floats, Ints]:
    place = np.searchsorted(among, rows).clip(max=len(among) - 1)
    return index.search(columns.scaled(rows), NEIGHBOURS, np.where(among[place] == rows, place, -1))


def _measured(columns: _Columns, rows: Ints, found: Ints) -> tuple[Ints, Floats]:
    """Return the neighbours of rows by distances that are not rounded, as those of a search are, and the distances."""
    distances = np.empty(found.shape, dtype=np.float32)
    for block, away in _differences(columns, rows, found):
        distances[block] = np.sqrt(np.square(away).sum(axis=2))
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(distances, order, axis=1)


def _differences(columns: _Columns, rows: Ints, found: Ints) -> Iterator[tuple[slice, Floats]]:
    """Yield the differences (rows, neighbours, columns) of rows and their neighbours, a block of rows at a time."""
    size = max(1, BLOCK_VALUES // (found.shape[1] * columns.halves.shape[1]))
    for block in row_blocks(len(rows), size):
        here = found[block]
        yield block, columns.scaled(here.ravel()).reshape(*here.shape, -1) - columns.scaled(rows[block])[:, None]


def _times_nearer(distances: Floats, n: int) -> float:
    """Return how many times nearer than the next an instance must be for chance not to make such pairs.

    Among instances that lie evenly in m dimensions, the nearest is so many times nearer than the next one with the
    probability of one over that number to the power of m. The m is estimated from the outer neighbours, by how fast
    instances become more with distance there.
    """
    harmonic = np.cumsum(1 / np.arange(1, NEIGHBOURS + 1))
    j = np.arange(NEIGHBOURS - OUTER, NEIGHBOURS)  # the j-th nearest, from 1
    expected = float(np.mean(harmonic[NEIGHBOURS - 2] - np.r_[0, harmonic][j - 1]))
    outer = np.log(np.maximum(distances[:, -1:], 1e-30) / np.maximum(distances[:, j - 1], 1e-30)).mean(axis=1)
    dimensions = expected / max(float(np.median(outer)), 1e-6)
    return max(NEARER, float((n / BY_CHANCE) ** (1 / dimensions)))


def _before_gap(distances: Floats, times: float) -> tuple[Array, Floats]:
    """Return which neighbours come before the last gap of so many times, and the distance to the first after it."""
    gap = distances[:, 1:] >= times * distances[:, :-1]
    last = np.where(gap.any(axis=1), gap.shape[1] - gap[:, ::-1].argmax(axis=1), 0)
    return np.arange(distances.shape[1]) < last[:, None], distances[np.arange(len(last)), last]


def _near_in_halves(columns: _Columns, rows: Ints, found: Ints, inside: Array) -> Array:
    """Return which neighbours are nearer than all that are no copies in each half of the columns alone."""
    near = np.ones(found.shape, dtype=bool)
    halves = columns.halves.T.astype(np.float32)
    for block, away in _differences(columns, rows, found):
        distances = np.sqrt(np.square(away) @ halves)  # (rows, neighbours, halves)
        others = np.where(inside[block][:, :, None], np.inf, distances).min(axis=1, keepdims=True)
        near[block] = (IN_HALVES * distances <= others).all(axis=2)
    return near


def _joined(same: Ints, proven: Array, one: Ints, other: Ints, nearer: Array) -> Copies | None:
    """Return the groups that copies and copies of copies make."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    if not proven.any() and not len(one):
        return None
    different, n = len(proven), len(same)
    links = csr_matrix((np.ones(len(one), dtype=bool), (same[one], same[other])), shape=(different, different))
    count, part = connected_components(links, directed=False)
    several = np.bincount(part, minlength=count) > 1
    taken = several[part] | proven
    group = np.where(taken[same], part[same], ALONE)
    least = np.full(count, np.inf)
    np.minimum.at(least, part[same[one]], nearer)
    made = _numbered(group, ~several, least)
    assert len(made.group) == n
    return made


def _numbered(group: Ints, exact: Array, nearer: Array) -> Copies:
    """Return groups numbered as they come, with what is known of each."""
    there = np.flatnonzero(group != ALONE)
    old, first, place = np.unique(group[there], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    out = np.full(len(group), ALONE)
    out[there] = rank[place]
    return Copies(out, exact[old[order]], nearer[old[order]])
