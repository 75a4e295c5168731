"""Food-101 (Bossard et al., 2014): its training labels have mistakes, its test labels were reviewed."""

from __future__ import annotations

from pathlib import Path

from truelabel.datasets.download import Remote, fetch_archive
from truelabel.datasets.images import LazyImages
from truelabel.datasets.split import Dataset, Split, encode

ARCHIVE = Remote("food-101.tar.gz", "md5:85eeb15f3717b99a5da872d97d918f87", ("http://data.vision.ee.ethz.ch/cvl/",))


def load_food101(root: Path, download: bool) -> Dataset:
    """Return Food-101 with images that are read lazily as (3, 224, 224)."""
    folder = root / "food-101"
    if not (folder / "meta" / "test.txt").exists():
        fetch_archive("food101", ARCHIVE, root, download)
    class_names = tuple((folder / "meta" / "classes.txt").read_text(encoding="utf-8").split())
    return Dataset("food101", _split(folder, "train", class_names), _split(folder, "test", class_names))


def _split(folder: Path, part: str, class_names: tuple[str, ...]) -> Split:
    path = folder / "meta" / f"{part}.txt"
    keys = path.read_text(encoding="utf-8").split()  # such as apple_pie/1005649
    images = LazyImages(folder / "images", [f"{key}.jpg" for key in keys])
    return Split(images, encode([key.split("/")[0] for key in keys], class_names, str(path)), class_names)
