"""Datasets by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from truelabel.datasets.cifar10 import load_cifar10
from truelabel.datasets.clothing1m import load_clothing1m
from truelabel.datasets.digits import load_digits
from truelabel.datasets.download import data_root
from truelabel.datasets.food101 import load_food101
from truelabel.datasets.mnist import load_fashion_mnist, load_mnist
from truelabel.datasets.split import Dataset, Split
from truelabel.datasets.stratified import stratified_rows

_LOADERS: dict[str, Callable[[Path, bool], Dataset]] = {
    "digits": load_digits,
    "mnist": load_mnist,
    "fashion-mnist": load_fashion_mnist,
    "cifar10": load_cifar10,
    "food101": load_food101,
    "clothing1m": load_clothing1m,
}

NAMES: dict[str, str] = {
    "digits": "1,797 digits of 8×8 pixels, 10 classes; comes with scikit-learn",
    "mnist": "70,000 digits of 28×28 pixels, 10 classes",
    "fashion-mnist": "70,000 pieces of clothing of 28×28 pixels, 10 classes",
    "cifar10": "60,000 colour images of 32×32 pixels, 10 classes",
    "food101": "101,000 photographs of dishes, 101 classes, with real mistakes in the training labels",
    "clothing1m": "1,000,000 photographs of clothing, 14 classes, with real mistakes; on request only",
}


def load(
    name: str,
    root: str | os.PathLike[str] | None = None,
    subset: int | None = None,
    seed: int = 0,
    download: bool = True,
    *,
    test_subset: int | None = None,
) -> Dataset:
    """Load a dataset, downloading what is missing.

    Parameters
    ----------
    name : str
        One of `datasets.NAMES`.
    root : path, optional
        The folder with the data, laid out as torchvision does; by default $TRUELABEL_DATA, or
        ``~/.cache/truelabel``.
    subset : int, optional
        Keep this many training instances, in the classes' proportions.
    seed : int, default 0
        Decides which.
    download : bool, default True
        Whether to download what is missing.
    test_subset : int, optional
        Keep this many test instances, chosen alike; by default all.

    Examples
    --------
    >>> from truelabel import datasets
    >>> datasets.load("digits", subset=100).train
    Split(n=100, classes=10, in_shape=(1, 8, 8))
    """
    if name not in _LOADERS:
        raise ValueError(
            f"There is no dataset named {name!r}; choose one of {', '.join(NAMES)}, or use "
            "image_folder, table or arrays for data of your own."
        )
    data = _LOADERS[name](data_root(root), download)
    return replace(data, train=_sample(data.train, subset, seed), test=_sample(data.test, test_subset, seed))


def _sample(split: Split, n: int | None, seed: int) -> Split:
    return split if n is None else split[stratified_rows(split.labels, n, seed)]
