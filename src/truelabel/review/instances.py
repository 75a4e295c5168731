"""Instances as a page shows them: what there is to read, and the image."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from fastapi import FastAPI, HTTPException, Response

if TYPE_CHECKING:
    from truelabel.labels.items import Items

Size = Literal["large", "small"]
SIDES: dict[Size, int] = {"large": 640, "small": 112}  # longer sides of images, in pixels
KEPT_IMAGES = 4_000
LONGEST = 20_000  # characters of a text that are shown


class Instances:
    """Instances as a page shows them.

    Parameters
    ----------
    items : Items
        The instances.
    """

    def __init__(self, items: Items) -> None:
        self.items = items
        self.image = lru_cache(KEPT_IMAGES)(self._image)

    def fields(self, row: int) -> list[list[str]]:
        """Return what there is to read of an instance: pairs of a name and a text."""
        return [[name, cut(text, LONGEST)] for name, text in self.items.fields(row).items()]

    def _image(self, row: int, size: Size) -> bytes | None:
        """Return the file of an image, or None where there is none or it cannot be read."""
        from PIL.Image import DecompressionBombError

        try:
            return self.items.image(row, SIDES[size])
        except (ValueError, OSError, SyntaxError, DecompressionBombError):
            return None


def add_images(app: FastAPI, instances: Instances, require: Callable[[int], None]) -> None:
    """Let an application answer with images of the instances that `require` does not refuse."""

    @app.get("/image/{row:int}/{size}")
    def image(row: int, size: Size) -> Response:
        require(row)
        content = instances.image(row, size)
        if content is None:
            raise HTTPException(404, "There is no image of this instance, or it cannot be read.")
        return Response(content, media_type="image/png" if content.startswith(b"\x89PNG") else "image/jpeg")


def cut(text: str, length: int) -> str:
    """Return a text, or its beginning where it is longer than this."""
    return text if len(text) <= length else f"{text[:length].rstrip()}…"
