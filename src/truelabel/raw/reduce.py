"""Reducing wide features to their principal components, which no label has a part in."""

from __future__ import annotations

from typing import Any

import numpy as np

from truelabel.arrays import Array, Floats, float32, row_blocks

SAMPLE = 20_000  # rows that the components are found on, at most
BLOCK = 8_192


def principal(array: Array, components: int, seed: int) -> Floats:
    """Return at most so many principal components of n×d numbers, strongest first."""
    from sklearn.decomposition import PCA

    n, d = array.shape
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:SAMPLE])
    most = min(components, d, len(rows))
    solver = "full" if d <= 256 or most > 0.5 * min(d, len(rows)) else "randomized"
    found: Any = PCA(most, svd_solver=solver, random_state=seed).fit(float32(array, rows))
    out = np.empty((n, most), dtype=np.float32)
    for block in row_blocks(n, BLOCK):
        out[block] = found.transform(float32(array, block))
    return out


def together(*parts: Floats) -> Floats:
    """Put features side by side, each brought to the same total variance."""
    return np.concatenate([part / max(float(np.sqrt(part.var(axis=0).sum())), 1e-12) for part in parts], axis=1)
