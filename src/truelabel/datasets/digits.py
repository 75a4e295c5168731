"""The 1,797 handwritten digits of 8×8 pixels that come with scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from truelabel.datasets.split import Dataset, Split
from truelabel.datasets.stratified import train_test_rows


def load_digits(root: Path, download: bool) -> Dataset:
    """Return the digits, pixels in [0, 1] and shape (n, 1, 8, 8), a fixed third of them for testing."""
    from sklearn import datasets

    bundled = datasets.load_digits()
    x = (bundled.images[:, None] / 16).astype(np.float32)
    whole = Split(x, bundled.target, tuple("0123456789"))
    train, test = train_test_rows(whole.labels, 1 / 3, seed=0)
    return Dataset("digits", whole[train], whole[test])
