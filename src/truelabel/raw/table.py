"""A .csv or .parquet file with a label column: texts, or numbers and categories."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, Floats, Ints
from truelabel.datasets.table import read_table
from truelabel.raw import classifier
from truelabel.raw.encoder import chosen
from truelabel.raw.instances import Embedded, Settings, Tell, check_skipped
from truelabel.raw.own_table import OwnTable
from truelabel.raw.reading import as_written, is_missing, label_names
from truelabel.raw.reduce import principal
from truelabel.raw.spelling import spelled
from truelabel.raw.text import places, topics, word_counts
from truelabel.votes import NO_VOTE, Votes

if TYPE_CHECKING:
    from truelabel.labels.final import FinalLabels

MOST_CATEGORIES = 20
MOST_COLUMNS = 256
TOPICS = 64
FARTHEST = 10.0  # deviations from the mean, beyond which a number tells no more


class Table:
    """Rows of a file with a label column.

    Parameters
    ----------
    path : path
        A ``.csv`` or ``.parquet`` file.
    label : str
        The column with the labels.
    text : sequence of str
        Columns with texts, which are read one after the other.
    columns : sequence of str, optional
        Columns with numbers and categories. By default all, where there is no text.
    id : str, optional
        A column that names each row. By default rows are numbered from 0.
    annotators : sequence of str
        Columns with the labels of several annotators. What most of them say is then put into a new column `label`,
        which the file may not have.
    more_labels : sequence of str
        Further columns with labels, which nothing is judged by or shown.
    """

    what = "rows"

    def __init__(
        self,
        path: str | os.PathLike[str],
        label: str,
        *,
        text: Sequence[str] = (),
        columns: Sequence[str] | None = None,
        id: str | None = None,
        annotators: Sequence[str] = (),
        more_labels: Sequence[str] = (),
    ) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"There is no file {self.path}.")
        self.name = self.path.stem
        self.label, self.text, self.id = label, list(text), id
        self.frame = as_written(self.path)
        if not len(self.frame):
            raise ValueError(f"{self.path} has no rows.")
        self.annotators = list(annotators)
        if self.annotators:
            self._check(self.annotators)
            self._add_majority()
        self._check([label, *self.text, *(columns or ()), *([id] if id else ())])
        self.columns = None if columns is None else list(columns)
        self.set_aside = (label, *self.annotators, *more_labels)
        for name in [*self.text, *(columns or ())]:
            if name in self.set_aside:
                raise ValueError(f"{name!r} is the label; it cannot be what is judged by, too.")
        self.given: Sequence[str | None] = label_names(self.frame[label])
        self.ids: Array = self._ids()
        self.asked: dict[str, Any] = {"table": str(self.path), "label": label}
        self.asked |= {"text": self.text} if self.text else {}
        self.asked |= {"columns": self.columns} if self.columns else {}
        self.asked |= {"annotators": self.annotators} if self.annotators else {}

    def _add_majority(self) -> None:
        """Put what most annotators say behind their columns, the first of those that as many say; see `votes`."""
        if self.label in self.frame.columns:
            raise ValueError(
                f"{self.path} has a column {self.label!r} beside those of the annotators; rename it, or name it alone."
            )
        said = [label_names(self.frame[name]) for name in self.annotators]
        most = [Counter(name for name in row if name is not None).most_common(1) for row in zip(*said, strict=True)]
        place = 1 + max(list(self.frame.columns).index(name) for name in self.annotators)
        self.frame.insert(place, self.label, [found[0][0] if found else "" for found in most])

    def votes(self, class_names: Sequence[str], tell: Tell) -> Votes:
        """Return the labels of the annotators' columns; those of other classes are left out, and `tell` says so.

        A name that differs from a class's only by case or white space stands for it, unless it is a class of its own.
        """
        index = {spelled(name): k for k, name in enumerate(class_names)} | {
            name: k for k, name in enumerate(class_names)
        }
        said = [label_names(self.frame[column]) for column in self.annotators]
        known = [
            [NO_VOTE if name is None else index.get(name, index.get(spelled(name), NO_VOTE)) for name in column]
            for column in said
        ]
        matrix = np.array(known, dtype=np.int64).T
        left = sum(name is not None for column in said for name in column) - int((matrix != NO_VOTE).sum())
        if left:
            tell(f"Left out, for no instance has most votes for its class: {left:,} vote{'' if left == 1 else 's'}.")
        return Votes(matrix, annotators=self.annotators, class_names=class_names, instances=self.ids)

    def _check(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.frame.columns:
                known = ", ".join(map(str, self.frame.columns))
                other = next((mark for mark in (";", "\t", "|") if mark in known), None)
                if self.frame.shape[1] == 1 and other is not None:
                    raise ValueError(
                        f"{self.path} seems to have {other!r} between its columns; save it with commas instead."
                    )
                raise ValueError(f"{self.path} has no column {name!r}; it has {known}.")

    def _ids(self) -> Array:
        if self.id is None:
            return np.arange(len(self.frame))
        ids = self.frame[self.id].astype(str)
        if ids.duplicated().any():
            twice = ids[ids.duplicated()].iloc[0]
            raise ValueError(f"{self.path} has {twice!r} in column {self.id!r} more than once; leave --id out.")
        return np.asarray(ids.to_numpy(dtype=object))

    def shown(self, rows: Ints) -> dict[str, Any]:
        names = self.text or self.columns
        if not names:
            names = [str(name) for name in self.frame.columns if name not in self.set_aside]
        source: dict[str, Any] = {"kind": "text" if self.text else "row", "table": str(self.path), "columns": names}
        return source if len(rows) == len(self.frame) else source | {"rows": [int(row) for row in rows]}

    def embed(self, rows: Ints, settings: Settings) -> Embedded:
        """Describe texts by a pretrained encoder, if there is one, and by words; numbers and categories by themselves.

        What rows have no text is skipped.
        """
        skipped: dict[int, str] = {}
        views: dict[str, Floats] = {}
        said: list[str] = []
        inputs: Any = None
        learner: classifier.Classifier = classifier.words
        if self.text:
            texts = [self._text(int(row)) for row in rows]
            if not any(texts):
                raise ValueError(f"{self.path} has no text in {', '.join(map(repr, self.text))}.")
            skipped = {int(row): "no text" for row, text in zip(rows, texts, strict=True) if not text}
            check_skipped(self, skipped, len(rows))
            rows = np.array([row for row in rows if int(row) not in skipped], dtype=np.int64)
            texts = [text for text in texts if text]
            inputs = word_counts(texts)
            network = chosen("text", settings, "words (TF-IDF)")
            if network is not None:
                views["encoder"] = network.encode(len(texts), lambda part: texts[part], settings.progress)
                said.append(network.name)
            views["words"] = topics(inputs, TOPICS, settings.seed)
            said.append(f"TF-IDF of {inputs.shape[1]:,} words and pairs, reduced to {views['words'].shape[1]}")
        if self.columns is not None or not self.text:
            numbers, names = self._numbers(rows, settings)
            views["columns"] = numbers
            said.append(f"{len(names)} columns ({', '.join(names[:8])}{', …' if len(names) > 8 else ''})")
            if not self.text:
                inputs, learner = numbers, classifier.forest
        return Embedded(rows, views, inputs, learner, ", and ".join(said), skipped)

    def what_tells_copies(self, rows: Ints, views: Mapping[str, Floats]) -> Mapping[str, Floats]:
        """Return what tells copies from other instances: the features, or the texts where these are counted words."""
        if self.text and list(views) == ["words"]:
            return {"texts": places([self._text(int(row)) for row in rows])}
        return views

    def _text(self, row: int) -> str:
        parts = [self.frame[name].iat[row] for name in self.text]
        return "\n".join(str(part).strip() for part in parts if not is_missing(part)).strip()

    def _numbers(self, rows: Ints, settings: Settings) -> tuple[Floats, list[str]]:
        """Return numbers brought to scale and categories as indicators, and the columns that were used."""
        typed = read_table(self.path)
        wanted = self.columns
        if wanted is None:
            wanted = [str(name) for name in typed.columns if name not in (self.id, *self.set_aside)]
        parts, used, left = [], [], []
        for name in wanted:
            asked = self.columns is not None
            part = None if not asked and _counts_rows(typed[name]) else _column(typed[name].iloc[rows], asked=asked)
            if part is None:
                left.append(name)
            else:
                parts.append(part)
                used.append(name)
        if left:
            settings.tell(
                f"Left out: {', '.join(left)} (row numbers, constants, dates, or more than {MOST_CATEGORIES} "
                "categories; a text is read with --text)."
            )
        if not parts:
            raise ValueError(
                f"{self.path} has no column to judge {self.label!r} by; name some with --columns or --text."
            )
        numbers = np.concatenate(parts, axis=1)
        return (principal(numbers, MOST_COLUMNS, settings.seed) if numbers.shape[1] > MOST_COLUMNS else numbers), used

    def corrected(self, rows: Ints, final: FinalLabels) -> Any:
        """Return the file with final labels in `rows`; see `OwnTable.corrected`."""
        return OwnTable(self.frame, self.label, rows).corrected(final)


def _counts_rows(column: Any) -> bool:
    """Return whether a whole column merely counts the rows; of a part of it the numbers would have gaps."""
    import pandas as pd

    whole = len(column) > 2 and pd.api.types.is_integer_dtype(column) and not column.isna().any()
    return bool(whole and (np.diff(column.to_numpy(dtype=np.int64)) == 1).all())


def _column(column: Any, *, asked: bool) -> Floats | None:
    """Return a column as numbers, or None if nothing can be learned from it."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column):
        values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
        return _scaled(values)
    if pd.api.types.is_datetime64_any_dtype(column):
        return None
    names = column.map(lambda value: "" if is_missing(value) else str(value))
    counts = names.value_counts()
    if len(counts) < 2 or (len(counts) > MOST_CATEGORIES and not asked):
        return None
    kept = sorted(counts.index[:MOST_CATEGORIES])
    return np.stack([(names == name).to_numpy(dtype=np.float32) for name in kept], axis=1)


def _scaled(values: Array) -> Floats | None:
    """Bring numbers to mean 0 and deviation 1; those that are missing become the median, and are marked."""
    absent = ~np.isfinite(values)
    if absent.all():
        return None
    filled = np.where(absent, np.median(values[~absent]), values)
    deviation = filled.std()
    if deviation == 0 and not absent.any():
        return None
    scaled = np.clip((filled - filled.mean()) / max(float(deviation), 1e-300), -FARTHEST, FARTHEST)
    columns = [scaled, absent] if absent.any() else [scaled]
    return np.stack(columns, axis=1).astype(np.float32)
