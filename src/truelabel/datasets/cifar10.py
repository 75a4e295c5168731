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
    """Return CIFAR-10 as (n, 3, 32, 32), each channel with mean 0 and deviation 1 over the training set."""
    folder = root / FOLDER
    if not all((folder / name).exists() for name in TRAIN + TEST):
        fetch_archive("cifar10", ARCHIVE, root, download)
    x, y = _read(folder, TRAIN)
    x_test, y_test = _read(folder, TEST)
    mean, std = channel_moments(x)
    train = Split(_normalise(x, mean, std), y, CLASSES)
    return Dataset("cifar10", train, Split(_normalise(x_test, mean, std), y_test, CLASSES))


def channel_moments(x: Array) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of each channel of uint8 images, scaled to [0, 1]."""
    levels = np.arange(256) / 255
    # Counting the 256 levels is exact and needs no copy of the images in floating point.
    counts = np.stack([np.bincount(x[:, channel].ravel(), minlength=256) for channel in range(x.shape[1])])
    shares = counts / counts.sum(axis=1, keepdims=True)
    mean = shares @ levels
    variance = shares @ levels**2 - mean**2
    return mean.astype(np.float32), np.sqrt(variance).astype(np.float32)


def _normalise(x: Array, mean: Floats, std: Floats) -> Floats:
    out = x.astype(np.float32)
    out /= 255
    out -= mean[:, None, None]
    out /= std[:, None, None]
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
