"""MNIST and Fashion-MNIST, in the layout that torchvision keeps them in."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from truelabel.arrays import Array
from truelabel.datasets.download import Remote, fetch
from truelabel.datasets.idx import read_idx
from truelabel.datasets.split import Dataset, Split

PARTS = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)

MNIST_HOMES = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/")
MNIST_MD5 = (
    "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "d53e105ee54ea40749a09fcbcd1e9432",
    "9fb629c4189551a2d022fa330f9573f3",
    "ec29112dd5afa0611ce80d1b7f02629c",
)

FASHION_HOMES = (
    "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
)
FASHION_MD5 = (
    "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "25c81989df183df01b3e8a0aad5dffbe",
    "bef4ecab320f06d8554ea6380940ec79",
    "bb300cfdad3c16e7a12a480ee83cd310",
)
FASHION_CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)


def load_mnist(root: Path, download: bool) -> Dataset:
    """Return MNIST, pixels in [0, 1] and shape (n, 1, 28, 28)."""
    return _load("mnist", root / "MNIST" / "raw", MNIST_HOMES, MNIST_MD5, tuple("0123456789"), download)


def load_fashion_mnist(root: Path, download: bool) -> Dataset:
    """Return Fashion-MNIST, pixels in [0, 1] and shape (n, 1, 28, 28)."""
    folder = root / "FashionMNIST" / "raw"
    return _load("fashion-mnist", folder, FASHION_HOMES, FASHION_MD5, FASHION_CLASSES, download)


def _load(
    name: str,
    folder: Path,
    homes: tuple[str, ...],
    checksums: tuple[str, ...],
    class_names: tuple[str, ...],
    download: bool,
) -> Dataset:
    remotes = [Remote(f"{part}.gz", f"md5:{md5}", homes) for part, md5 in zip(PARTS, checksums, strict=True)]
    wanted = [remote for remote, part in zip(remotes, PARTS, strict=True) if _path(folder, part) is None]
    if wanted:
        fetch(name, wanted, folder, download)
    x, y, x_test, y_test = (_read(folder, part) for part in PARTS)
    return Dataset(name, _split(x, y, class_names), _split(x_test, y_test, class_names))


def _path(folder: Path, part: str) -> Path | None:
    """Return the file, unpacked as torchvision leaves it or packed as it comes, if there is one."""
    return next((path for path in (folder / part, folder / f"{part}.gz") if path.exists()), None)


def _read(folder: Path, part: str) -> Array:
    path = _path(folder, part)
    assert path is not None
    return read_idx(path)


def _split(x: Array, y: Array, class_names: tuple[str, ...]) -> Split:
    return Split((x[:, None] / np.float32(255)).astype(np.float32, copy=False), y, class_names)
