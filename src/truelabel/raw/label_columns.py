"""Several labels an instance as columns of yes and no, one for each label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from truelabel.arrays import Ints
from truelabel.raw.reading import is_missing

NO_ANSWER = -1
ANSWERS = dict.fromkeys(("0", "0.0", "false", "no", "n"), 0) | dict.fromkeys(("1", "1.0", "true", "yes", "y"), 1)


class LabelColumns:
    """Columns of a table that say of each row whether it has a label.

    Attributes
    ----------
    names : tuple of str
        The labels: the columns' names.
    given : (n, c) array
        1 where a row has a label, 0 where it has not, −1 where the cell is empty.
    columns : list of str
        The columns that hold labels.
    """

    def __init__(self, frame: Any, columns: Sequence[str], path: Path) -> None:
        self.columns = list(columns)
        self.names = tuple(self.columns)
        self._frame, self._path = frame, path
        self.given: Ints = np.stack([self._answers(name) for name in self.columns], axis=1)

    def _answers(self, name: str) -> Ints:
        answers = np.empty(len(self._frame), dtype=np.int64)
        for row, value in enumerate(self._frame[name]):
            answer = NO_ANSWER if is_missing(value) else ANSWERS.get(str(value).strip().lower())
            if answer is None:
                raise ValueError(
                    f"{self._path} has {str(value)!r} in row {row} of column {name!r}; a column of --label-columns "
                    "holds 1 and 0, true and false, or yes and no."
                )
            answers[row] = answer
        return answers

    def written(self, new: Ints) -> Any:
        """Return the table with other answers, each written as the column writes most of them."""
        import pandas as pd

        frame = self._frame.copy()
        for k, name in enumerate(self.columns):
            column, values = self._frame[name], self._frame[name].to_numpy(dtype=object, copy=True)
            for answer in (0, 1):
                changed = (new[:, k] == answer) & (self.given[:, k] != answer)
                if changed.any():
                    values[changed] = Counter(column[self.given[:, k] == answer]).most_common(1)[0][0]
            frame[name] = pd.Series(values, index=column.index, dtype=object).astype(column.dtype)
        return frame


def matching(columns: Sequence[str], patterns: Sequence[str], path: Path) -> list[str]:
    """Return the columns with these names or like these patterns (is_*), in the table's order."""
    wanted: set[str] = set()
    for pattern in patterns:
        found = [name for name in columns if name == pattern] or [
            name for name in columns if fnmatchcase(name, pattern)
        ]
        if not found:
            raise ValueError(f"{path} has no column like {pattern!r}; it has {', '.join(columns)}.")
        wanted |= set(found)
    return [name for name in columns if name in wanted]
