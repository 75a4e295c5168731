"""What a person sees of an instance: an image, a text, the cells of a row, or only its name."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from truelabel.arrays import Array
from truelabel.image_files import ImageError, open_rgb
from truelabel.pictures import pictures
from truelabel.reading import read_npy

Kind = Literal["image", "text", "row", "name"]
SMALLEST = 28  # side in pixels up to which an image is enlarged without smoothing


class Items(Protocol):
    """Instances that can be shown, in the instances' own order."""

    kind: ClassVar[Kind]

    def __len__(self) -> int: ...

    def image(self, row: int, side: int) -> bytes | None:
        """Return an instance as a PNG or JPEG file whose longer side has about `side` pixels, if it is an image."""

    def fields(self, row: int) -> dict[str, str]:
        """Return what there is to read of an instance: a text, or the cells of its row, by name."""

    def source(self) -> dict[str, Any]:
        """Return plain JSON values from which `items_of` makes the same items again."""


class _Readable:
    def image(self, row: int, side: int) -> bytes | None:
        return None


@dataclass(frozen=True)
class Names(_Readable):
    """Instances of which nothing but the name is known."""

    ids: Array
    kind: ClassVar[Kind] = "name"

    def __len__(self) -> int:
        return len(self.ids)

    def fields(self, row: int) -> dict[str, str]:
        return {"id": str(self.ids[row])}

    def source(self) -> dict[str, Any]:
        return {"kind": self.kind}


class Cells(_Readable):
    """Rows of a .csv or .parquet file, in the instances' order: all or some, and all or some of their columns."""

    kind: ClassVar[Kind] = "row"

    def __init__(
        self, path: str | os.PathLike[str], columns: Sequence[str] | None = None, rows: Sequence[int] | None = None
    ) -> None:
        from truelabel.datasets.table import read_table

        self.path = Path(path).resolve()
        frame = read_table(self.path)
        names = list(frame.columns) if columns is None else list(columns)
        missing = [name for name in names if name not in frame.columns]
        if missing:
            raise ValueError(f"{path} has no column {missing[0]!r}; it has {', '.join(map(str, frame.columns))}.")
        self.columns = [str(name) for name in names]
        self.rows = None if rows is None else [int(row) for row in rows]
        if self.rows and not 0 <= min(self.rows) <= max(self.rows) < len(frame):
            raise ValueError(
                f"{path} has {len(frame)} rows, but row {max(self.rows)} is to be shown; pass the one examined."
            )
        self._frame = frame[names] if self.rows is None else frame[names].iloc[self.rows]

    def __len__(self) -> int:
        return len(self._frame)

    def fields(self, row: int) -> dict[str, str]:
        return dict(zip(self.columns, map(str, self._frame.iloc[row]), strict=True))

    def numbers(self) -> dict[str, Array]:
        """Return the columns that hold numbers, by name; NaN where a cell is empty."""
        from pandas.api.types import is_bool_dtype, is_numeric_dtype

        columns = {name: self._frame.iloc[:, place] for place, name in enumerate(self.columns)}
        return {
            name: column.to_numpy(dtype=np.float64, na_value=np.nan)
            for name, column in columns.items()
            if is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype)
        }

    def source(self) -> dict[str, Any]:
        source: dict[str, Any] = {"kind": self.kind, "table": str(self.path), "columns": self.columns}
        return source if self.rows is None else source | {"rows": self.rows}


class Texts(Cells):
    """Texts: one or several columns of a .csv or .parquet file, in the instances' order."""

    kind: ClassVar[Kind] = "text"


class ImageFiles:
    """Image files by their names in a folder."""

    kind: ClassVar[Kind] = "image"

    def __init__(self, folder: str | os.PathLike[str], names: Sequence[Any] | Array) -> None:
        self.folder = Path(folder).resolve()
        if not self.folder.is_dir():
            raise FileNotFoundError(f"There is no folder {folder}; pass the one that the ids are file names in.")
        self.names = [str(name) for name in names]

    def __len__(self) -> int:
        return len(self.names)

    def image(self, row: int, side: int) -> bytes | None:
        """Read a file and return it as JPEG; None where there is none, or it is no image.

        A name that leads out of the folder is refused.
        """
        path = (self.folder / self.names[row]).resolve()
        if not path.is_relative_to(self.folder):
            raise ValueError(f"{self.names[row]} leads out of {self.folder}.")
        try:
            return _file(open_rgb(path, side), side, "JPEG")
        except (ImageError, OSError, ValueError):
            return None

    def fields(self, row: int) -> dict[str, str]:
        return {"file": self.names[row]}

    def source(self) -> dict[str, Any]:
        return {"kind": self.kind, "folder": str(self.folder)}


class ImageArray:
    """Images in an .npy file, n×h×w or n×h×w×3 (channels may come first), in the instances' order."""

    kind: ClassVar[Kind] = "image"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).resolve()
        self._array = read_npy(self.path, mapped=True)

    def __len__(self) -> int:
        return len(self._array)

    def image(self, row: int, side: int) -> bytes | None:
        from PIL import Image

        picture = np.asarray(self._array[row])
        if picture.dtype == np.uint8:
            picture = picture / np.float32(255)
        (shown,) = pictures(picture[None])
        return _file(Image.fromarray(np.uint8(np.round(shown * 255))), side, "PNG")

    def fields(self, row: int) -> dict[str, str]:
        return {"row": str(row)}

    def source(self) -> dict[str, Any]:
        return {"kind": self.kind, "array": str(self.path)}


def _file(image: Any, side: int, kind: Literal["JPEG", "PNG"]) -> bytes:
    from PIL import Image

    scale = side / max(image.size)
    smooth = Image.Resampling.LANCZOS if scale < 1 or max(image.size) > SMALLEST else Image.Resampling.NEAREST
    shape = tuple(max(1, round(length * scale)) for length in image.size)
    buffer = io.BytesIO()
    image.resize(shape, smooth).save(buffer, kind, **({"quality": 85, "optimize": True} if kind == "JPEG" else {}))
    return buffer.getvalue()


def items_of(source: dict[str, Any], ids: Array) -> Items:
    """Return the items that `Items.source` described.

    Parameters
    ----------
    source : dict
        With "folder" (of images; the ids are names of files in it), "array" (an .npy file of images), "table" and
        "columns" (rows; texts if "kind" is "text"; only some with "rows", their numbers), or none of these.
    ids : (n,) array
        The instances' ids.
    """
    items: Items
    _check_source(source)
    if "folder" in source:
        return ImageFiles(source["folder"], ids)
    if "array" in source:
        items = ImageArray(source["array"])
    elif "table" in source:
        items = (Texts if source.get("kind") == "text" else Cells)(
            source["table"], source.get("columns"), source.get("rows")
        )
    else:
        return Names(ids)
    if len(items) != len(ids):
        raise ValueError(f"there are {len(items)} instances to show, but {len(ids)} predictions; pass one row each.")
    return items


def _check_source(source: dict[str, Any]) -> None:
    """Refuse what cannot say where instances are to be seen; it may come from a file."""
    for name in ("folder", "array", "table"):
        if name in source and not isinstance(source[name], str | os.PathLike):
            raise ValueError(f"where the instances are to be seen is damaged: {name} is {source[name]!r}, not a path.")
    for name, kind in (("columns", str), ("rows", int)):
        values = source.get(name)
        if values is not None and not (isinstance(values, list) and all(isinstance(value, kind) for value in values)):
            raise ValueError(f"where the instances are to be seen is damaged: {name} is no list of {kind.__name__}.")
