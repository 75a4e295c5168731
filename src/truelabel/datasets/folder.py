"""Any folder of images, one subfolder a class."""

from __future__ import annotations

import os
from pathlib import Path

from truelabel.datasets.images import LazyImages
from truelabel.datasets.split import Dataset, Split, encode
from truelabel.datasets.stratified import train_test_rows

ENDINGS = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}


def image_folder(
    path: str | os.PathLike[str],
    *,
    test_size: float = 0.2,
    seed: int = 0,
    size: int = 256,
    crop: int = 224,
) -> Dataset:
    """Read a folder of images by class.

    Parameters
    ----------
    path : path
        A folder with one subfolder a class, or with the folders `train` and `test` that have one each.
    test_size : float, default 0.2
        Share of each class to test on, where there is no `test` folder.
    seed : int, default 0
        Decides which.
    size, crop : int, default 256 and 224
        Each image is resized to `size`×`size` and its middle `crop`×`crop` is taken.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}; pass one with a subfolder of images a class.")
    if (folder / "train").is_dir() and (folder / "test").is_dir():
        class_names = _class_names(folder / "train")
        train, test = (_split(folder / part, class_names, size, crop) for part in ("train", "test"))
        return Dataset(folder.name, train, test)
    whole = _split(folder, _class_names(folder), size, crop)
    rows, test_rows = train_test_rows(whole.labels, test_size, seed)
    return Dataset(folder.name, whole[rows], whole[test_rows])


def _class_names(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(child.name for child in folder.iterdir() if child.is_dir() and child.name[0] != "."))


def _split(folder: Path, class_names: tuple[str, ...], size: int, crop: int) -> Split:
    names = image_names(folder)
    labels = encode([name.split("/")[0] for name in names], class_names, str(folder))
    return Split(LazyImages(folder, names, size, crop), labels, class_names)


def image_names(folder: Path) -> list[str]:
    """Return the images in the subfolders of a folder, by their names in it, sorted; hidden ones are left out."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}; pass one with a subfolder of images a class.")
    names = sorted(
        file.relative_to(folder).as_posix()
        for child in folder.iterdir()
        if child.is_dir() and child.name[0] != "."
        for file in child.rglob("*")
        if file.suffix.lower() in ENDINGS and file.name[0] != "."
    )
    if not names:
        raise ValueError(f"{folder} has no images in subfolders; put those of each class into a folder of its own.")
    return names
