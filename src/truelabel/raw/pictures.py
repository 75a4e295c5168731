"""What an image looks like in numbers, without any network: its pixels, its colours, the directions of its edges."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truelabel.arrays import Array, Floats, Ints
from truelabel.datasets.images import READERS
from truelabel.image_files import ImageError, image_size, open_rgb
from truelabel.progress import Progress

TINY = 32  # side in pixels up to which an image is taken as it is
SIDE = 64  # ... and to which a larger one is brought
LEVELS = 4  # steps of each colour in a histogram
CELL, DIRECTIONS = 8, 9  # a histogram of nine directions for each 8×8 pixels


@dataclass(frozen=True)
class Looks:
    """Numbers that describe images, a row an image.

    Attributes
    ----------
    kept : (n,) array
        Which of the names could be read.
    unreadable : dict of names to str
        Why the others could not.
    pixels : (n, h·w·channels) uint8 array
        The image, reduced to at most 32×32 pixels; one channel where all images are grey.
    colours : (n, 64) array
        Share of each colour, roots taken.
    edges : (n, d) array
        Histograms of gradient directions.
    side : int
        Side of the images that colours and edges are of.
    """

    kept: Ints
    unreadable: dict[str, str]
    pixels: Array
    colours: Floats
    edges: Floats
    side: int

    @property
    def tiny(self) -> bool:
        """Whether the images are so small that their pixels tell all."""
        return self.side <= TINY


def look(folder: Path, names: Sequence[str], progress: Progress) -> Looks:
    """Read images and describe them; those that cannot be read are left out."""
    from PIL import Image

    with warnings.catch_warnings():  # here, because it is not safe in threads
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        return _look(folder, names, progress)


def _look(folder: Path, names: Sequence[str], progress: Progress) -> Looks:
    side = _side(folder, names)
    described: list[tuple[Array, Floats, Floats]] = []
    kept, unreadable = [], {}
    advance = progress.bar("Reading images", len(names))
    # Pillow lets go of the interpreter while it decodes, so threads help.
    with ThreadPoolExecutor(READERS) as pool:
        for row, found in enumerate(pool.map(lambda name: _describe(folder, name, side), names)):
            if isinstance(found, str):
                unreadable[names[row]] = found
            else:
                kept.append(row)
                described.append(found)
            advance("Reading images")
    if not described:
        raise ValueError(
            f"none of the {len(names)} images in {folder} can be read ({next(iter(unreadable.values()))})."
        )
    pixels, colours, edges = (np.stack(part) for part in zip(*described, strict=True))
    if (pixels == pixels[..., :1]).all():
        pixels = pixels[..., :1]
    return Looks(np.array(kept), unreadable, pixels.reshape(len(pixels), -1), colours, edges, side)


def read_image(folder: Path, name: str, least: int | None = None) -> Any:
    """Return an image, or say why it cannot be read."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        return "a link that leads out of the folder"
    try:
        return open_rgb(path, least)
    except (ImageError, OSError, ValueError) as error:
        return str(error).replace(str(path), name) or type(error).__name__


def _side(folder: Path, names: Sequence[str]) -> int:
    """Return the side that images are brought to: their own, if that is tiny."""
    sides = []
    for name in names[:: max(1, len(names) // 200)]:
        size = image_size(folder / name)
        if size is not None:
            sides.append(max(size))
    usual = int(np.median(sides)) if sides else SIDE
    return max(usual, 2) if usual <= TINY else SIDE


def _describe(folder: Path, name: str, side: int) -> tuple[Array, Floats, Floats] | str:
    from PIL import Image

    image = read_image(folder, name, 2 * side)
    if isinstance(image, str):
        return image
    shown = np.asarray(image.resize((side, side), Image.Resampling.BOX if max(image.size) > side else None))
    small = min(side, TINY)
    pixels = shown if small == side else np.asarray(image.resize((small, small), Image.Resampling.BOX))
    return pixels, colour_histogram(shown), edge_histograms(shown)


def colour_histogram(image: Array) -> Floats:
    """Return the root of each colour's share in an (h, w, 3) uint8 image; roots make distances Hellinger's."""
    steps = image.reshape(-1, 3).astype(np.int64) * LEVELS // 256
    counts = np.bincount(steps @ np.array([LEVELS * LEVELS, LEVELS, 1]), minlength=LEVELS**3)
    return np.sqrt(counts / len(steps), dtype=np.float32)


def edge_histograms(image: Array) -> Floats:
    """Return how strong the edges of each direction are, by cells of an (h, w, 3) uint8 image.

    Histograms of oriented gradients (Dalal and Triggs, 2005): directions without sign, each gradient shared between
    the two nearest directions, each cell's histogram brought to length 1 together with its neighbourhood of 2×2.
    """
    grey = np.pad(image.astype(np.float32).mean(axis=2) / 255, 1, mode="edge")
    across, down = grey[1:-1, 2:] - grey[1:-1, :-2], grey[2:, 1:-1] - grey[:-2, 1:-1]
    strength = np.hypot(across, down)
    place = np.arctan2(down, across) % np.pi * (DIRECTIONS / np.pi)
    below = np.floor(place)
    share = place - below
    cells = max(1, image.shape[0] // CELL)
    rows, columns = (np.minimum(np.arange(length) * cells // length, cells - 1) for length in image.shape[:2])
    cell = (rows[:, None] * cells + columns) * DIRECTIONS
    first = below.astype(np.int64) % DIRECTIONS
    out = np.zeros(cells * cells * DIRECTIONS)
    for direction, part in ((first, 1 - share), ((first + 1) % DIRECTIONS, share)):
        out += np.bincount((cell + direction).ravel(), weights=(strength * part).ravel(), minlength=len(out))
    grid = out.reshape(cells, cells, DIRECTIONS)
    around = (grid[:-1, :-1], grid[:-1, 1:], grid[1:, :-1], grid[1:, 1:])
    blocks = np.concatenate(around, axis=2) if cells > 1 else grid
    length = np.sqrt(np.square(blocks).sum(axis=2, keepdims=True) + 1e-2)
    return np.asarray(blocks / length, dtype=np.float32).ravel()
