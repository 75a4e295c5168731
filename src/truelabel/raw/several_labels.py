"""A table whose rows have any number of labels: each label is a question of yes or no about each row."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from truelabel.arrays import Array, Ints
from truelabel.raw.label_cells import LabelCells
from truelabel.raw.label_columns import NO_ANSWER, LabelColumns, matching
from truelabel.raw.reading import as_written
from truelabel.raw.table import Table

BETWEEN = "|"  # labels in a list of given ones
BESIDE = ("given_labels", "reason")  # columns that are put behind the labels


class SeveralLabels:
    """Rows of a file with any number of labels each.

    Parameters
    ----------
    path : path
        A ``.csv`` or ``.parquet`` file.
    label_columns : sequence of str, optional
        Columns of yes and no, one for each label: names, or patterns such as ``is_*``.
    label, separator : str, optional
        In place of these: the column whose cells hold all labels of a row, and what stands between them.
    text, columns, id
        As in `Table`.
    """

    what = "rows"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        label_columns: Sequence[str] = (),
        label: str | None = None,
        separator: str | None = None,
        text: Sequence[str] = (),
        columns: Sequence[str] | None = None,
        id: str | None = None,
    ) -> None:
        if (label is None) == (not label_columns) or (label is None) != (separator is None):
            raise ValueError("name columns of labels, or one column of labels and the separator between them.")
        self.path = Path(path)
        if not self.path.is_file():
            folder = f"{path} is a folder; only a table can have several labels an instance."
            raise ValueError(folder) if self.path.is_dir() else FileNotFoundError(f"There is no file {path}.")
        held = [label or ""]
        if label is None:
            held = matching(list(map(str, as_written(self.path).columns)), label_columns, self.path)
        self.table = Table(path, held[0], text=text, columns=columns, id=id, more_labels=held[1:])
        frame = self.table.frame
        self.labels: LabelColumns | LabelCells
        if label is None or separator is None:
            self.labels = LabelColumns(frame, held, self.path)
        else:
            self.labels = LabelCells(frame, label, separator, self.path)
        self.name, self.ids = self.table.name, self.table.ids
        asked = {name: value for name, value in self.table.asked.items() if name != "label"}
        self.asked: dict[str, Any] = asked | {"labels": held} | ({} if separator is None else {"separator": separator})

    @property
    def names(self) -> tuple[str, ...]:
        """The labels."""
        return self.labels.names

    @property
    def given(self) -> Ints:
        """An n×c matrix: 1 where a row has a label, 0 where it has not, −1 where nothing is said."""
        return self.labels.given

    def unanswered(self) -> dict[int, str]:
        """Return the rows of which some label is not known, and why they are left out."""
        skipped: dict[int, str] = {}
        for row, place in np.argwhere(self.given == NO_ANSWER).tolist():
            skipped.setdefault(row, f"neither yes nor no in column {self.names[place]}")
        return skipped

    def listed(self, row: Array) -> str:
        """Return the labels of a row of `given`, with a bar between them."""
        return BETWEEN.join(self.names[k] for k in np.flatnonzero(row == 1))

    def corrected(self, rows: Ints, places: Sequence[int], labels: Ints, reasons: Sequence[str]) -> Any:
        """Return the table with other labels, and behind them `given_labels` and `reason`.

        All rows and columns stay in their order. An underscore is put behind a name that the table has already.

        Parameters
        ----------
        rows : (m,) array
            The rows that were judged.
        places : sequence of int
            Which of the labels were judged.
        labels : (m, len(places)) array of 0 and 1
            Their final labels.
        reasons : sequence of str
            Why the labels of each row were changed; empty where none was.
        """
        new = self.given.copy()
        new[np.ix_(rows, np.asarray(places))] = labels
        frame = self.labels.written(new)
        why = np.full(len(frame), "", dtype=object)
        why[rows] = reasons
        at = 1 + max(list(frame.columns).index(name) for name in self.labels.columns)
        for place, (title, values) in enumerate(
            zip(BESIDE, (list(map(self.listed, self.given)), why), strict=True), at
        ):
            while title in frame.columns:
                title += "_"
            frame.insert(place, title, values)
        return frame
