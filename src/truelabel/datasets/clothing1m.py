"""Clothing1M (Xiao et al., 2015): a million images with labels from the text around them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from truelabel.arrays import Ints
from truelabel.datasets.images import LazyImages
from truelabel.datasets.split import Dataset, Split

HOME = "https://github.com/Cysu/noisy_label"
CLASSES = "category_names_eng.txt"
NOISY_KEYS, NOISY_LABELS = "noisy_train_key_list.txt", "noisy_label_kv.txt"
CLEAN_LABELS = "clean_label_kv.txt"
# The paper tests on all the images that people annotated, and trains on none of them.
CLEAN_KEYS = ("clean_train_key_list.txt", "clean_val_key_list.txt", "clean_test_key_list.txt")
NEEDED = (CLASSES, NOISY_KEYS, NOISY_LABELS, CLEAN_LABELS, CLEAN_KEYS[-1])


def load_clothing1m(root: Path, download: bool) -> Dataset:
    """Return Clothing1M with images that are read lazily as (3, 224, 224)."""
    folder = root / "clothing1m"
    absent = [name for name in NEEDED if not (folder / name).exists()]
    if absent:
        raise FileNotFoundError(
            f"clothing1m is given out for research on request only; ask for it as {HOME} says and put its "
            f"images folder and {', '.join(absent)} into {folder}."
        )
    class_names = tuple(_lines(folder / CLASSES))
    noisy = _split(folder, _lines(folder / NOISY_KEYS), NOISY_LABELS, class_names)
    clean_keys = [key for name in CLEAN_KEYS if (folder / name).exists() for key in _lines(folder / name)]
    return Dataset("clothing1m", noisy, _split(folder, clean_keys, CLEAN_LABELS, class_names))


def _split(folder: Path, keys: list[str], label_file: str, class_names: tuple[str, ...]) -> Split:
    return Split(LazyImages(folder, keys), _labels(folder / label_file, keys), class_names)


def _labels(path: Path, keys: list[str]) -> Ints:
    """Look up the labels of `keys` in a file of lines such as "images/0/0/1.jpg 5"."""
    table = dict(line.rsplit(maxsplit=1) for line in _lines(path))
    unknown = next((key for key in keys if key not in table), None)
    if unknown is not None:
        raise ValueError(f"{path} has no label for {unknown}; get the file anew.")
    return np.array([int(table[key]) for key in keys], dtype=np.int64)


def _lines(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return [line.strip() for line in text.splitlines() if line.strip()]
