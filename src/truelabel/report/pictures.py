"""Instances in few bytes: pictures as data URIs, one sheet of small ones, shortened texts."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from truelabel.arrays import Array
from truelabel.labels.items import Items

SIDE = 128
PICTURE_BYTES = 8_000  # of one picture in the gallery
SHEET_BYTES = 900_000  # of all small pictures together
SHEET_COLUMNS = 50
SHEET_TRIALS = ((48, 75), (40, 70), (32, 65), (24, 60), (20, 40))  # sides in pixels and qualities
NAME = 80  # characters of a name, at most
QUALITIES = (85, 70, 50, 30)
TEXT, CELL, CELLS = 500, 90, 10  # longest texts, in characters, and most cells of a row


def data_uri(items: Items, row: int) -> str | None:
    """Return an instance's picture as a data URI of some thousand bytes, if it has one."""
    picture = items.image(row, SIDE)
    if picture is None:
        return None
    if len(picture) > PICTURE_BYTES:
        opened = _opened(picture)
        picture = next(
            (smaller for quality in QUALITIES if len(smaller := _jpeg(opened, quality)) <= PICTURE_BYTES),
            _jpeg(opened.resize((opened.width // 2, opened.height // 2)), QUALITIES[-1]),
        )
    return _uri(picture)


@dataclass(frozen=True)
class Sheet:
    """Small pictures in rows of fifty: a data URI, and the side of one in pixels."""

    uri: str
    side: int
    columns: int = SHEET_COLUMNS


def sheet(items: Items, rows: Array | Sequence[int], progress: Iterable[int] | None = None) -> Sheet | None:
    """Return small pictures of some instances on one sheet, as large as its bytes allow; None if there are none."""
    side = SHEET_TRIALS[0][0]
    found = [items.image(int(row), side) for row in (rows if progress is None else progress)]
    if not any(found):
        return None
    opened = [None if picture is None else _opened(picture) for picture in found]
    for side, quality in SHEET_TRIALS:
        made = _jpeg(_joined(opened, side), quality)
        if len(made) <= SHEET_BYTES:
            return Sheet(_uri(made), side)
    return None


def _joined(pictures: Sequence[Any], side: int) -> Any:
    from PIL import Image

    whole = Image.new("RGB", (SHEET_COLUMNS * side, -(-len(pictures) // SHEET_COLUMNS) * side), "white")
    for number, picture in enumerate(pictures):
        if picture is None:
            continue
        small = picture.copy()
        small.thumbnail((side, side))
        left, top = number % SHEET_COLUMNS * side, number // SHEET_COLUMNS * side
        whole.paste(small, (left + (side - small.width) // 2, top + (side - small.height) // 2))
    return whole


def _opened(picture: bytes) -> Any:
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as opened:
        return opened.convert("RGB")


def _jpeg(image: Any, quality: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, optimize=True)
    return buffer.getvalue()


def _uri(picture: bytes) -> str:
    kind = "png" if picture.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{b64encode(picture).decode()}"


def shortened(text: str, most: int) -> str:
    """Return a text on one line, cut to so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def fields(items: Items, row: int) -> dict[str, str]:
    """Return what there is to read of an instance, cut to a card; nothing where only its name is known."""
    if items.kind == "name":
        return {}
    most = TEXT if items.kind == "text" else CELL
    found = list(items.fields(row).items())[:CELLS]
    return {shortened(name, NAME): shortened(value, most) for name, value in found}
