"""Image files that anybody may have made: opened within bounds, or left with a reason."""

from __future__ import annotations

import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np

LARGE = 4_000_000  # pixels above which images are decoded one at a time, so that threads do not add up their memory
BAND = 1_000_000  # pixels of a 16-bit image that are brought to 8 bits at a time
_ONE = threading.Lock()


class ImageError(ValueError):
    """Why an image cannot be read, in a few words."""


def open_rgb(path: Path, least: int | None = None) -> Any:
    """Return an image file as an upright Pillow image in RGB, or say why it cannot be read with an `ImageError`.

    With `least` given, a JPEG file may be decoded at a lower resolution that still has so many pixels a side. Only
    regular files are opened, so that a pipe cannot keep one waiting, and only images up to Pillow's bound on pixels.
    A decoder that meets damage may end in any exception; all of them are reasons here.
    """
    from PIL import Image

    if not stat.S_ISREG(path.stat().st_mode):
        raise ImageError("not a regular file")
    try:
        return _opened(path, least)
    except (ImageError, MemoryError):
        raise
    except Image.DecompressionBombError:
        raise ImageError("too large") from None
    except Exception as error:
        raise ImageError(str(error).replace(str(path), path.name) or type(error).__name__) from None


def image_size(path: Path) -> tuple[int, int] | None:
    """Return width and height of an image file, which is not decoded; None where it cannot be opened."""
    from PIL import Image

    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        with Image.open(path) as opened:
            return opened.width, opened.height
    except Exception:
        return None


def _opened(path: Path, least: int | None) -> Any:
    from PIL import Image

    with Image.open(path) as opened:
        pixels = opened.width * opened.height
        if pixels > (Image.MAX_IMAGE_PIXELS or np.inf):
            raise ImageError("too large")
        if least is not None:
            opened.draft("RGB", (least, least))
        if opened.width * opened.height <= LARGE:
            return _upright(opened)
        with _ONE:
            return _reduced(_upright(opened), least)


def _upright(opened: Any) -> Any:
    from PIL import ImageOps

    image = ImageOps.exif_transpose(opened)
    return (_eight_bits(image) if image.mode.startswith(("I", "F")) else image).convert("RGB")


def _reduced(image: Any, least: int | None) -> Any:
    """Give back the memory of a large image that nobody wants in full."""
    factor = 1 if least is None else min(image.size) // max(least, 1)
    return image.reduce(factor) if factor > 1 else image


def _eight_bits(image: Any) -> Any:
    """Bring an image of 16 or 32 bits to 8, a band of rows at a time; Pillow would cut off all above 255."""
    from PIL import Image

    top = max(255.0, 65535.0 if image.mode.startswith("I") else float(image.getextrema()[1]))
    out = np.empty((image.height, image.width), dtype=np.uint8)
    step = max(1, BAND // image.width)
    for start in range(0, image.height, step):
        end = min(start + step, image.height)
        values = np.asarray(image.crop((0, start, image.width, end)), dtype=np.float32)
        out[start:end] = np.clip(values * (255 / top), 0, 255)
    return Image.fromarray(out)
