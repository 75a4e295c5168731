"""Labels that several people gave the same instances: who gave which instance which class."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, Ints, as_array, as_numbers

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

NO_VOTE = -1


class Votes:
    """The labels that annotators gave to n instances, checked once, here.

    Build it from an n×a matrix (one column per annotator), with `from_table` from a long table (one row per label), or
    with `from_counts` where nobody knows who gave which label.

    Parameters
    ----------
    matrix : (n, a) array
        The class index that each annotator gave each instance; −1 where an annotator gave none.
    annotators : sequence, optional
        A name per column; numbers from 0 by default.
    class_names : sequence of str, optional
        A name per class. Also says how many classes there are; by default one more than the largest index.
    instances : sequence, optional
        A name per row; numbers from 0 by default.

    Examples
    --------
    >>> from truelabel.labels import Votes
    >>> votes = Votes([[0, 0, -1], [1, -1, 1], [0, 1, 1]], annotators=["ann", "bob", "cleo"])
    >>> votes
    Votes(7 of 3 annotators, n=3, classes=2)
    >>> votes.counts
    array([[2, 0],
           [0, 2],
           [1, 2]])
    """

    def __init__(
        self,
        matrix: Any,
        *,
        annotators: Sequence[Any] | None = None,
        class_names: Sequence[str] | None = None,
        instances: Any = None,
    ) -> None:
        array = _whole(as_numbers(matrix, "votes"), "votes")
        if array.ndim != 2:
            raise ValueError(
                f"votes must have one row per instance and one column per annotator, but has shape {array.shape}; "
                "pass a long table to Votes.from_table instead."
            )
        rows, columns = np.nonzero(array != NO_VOTE)
        self._set(
            rows,
            columns,
            array[rows, columns],
            np.ones(len(rows), dtype=np.int64),
            instances=_names(instances, array.shape[0], "instances", "row of votes"),
            annotators=_names(annotators, array.shape[1], "annotators", "column of votes"),
            class_names=class_names,
            anonymous=False,
        )

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        instance: str = "instance",
        annotator: str | None = "annotator",
        label: str = "label",
        instances: Any = None,
        class_names: Sequence[str] | None = None,
    ) -> Votes:
        """Build from a long table: one row per label.

        Parameters
        ----------
        table : pandas.DataFrame or mapping of names to columns
            The labels. Class names and class indices both work.
        instance, label : str
            Names of the columns.
        annotator : str, optional
            Name of the column that says who gave the label; None where nobody knows.
        instances : sequence, optional
            The instances in the order that the results shall have, for example that of the rows of the features. May
            name instances without any label. By default those of the table in the order in which they come.
        class_names : sequence of str, optional
            The classes in their order. By default the labels of the table, sorted.

        Examples
        --------
        >>> from truelabel.labels import Votes
        >>> table = {"image": ["a", "a", "b"], "who": ["ann", "bob", "ann"], "label": ["cat", "dog", "cat"]}
        >>> Votes.from_table(table, instance="image", annotator="who").class_names
        ('cat', 'dog')
        """
        of, who, given = (None if name is None else _column(table, name) for name in (instance, annotator, label))
        assert of is not None
        assert given is not None
        names, rows = _indexed(of) if instances is None else (as_array(instances, "instances"), _places(of, instances))
        people, columns = (np.arange(1), np.zeros(len(rows), dtype=np.int64)) if who is None else _indexed(who)
        classes, labels = _classes(given, class_names)
        cells = np.stack([rows, columns, labels], axis=1)
        cells, count = np.unique(cells, axis=0, return_counts=True)
        rows, columns, labels = cells.T
        made = cls.__new__(cls)
        made._set(
            rows,
            columns,
            labels,
            count,
            instances=_names(names, len(names), "instances", "instance"),
            annotators=people,
            class_names=classes,
            anonymous=who is None,
        )
        return made

    @classmethod
    def from_counts(cls, counts: Any, *, class_names: Sequence[str] | None = None, instances: Any = None) -> Votes:
        """Build from an n×c table that says how many people gave each instance each class.

        Examples
        --------
        >>> from truelabel.labels import Votes
        >>> Votes.from_counts([[3, 0], [1, 2]])
        Votes(6, anonymous, n=2, classes=2)
        """
        array = _whole(as_numbers(counts, "counts"), "counts")
        if array.ndim != 2 or array.shape[1] < 2:
            raise ValueError(
                f"counts must have one row per instance and one column per class, but has shape {array.shape}; "
                "pass class indices to Votes or a long table to Votes.from_table."
            )
        if (array < 0).any():
            row, column = np.argwhere(array < 0)[0]
            raise ValueError(
                f"counts has {array[row, column]} in row {row}, column {column}; a number of votes cannot be negative "
                "(class indices with −1 for none are for Votes itself)."
            )
        rows, columns = np.nonzero(array)
        made = cls.__new__(cls)
        made._set(
            rows,
            np.zeros(len(rows), dtype=np.int64),
            columns,
            array[rows, columns],
            instances=_names(instances, len(array), "instances", "row of counts"),
            annotators=np.arange(1),
            class_names=class_names,
            anonymous=True,
            n_classes=array.shape[1],
        )
        return made

    @classmethod
    def from_cells(
        cls,
        cells: Ints,
        count: Ints,
        *,
        instances: Array,
        annotators: Array,
        class_names: Sequence[Any],
        anonymous: bool,
    ) -> Votes:
        """Build from numbers: a row of instance, annotator and class per cell that has votes, and how many.

        Classes may be named by numbers, as those are that have no names.
        """
        made = cls.__new__(cls)
        rows, columns, labels = cells.T
        made._set(
            rows,
            columns,
            labels,
            count,
            instances=_names(instances, len(instances), "instances", "instance"),
            annotators=annotators,
            class_names=[str(name) for name in class_names] if isinstance(class_names[0], str) else None,
            anonymous=anonymous,
            n_classes=len(class_names),
        )
        return made

    def __getitem__(self, rows: Array) -> Votes:
        """Return the votes for some instances, in the order of these row numbers; of the same annotators and classes.

        Examples
        --------
        >>> from truelabel.labels import Votes
        >>> Votes([[0, 0], [1, -1], [-1, 1]])[[2, 0]].counts
        array([[0, 1],
               [2, 0]])
        """
        rows = np.arange(len(self))[rows]
        place = np.full(len(self), NO_VOTE)
        place[rows] = np.arange(len(rows))
        kept = place[self.rows] != NO_VOTE
        return self._some(kept, place[self.rows[kept]], self.instances[rows])

    def without(self, rows: Array) -> Votes:
        """Return the votes for the same instances, but none for those with these row numbers."""
        kept = ~np.isin(self.rows, rows)
        return self._some(kept, self.rows[kept], self.instances)

    def _some(self, kept: Array, rows: Ints, instances: Array) -> Votes:
        return Votes.from_cells(
            np.stack([rows, self.columns[kept], self.labels[kept]], axis=1),
            self.count[kept],
            instances=instances,
            annotators=self.annotators,
            class_names=self.class_names or range(self.n_classes),
            anonymous=self.anonymous,
        )

    def _set(
        self,
        rows: Ints,
        columns: Ints,
        labels: Ints,
        count: Ints,
        *,
        instances: Array,
        annotators: Array,
        class_names: Sequence[str] | None,
        anonymous: bool,
        n_classes: int | None = None,
    ) -> None:
        if not len(rows):
            raise ValueError("there are no votes at all; pass at least one label.")
        names = None if class_names is None else tuple(str(name) for name in class_names)
        c = n_classes or (int(labels.max()) + 1 if names is None else len(names))
        if names is not None and (len(names) != c or len(set(names)) != c):
            raise ValueError(f"class_names must name each of the {c} classes once, but is {list(names)}.")
        if c < 2:
            raise ValueError("all votes are for one class; pass class_names with at least two classes.")
        wrong = np.flatnonzero((labels < 0) | (labels >= c))
        if len(wrong):
            first = wrong[0]
            raise ValueError(
                f"votes has {labels[first]} in row {rows[first]}, column {columns[first]}; use class indices from 0 to "
                f"{c - 1}, and −1 where there is no vote."
            )
        if not anonymous:
            _refuse_repeats(rows, columns, count, instances, annotators)
        self.rows, self.columns, self.labels, self.count = rows, columns, labels, count
        self.instances, self.annotators = instances, annotators
        self.class_names: tuple[str, ...] | None = names
        self.anonymous = anonymous
        self.n_classes = c

    def __len__(self) -> int:
        return len(self.instances)

    @property
    def n_annotators(self) -> int:
        """Number of annotators; 1 stands for all of them where they are anonymous."""
        return len(self.annotators)

    @cached_property
    def cells(self) -> csr_matrix:
        """The votes as a sparse matrix with a row per instance and a column per annotator and class, in that order."""
        from scipy.sparse import csr_matrix

        place = self.columns * self.n_classes + self.labels
        shape = (len(self), self.n_annotators * self.n_classes)
        return csr_matrix((self.count.astype(np.float64), (self.rows, place)), shape=shape)

    @cached_property
    def counts(self) -> Ints:
        """How many votes each instance has for each class: (n, c)."""
        flat = np.bincount(
            self.rows * self.n_classes + self.labels, weights=self.count, minlength=len(self) * self.n_classes
        )
        return flat.reshape(len(self), self.n_classes).astype(np.int64)

    @property
    def per_instance(self) -> Ints:
        """How many votes each instance has."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def per_annotator(self) -> Ints:
        """How many votes each annotator gave."""
        return np.bincount(self.columns, weights=self.count, minlength=self.n_annotators).astype(np.int64)

    def majority(self) -> Ints:
        """Return the class with most votes of each instance, the first of those that tie; −1 where there are none."""
        return np.where(self.per_instance > 0, self.counts.argmax(axis=1), NO_VOTE)

    def __repr__(self) -> str:
        people = "anonymous" if self.anonymous else f"{self.n_annotators} annotators"
        total = int(self.count.sum())
        of = f"{total}, {people}" if self.anonymous else f"{total} of {people}"
        return f"Votes({of}, n={len(self)}, classes={self.n_classes})"


