"""Images that are read from disk when they are asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from truelabel.arrays import Array, Floats, Rows

# Mean and standard deviation of the colours of ImageNet, which its pretrained networks expect.
MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
STD = np.array([0.229, 0.224, 0.225], dtype=np.float32)
READERS = min(8, os.cpu_count() or 1)


class LazyImages:
    """Image files that look like an (n, 3, crop, crop) float32 array, read row by row.

    Each image is resized to `size`×`size`, its middle `crop`×`crop` is taken, and its colours are normalised
    as for ImageNet: what the paper does with Food-101 and Clothing1M.

    Parameters
    ----------
    folder : path
        The folder that the names are relative to.
    names : sequence of str
        The files.
    size, crop : int, default 256 and 224
        Side of the resized image and of the part that is kept.
    """

    def __init__(
        self, folder: str | os.PathLike[str], names: Sequence[str] | Array, size: int = 256, crop: int = 224
    ) -> None:
        if not 0 < crop <= size:
            raise ValueError(f"crop must lie between 1 and size ({size}), but is {crop}.")
        self.folder = Path(folder)
        self.names: Array = np.array(names, dtype=object)
        self.size = size
        self.crop = crop

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The shape that reading every image would give."""
        return len(self.names), 3, self.crop, self.crop

    @property
    def dtype(self) -> np.dtype[np.float32]:
        """The type of the numbers: float32."""
        return np.dtype(np.float32)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, rows: int | Rows) -> Floats:
        """Read one image (3, crop, crop), or those of a slice, index array or mask (m, 3, crop, crop)."""
        if isinstance(rows, int | np.integer):
            return self._read(self.names[rows], self.crop)
        return self._read_all(self.names[rows], self.crop)

    def uncropped(self, rows: Rows) -> Floats:
        """Read images as a whole, (m, 3, size, size), for training on random crops."""
        return self._read_all(self.names[rows], self.size)

    def _read_all(self, names: Array, side: int) -> Floats:
        out = np.empty((len(names), 3, side, side), dtype=np.float32)
        # Pillow lets go of the interpreter while it decodes, so threads help.
        with ThreadPoolExecutor(READERS) as pool:
            for row, image in enumerate(pool.map(partial(self._read, side=side), names)):
                out[row] = image
        return out

    def unread(self, rows: Rows) -> LazyImages:
        """Return some of the images, unread."""
        return LazyImages(self.folder, self.names[rows], self.size, self.crop)

    def _read(self, name: str, side: int) -> Floats:
        """Read the middle of an image."""
        from PIL import Image

        path = self.folder / name
        edge = (self.size - side) // 2
        try:
            if not path.is_file():
                raise FileNotFoundError
            with Image.open(path) as image:
                resized = image.convert("RGB").resize((self.size, self.size), Image.Resampling.BILINEAR)
        except FileNotFoundError:
            raise FileNotFoundError(f"The image {path} is missing; put it there or leave it out.") from None
        except MemoryError:
            raise
        except Exception as error:  # a decoder that meets damage may end in any
            raise ValueError(f"The image {path} cannot be read ({error}); replace it or leave it out.") from None
        middle: Any = resized.crop((edge, edge, edge + side, edge + side))
        pixels = np.asarray(middle, dtype=np.float32) / 255
        return np.ascontiguousarray(((pixels - MEAN) / STD).transpose(2, 0, 1))
