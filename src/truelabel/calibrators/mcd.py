"""The minimum covariance determinant estimate, for many classes and many starts at once.

Rousseeuw and Van Driessen, "A Fast Algorithm for the Minimum Covariance Determinant Estimator", Technometrics 1999: of
all subsets of h of the n rows, find the one whose covariance has the smallest determinant; mean and covariance of that
subset cannot be carried away by the other n - h rows. A concentration step takes the h rows that are nearest, in
Mahalanobis distance, to the mean of the present subset, and never raises the determinant.

A start here is the h rows nearest to a point (the spatial median of the class, or one of its rows): a start of the
original, d + 1 rows, is all clean with probability (1 - ε)^(d + 1), next to nothing for hidden layers. Starts are tried
on a sample of the class, and the best are concentrated on all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truelabel.arrays import Array, Ints

MOST = 0.55  # share of the rows that the subset takes at most, unless told
SAMPLE = 500  # rows of a class that starts are tried on
FIRST_STEPS = 2  # concentration steps after which starts are compared
FINALISTS = 5
KEPT = 0.975  # probability of the ellipsoid within which rows count in the end
RIDGE = 1e-6  # share of the mean variance that is added to every direction
CHUNK_VALUES = 4_000_000  # entries of the padded classes that are held at a time


@dataclass(frozen=True)
class RobustGaussian:
    """Mean and covariance of the bulk of some rows.

    Attributes
    ----------
    mean, covariance : (d,) and (d, d) array
        The estimate, from the rows that are kept, scaled to be right where the rows are Gaussian.
    support : (n,) bool array
        The h rows whose covariance has the smallest determinant found.
    kept : (n,) bool array
        The rows within the ellipsoid that they define.
    """

    mean: Array
    covariance: Array
    support: Array
    kept: Array


def robust_gaussians(
    groups: Sequence[Array],
    rng: np.random.Generator,
    *,
    support: float | None = None,
    starts: int = 10,
    steps: int = 30,
) -> list[RobustGaussian]:
    """Return the minimum covariance determinant estimate of each group of rows, reweighted.

    Parameters
    ----------
    groups : sequence of (n, d) arrays
        The rows of each class; at least one row each, and all of one width d.
    rng : numpy.random.Generator
        Draws samples and starts.
    support : float, optional
        h as a share of n. By default h = (n + d + 1) / 2, which bears the most outliers, but no more than 0.55 n.
    starts : int, default 10
        How many starts are tried for each class; the first is the spatial median.
    steps : int, default 30
        The most concentration steps that follow.

    Notes
    -----
    Where h < 2d the covariance of a subset is shrunk towards a sphere of the same mean variance, by 1 - h / 2d, so that
    its determinant says something; the returned covariance is that of the kept rows, not shrunk.
    """
    sizes = np.array([len(group) for group in groups])
    d = groups[0].shape[1]
    h = np.minimum((sizes + d + 1) // 2, np.ceil(MOST * sizes)) if support is None else np.ceil(support * sizes)
    h = np.clip(h, 1, sizes).astype(np.int64)
    found: list[RobustGaussian | None] = [None] * len(groups)
    for chunk in _chunks(sizes, d):
        sampled = [rng.permutation(sizes[k])[:SAMPLE] for k in chunk]
        x, valid = _padded([groups[k][rows] for k, rows in zip(chunk, sampled, strict=True)])
        some = np.ceil(h[chunk] * valid.sum(axis=1) / sizes[chunk]).astype(np.int64)
        chosen = _first_subsets(x, valid, some, _centres(x, valid, starts, rng))
        chosen, log_det = _concentrate(x, valid, chosen, some, min(FIRST_STEPS, steps))
        best = np.argsort(log_det, axis=1, kind="stable")[:, :FINALISTS]
        chosen = np.take_along_axis(chosen, best[:, :, None], axis=1)
        mean, covariance = _moments(x, chosen, some)
        x, valid = _padded([groups[k] for k in chunk])
        chosen = _nearest(_distances(x, mean, covariance), valid, h[chunk])
        chosen, log_det = _concentrate(x, valid, chosen, h[chunk], steps - min(FIRST_STEPS, steps))
        winner = log_det.argmin(axis=1)
        for row, k in enumerate(chunk):
            found[k] = _reweighted(groups[k], chosen[row, winner[row], : sizes[k]])
    return [gaussian for gaussian in found if gaussian is not None]


def _chunks(sizes: Ints, d: int) -> list[Ints]:
    """Cut the classes, the small ones first, into chunks whose padded rows fit into memory."""
    chunks: list[list[int]] = [[]]
    for k in np.argsort(sizes, kind="stable"):
        if chunks[-1] and (len(chunks[-1]) + 1) * sizes[k] * d > CHUNK_VALUES:
            chunks.append([])
        chunks[-1].append(int(k))
    return [np.array(chunk) for chunk in chunks]


def _padded(groups: Sequence[Array]) -> tuple[Array, Array]:
    """Return the groups as one (g, m, d) array, and which of its rows there are."""
    sizes = np.array([len(group) for group in groups])
    x = np.zeros((len(groups), sizes.max(), groups[0].shape[1]))
    for row, group in enumerate(groups):
        x[row, : len(group)] = group
    return x, np.arange(x.shape[1]) < sizes[:, None]


def _centres(x: Array, valid: Array, starts: int, rng: np.random.Generator) -> Array:
    """Return (g, starts, d) points to start from: the spatial median of each group, then rows at random."""
    median = (x * valid[:, :, None]).sum(axis=1) / valid.sum(axis=1)[:, None]
    for _ in range(20):
        away = np.sqrt(np.square(x - median[:, None]).sum(axis=2))
        weights = valid / np.maximum(away, 1e-9 * max(float(away.max()), 1e-30))
        median = np.einsum("gm,gmd->gd", weights, x) / weights.sum(axis=1)[:, None]
    rows = (rng.random((len(x), starts - 1)) * valid.sum(axis=1)[:, None]).astype(np.int64)
    return np.concatenate([median[:, None], np.take_along_axis(x, rows[:, :, None], axis=1)], axis=1)


def _first_subsets(x: Array, valid: Array, h: Ints, centres: Array) -> Array:
    """Return (g, s, m) masks of the h rows nearest to each centre."""
    squares = np.square(x).sum(axis=2)[:, None] - 2 * centres @ x.transpose(0, 2, 1)
    return _nearest(squares, valid, h)


def _nearest(distances: Array, valid: Array, h: Ints) -> Array:
    """Return masks of the h smallest of each row of (g, s, m) distances, among the valid ones."""
    order = np.argsort(np.where(valid[:, None], distances, np.inf), axis=2, kind="stable")
    chosen = np.zeros(distances.shape, dtype=bool)
    np.put_along_axis(chosen, order, np.arange(distances.shape[2]) < h[:, None, None], axis=2)
    return chosen


def _concentrate(x: Array, valid: Array, chosen: Array, h: Ints, steps: int) -> tuple[Array, Array]:
    """Take concentration steps until nothing changes; return the subsets and their log determinants."""
    for _ in range(steps):
        after = _nearest(_distances(x, *_moments(x, chosen, h)), valid, h)
        done = np.array_equal(after, chosen)
        chosen = after
        if done:
            break
    return chosen, np.linalg.slogdet(_moments(x, chosen, h)[1])[1]


def _moments(x: Array, chosen: Array, h: Ints) -> tuple[Array, Array]:
    """Return means (g, s, d) and regularised covariances (g, s, d, d) of the subsets."""
    d = x.shape[2]
    mean = chosen @ x / h[:, None, None]
    covariance = np.empty((*mean.shape, d))
    for s in range(mean.shape[1]):
        centred = (x - mean[:, s, None]) * chosen[:, s, :, None]
        covariance[:, s] = centred.transpose(0, 2, 1) @ centred / h[:, None, None]
    spherical = np.maximum(np.trace(covariance, axis1=2, axis2=3) / d, 1e-30)[:, :, None, None] * np.eye(d)
    shrinkage = np.clip(1 - h / (2 * d), RIDGE, 1)[:, None, None, None]
    return mean, (1 - shrinkage) * covariance + shrinkage * spherical


def _distances(x: Array, mean: Array, covariance: Array) -> Array:
    """Return squared Mahalanobis distances (g, s, m) of all rows to each subset."""
    precision = np.linalg.inv(covariance)
    out = np.empty((*mean.shape[:2], x.shape[1]))
    for s in range(mean.shape[1]):
        centred = x - mean[:, s, None]
        out[:, s] = np.einsum("gmd,gmd->gm", centred @ precision[:, s], centred)
    return out


def _reweighted(rows: Array, support: Array) -> RobustGaussian:
    """Return the estimate from all rows within the ellipsoid that holds 97.5 % of the Gaussian of the subset."""
    d, h = rows.shape[1], np.array([support.sum()])
    mean, covariance = _moments(rows[None], support[None, None], h)
    covariance = covariance * _consistency(support.mean(), d)
    kept = (_distances(rows[None], mean, covariance)[0, 0] <= _quantile(KEPT, d)) | support
    centre = rows[kept].mean(axis=0)
    centred = rows[kept] - centre
    scatter = centred.T @ centred / kept.sum()
    return RobustGaussian(centre, scatter * _consistency(max(KEPT, support.mean()), d), support, kept)


def _consistency(share: float, d: int) -> float:
    """Return by how much the covariance of the nearest `share` of Gaussian rows is too small."""
    from scipy.stats import chi2

    return 1.0 if share >= 1 else float(share / chi2.cdf(_quantile(share, d), d + 2))


def _quantile(share: float, d: int) -> float:
    from scipy.stats import chi2

    return float(chi2.ppf(share, d))