def _whole(array: Array, name: str) -> Ints:
    if array.dtype.kind == "f":
        wrong = np.argwhere(~(np.isfinite(array) & (array == np.floor(array))))
        if len(wrong):
            place = ", column ".join(str(i) for i in wrong[0])
            raise ValueError(
                f"{name} has {array[tuple(wrong[0])]} in row {place}; use whole numbers, and −1 where there is no vote."
            )
    return array.astype(np.int64)


def _names(value: Any, n: int, name: str, each: str) -> Array:
    if value is None:
        return np.arange(n)
    array = as_array(value, name)
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}, but there are {n}; pass one name per {each}.")
    seen, count = np.unique(array, return_counts=True)
    if (count > 1).any():
        raise ValueError(f"{name} has {str(seen[count > 1][0])!r} twice; give each {each} a name of its own.")
    return array


def _column(table: Any, name: str) -> Array:
    names = list(table.columns) if hasattr(table, "columns") else list(table)
    if name not in names:
        raise ValueError(
            f"the table has no column {name!r}, but {', '.join(repr(str(one)) for one in names)}; say which column is "
            "which by instance=, annotator= and label=."
        )
    array = as_array(table[name], name)
    if array.ndim != 1:
        raise ValueError(f"column {name!r} has shape {array.shape}; one value per row is needed.")
    missing = np.array([value is None or value != value for value in array]) if array.dtype.kind in "Of" else None
    if missing is not None and missing.any():
        raise ValueError(
            f"column {name!r} has no value in row {np.flatnonzero(missing)[0]}; drop rows without a label."
        )
    return array


