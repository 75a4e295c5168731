"""CIFAR-10, from its binary version: plain bytes, which nothing needs to be run to read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from truelabel.arrays import Array, Floats
from truelabel.datasets.download import Remote, fetch_archive
from truelabel.datasets.split import Dataset, Split

ARCHIVE = Remote(
    "cifar-10-binary.tar.gz",
    "md5:c32a1d4ab5d03f1284b67883e8d87530",
    ("https://www.cs.toronto.edu/~kriz/",),
)
FOLDER = "cifar-10-batches-bin"
TRAIN = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
TEST = ("test_batch.bin",)
RECORD = 1 + 3 * 32 * 32  # a label, then the red, green and blue pixels row by row
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def load_cifar10(root: Path, download: bool) -> Dataset:
    """Return CIFAR-10 as (n, 3, 32, 32) with pixels from -1 to 1.

    That is the scale of the released experiments (mean and deviation 0.5). It decides how sharp instance-dependent
    noise is, whose classes a projection of the pixels chooses.
    """
    folder = root / FOLDER
    if not all((folder / name).exists() for name in TRAIN + TEST):
        fetch_archive("cifar10", ARCHIVE, root, download)
    x, y = _read(folder, TRAIN)
    x_test, y_test = _read(folder, TEST)
    train, test = Split(_normalise(x), y, CLASSES), Split(_normalise(x_test), y_test, CLASSES)
    return Dataset("cifar10", train, test)


def _normalise(x: Array) -> Floats:
    out = x.astype(np.float32)
    out /= 127.5
    out -= 1
    return out


def _read(folder: Path, names: tuple[str, ...]) -> tuple[Array, Array]:
    records = np.concatenate([_records(folder / name) for name in names])
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]


def _records(path: Path) -> Array:
    data = np.fromfile(path, dtype=np.uint8)
    if len(data) == 0 or len(data) % RECORD:
        raise ValueError(
            f"{path} holds {len(data)} bytes, which is not a number of {RECORD}-byte records; "
            "delete it to have it downloaded again."
        )
    return data.reshape(-1, RECORD)
