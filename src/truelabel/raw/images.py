"""A folder of images by class."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from truelabel.arrays import Array, Floats, Ints
from truelabel.datasets.folder import image_names
from truelabel.raw import classifier
from truelabel.raw.encoder import chosen
from truelabel.raw.instances import Embedded, Settings, check_skipped
from truelabel.raw.pictures import CELL, Looks, look, read_image
from truelabel.raw.reduce import principal, together

UNNAMED = "its name is not UTF-8; rename it"
VIEW, INPUT = 64, 128  # components of a view, and of what the classifier learns from


class ImageFolder:
    """Images in one subfolder a class.

    Parameters
    ----------
    path : path
        The folder.
    """

    what = "images"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.folder = Path(path)
        if (self.folder / "train").is_dir() and (self.folder / "test").is_dir():
            raise ValueError(
                f"{self.folder} has the folders train and test; clean them one by one, as in "
                f"truelabel clean {self.folder / 'train'}."
            )
        self._files = image_names(self.folder)
        names = [_printable(name) for name in self._files]
        self.name = self.folder.resolve().name
        self.ids: Array = np.array(names, dtype=object)
        self.given: Sequence[str | None] = [name.split("/")[0] for name in names]
        self.asked: dict[str, Any] = {"images": str(self.folder)}

    def shown(self, rows: Ints) -> dict[str, Any]:
        return {"kind": "image", "folder": str(self.folder)}

    def embed(self, rows: Ints, settings: Settings) -> Embedded:
        """Describe images by a pretrained encoder, if there is one, and by pixels, colours and edges."""
        asked = rows
        skipped = {int(row): UNNAMED for row in rows if self._files[row] != self.ids[row]}
        rows = np.array([row for row in rows if int(row) not in skipped], dtype=np.int64)
        wanted = [str(name) for name in self.ids[rows]]
        network = chosen("image", settings, "pixels, colours and edges")
        seen = look(self.folder, wanted, settings.progress)
        row_of = dict(zip(wanted, rows, strict=True))
        skipped |= {int(row_of[name]): why for name, why in seen.unreadable.items()}
        check_skipped(self, skipped, len(asked))
        views, inputs = _plain_views(seen, settings.seed)
        how = f"{', '.join(views)} of {seen.side}×{seen.side} pixels"
        if network is not None:
            names = [wanted[row] for row in seen.kept]
            inputs = network.encode(
                len(names), lambda part: [read_image(self.folder, name) for name in names[part]], settings.progress
            )
            views = {"encoder": inputs} | views
            how = f"{network.name}, and {how}"
        return Embedded(rows[seen.kept], views, inputs, classifier.head, how, skipped)


def _printable(name: str) -> str:
    """Return a name in which bytes that are not UTF-8 are spelled out, so that it can be written down."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _plain_views(seen: Looks, seed: int) -> tuple[dict[str, Floats], Floats]:
    """Return views of images without a network, and what a classifier learns from."""
    views = {"pixels": principal(seen.pixels, VIEW, seed)}
    parts = [principal(seen.pixels, INPUT, seed)]
    if seen.side >= 2 * CELL:
        coloured = bool((seen.colours.std(axis=0) > 0).sum() > 4)
        texture = together(seen.edges, seen.colours) if coloured else seen.edges
        views["colours and edges" if coloured else "edges"] = principal(texture, VIEW, seed)
        parts.append(principal(texture, INPUT, seed))
    return views, together(*parts)
