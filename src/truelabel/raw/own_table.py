"""The user's own table with final labels: every row and column in its order, and beside the label why it is so."""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, Ints
from truelabel.labels.examined import ABOUT
from truelabel.labels.renewal import newest
from truelabel.raw.reading import as_written, label_names
from truelabel.raw.spelling import spelled

if TYPE_CHECKING:
    from truelabel.labels.examined import Examined
    from truelabel.labels.final import FinalLabels

BESIDE = ("given_label", "decision", "reason")  # columns that are put behind the label
MERGED = "the same as {} but for case or white space"
CORRECTED = ("corrected.csv", "corrected.parquet")  # what a folder calls the table


@dataclass(frozen=True)
class OwnTable:
    """A user's table, and which of its rows were examined.

    Attributes
    ----------
    frame : pandas.DataFrame
        The table as it was given.
    label : str
        The column with the labels.
    rows : (n,) array
        The examined instances' rows.
    """

    frame: Any
    label: str
    rows: Ints

    def corrected(self, final: FinalLabels) -> Any:
        """Return the table with final labels, and behind them `given_label`, `decision` and `reason`.

        Rows that were not examined keep what they had. An underscore is put behind a name that the table has already.
        """
        frame, raw = self.frame.copy(), label_names(self.frame[self.label])
        self.require(final.given)
        own = {name: value for name, value in zip(raw, frame[self.label], strict=True) if name is not None}
        values = frame[self.label].to_numpy(dtype=object, copy=True)
        decision, reason = (np.full(len(frame), "", dtype=object) for _ in range(2))
        values[self.rows] = [own.get(name, name) if name else None for name in final.names]
        decision[self.rows], reason[self.rows] = final.decision, final.reason
        for row, given in zip(self.rows, final.given, strict=True):
            if raw[row] != given and not reason[row]:
                reason[row] = MERGED.format(given)
        beside = (frame[self.label], decision, reason)
        at = list(frame.columns).index(self.label) + 1
        for place, (title, column) in enumerate(zip(self._titles(), beside, strict=True), at):
            frame.insert(place, title, column)
        frame[self.label] = _of_type(values, self.frame[self.label], {*final.names} - {*own, ""})
        return frame

    def _titles(self) -> list[str]:
        titles = []
        for title in BESIDE:
            while title in self.frame.columns:
                title += "_"
            titles.append(title)
        return titles

    def require(self, given: Array) -> None:
        """Refuse a table whose labels are not those that were examined."""
        raw = label_names(self.frame[self.label])
        fits = not len(self.rows) or int(self.rows.max()) < len(raw)
        if not fits or any(
            raw[row] is None or spelled(str(raw[row])) != spelled(name)
            for row, name in zip(self.rows, given, strict=True)
        ):
            raise ValueError("its rows are not those that were examined")


def own_table(folder: Path, examined: Examined) -> tuple[OwnTable, str] | None:
    """Return the user's table as a folder of results keeps it, and its file's name; None where there is none.

    It is read from the folder's own corrected file, which has all rows and columns: so the folder may be moved, and
    the user's file may have changed since.
    """
    data = examined.about.get("data")
    label = data.get("label") if isinstance(data, dict) else None
    there = [name for name in CORRECTED if newest(folder, name).is_file()]
    if not isinstance(label, str) or not there:
        return None
    path = newest(folder, there[0])
    names = examined.found.class_names
    given = np.array([str(name) for name in names], dtype=object)[examined.found.labels]
    try:
        own = OwnTable(_without_ours(as_written(path), label), label, _rows(folder, len(examined)))
        own.require(given)
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"{path} is not as truelabel wrote it ({error}); put that file back, or clean the data anew."
        ) from None
    return own, there[0]


def _rows(folder: Path, n: int) -> Ints:
    source = json.loads(newest(folder, ABOUT).read_text(encoding="utf-8"))["items"]
    return np.asarray(source.get("rows", range(n)), dtype=np.int64)


def _without_ours(frame: Any, label: str) -> Any:
    """Return a table that was written before as it was given."""
    at = list(frame.columns).index(label) + 1
    titles = list(frame.columns[at : at + len(BESIDE)])
    if tuple(str(title).rstrip("_") for title in titles) != BESIDE:
        raise ValueError(f"the columns {', '.join(BESIDE)} are not behind {label}")
    frame = frame.copy()
    frame[label] = frame[titles[0]]
    return frame.drop(columns=titles)


def _of_type(values: Array, like: Any, new: Set[str]) -> Any:
    """Return values as a column of a type that also holds what the column did not: new classes, and no label."""
    import pandas as pd
    from pandas.api import types

    column = pd.Series(values, index=like.index, dtype=object)
    if isinstance(like.dtype, pd.CategoricalDtype):
        categories = [*like.dtype.categories, *sorted(new - {*map(str, like.dtype.categories)})]
        return column.astype(pd.CategoricalDtype(categories, like.dtype.ordered))
    if not types.is_numeric_dtype(like.dtype):
        return column.astype(like.dtype)
    if types.is_integer_dtype(like.dtype) and all(name.isdecimal() for name in new):
        column = column.map(lambda value: int(value) if isinstance(value, str) else value)
    elif new:
        return column.map(lambda value: None if value is None else str(value))
    if not column.isna().any() or types.is_float_dtype(like.dtype):
        return column.astype(like.dtype)
    return column.astype("boolean" if types.is_bool_dtype(like.dtype) else "Int64")