def _indexed(values: Array) -> tuple[Array, Ints]:
    """Return the different values in the order in which they come, and the place of each value among them."""
    import pandas as pd

    places, names = pd.factorize(values)
    return np.asarray(names), places.astype(np.int64)


def _places(values: Array, names: Any) -> Ints:
    import pandas as pd

    index = pd.Index(as_array(names, "instances"))
    places = index.get_indexer(pd.Index(values)) if index.is_unique else np.zeros(len(values), dtype=np.int64)
    if (places < 0).any():
        raise ValueError(
            f"there is a label of instance {str(values[np.flatnonzero(places < 0)[0]])!r}, which is not among the "
            f"{len(index)} instances; add it to them, or drop its labels."
        )
    return np.asarray(places, dtype=np.int64)


def _classes(labels: Array, class_names: Sequence[str] | None) -> tuple[Sequence[str] | None, Ints]:
    """Return the names of the classes, and the labels as indices of them."""
    if labels.dtype.kind in "iufb" and (class_names is None or labels.dtype.kind in "iu"):
        indices = _whole(labels, "labels")
        if (indices < 0).any():
            raise ValueError(
                f"labels has {indices.min()} in row {np.argmin(indices)}; a long table has rows with a label only."
            )
        return class_names, indices
    texts = np.array([str(label) for label in labels])
    names = sorted(set(texts.tolist())) if class_names is None else [str(name) for name in class_names]
    index = {name: k for k, name in enumerate(names)}
    unknown = [(row, text) for row, text in enumerate(texts.tolist()) if text not in index]
    if unknown:
        row, text = unknown[0]
        raise ValueError(f"the label in row {row} is {text!r}, which is not in class_names; add it or fix the label.")
    return names, np.array([index[text] for text in texts.tolist()], dtype=np.int64)


def _refuse_repeats(rows: Ints, columns: Ints, count: Ints, instances: Array, annotators: Array) -> None:
    pair = rows * len(annotators) + columns
    seen, times = np.unique(pair, return_counts=True)
    twice = np.concatenate([seen[times > 1], pair[count > 1]])
    if len(twice):
        instance, annotator = divmod(int(twice[0]), len(annotators))
        raise ValueError(
            f"annotator {str(annotators[annotator])!r} labelled instance {str(instances[instance])!r} more than once; "
            "keep one label of each annotator and instance, or leave the annotators out."
        )
