"""Several labels an instance in one cell, with a separator between them: `news|sport`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from truelabel.arrays import Ints
from truelabel.raw.cleaning import class_names
from truelabel.raw.reading import is_missing


class LabelCells:
    """A column of a table whose cells hold any number of labels; an empty one holds none.

    Attributes
    ----------
    names : tuple of str
        The labels, sorted.
    given : (n, c) array
        1 where a row has a label, 0 where it has not.
    columns : list of str
        The column that holds labels.
    counts : Counter of str
        How many rows have each label.
    """

    def __init__(self, frame: Any, column: str, separator: str, path: Path) -> None:
        if not separator:
            raise ValueError("--separator is what stands between the labels of a cell, such as '|'; it is empty.")
        self.columns, self.separator = [column], separator
        self._frame = frame
        self._cells = [_labels(value, separator, column, path) for value in frame[column]]
        self.counts = Counter(name for cell in self._cells for name in cell)
        if not self.counts:
            raise ValueError(f"{path} has no label in column {column!r}.")
        if all(len(cell) < 2 for cell in self._cells):
            raise ValueError(
                f"{path} has no cell with {separator!r} in column {column!r}; name the right --separator, or leave it "
                "out if there is one label an instance."
            )
        self.names = class_names(list(self.counts))
        index = {name: k for k, name in enumerate(self.names)}
        self.given: Ints = np.zeros((len(frame), len(self.names)), dtype=np.int64)
        for row, cell in enumerate(self._cells):
            self.given[row, [index[name] for name in cell]] = 1

    def written(self, new: Ints) -> Any:
        """Return the table with other labels; a cell keeps the order of its labels, and new ones come last."""
        import pandas as pd

        frame, column = self._frame.copy(), self._frame[self.columns[0]]
        values = column.to_numpy(dtype=object, copy=True)
        for row in np.flatnonzero((new != self.given).any(axis=1)):
            has = [self.names[k] for k in np.flatnonzero(new[row])]
            kept = [name for name in self._cells[row] if name in has]
            values[row] = self.separator.join([*kept, *(name for name in has if name not in kept)])
        dtype = object if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
        frame[self.columns[0]] = pd.Series(values, index=column.index, dtype=object).astype(dtype)
        return frame


def _labels(value: Any, separator: str, column: str, path: Path) -> list[str]:
    """Return the labels of a cell, each once, in their order."""
    if isinstance(value, list | tuple | set | dict | np.ndarray):
        raise ValueError(
            f"{path} has lists in column {column!r}; write the labels of a row as one text, with a separator between."
        )
    if is_missing(value):
        return []
    return list(dict.fromkeys(name for part in str(value).split(separator) if (name := part.strip())))
