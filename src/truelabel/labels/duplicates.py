"""Duplicates: instances that are there more than once, those with different labels first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, Ints, as_array, matrix
from truelabel.copies import ALONE, find_copies
from truelabel.labels.issues import titles
from truelabel.labels.multilabel import MultiLabel
from truelabel.predictions import Predictions

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Duplicates:
    """Groups of instances that are copies of each other.

    Attributes
    ----------
    table : pandas.DataFrame
        A row per instance that has a copy, group by group, groups with different labels first. `group`, numbered from
        1; `kind`, "exact" where all of the group have the same features to the last bit, else "near"; `times_nearer`,
        how many times nearer the copies are (the one that fits least) than the nearest instance that is no copy, empty
        where all are exact; `different_labels`, whether the labels of the group differ; `id`; and `given`, the label,
        where there are labels. The index is the instance's row number.
    """

    table: pd.DataFrame

    def __len__(self) -> int:
        """Return the number of groups."""
        return int(self.table["group"].nunique())

    @property
    def exact(self) -> int:
        """The number of groups of exact copies."""
        return self._groups("kind", "exact")

    @property
    def different(self) -> int:
        """The number of groups with different labels."""
        return self._groups("different_labels", True)

    def _groups(self, column: str, value: Any) -> int:
        return int(self.table.loc[self.table[column] == value, "group"].nunique())

    def groups(self) -> list[pd.DataFrame]:
        """Return the rows of the table of each group, in their order."""
        return [part for _, part in self.table.groupby("group", sort=True)]

    def to_dict(self) -> dict[str, int]:
        """Return the counts as plain JSON values."""
        return {
            "groups": len(self),
            "instances": len(self.table),
            "exact": self.exact,
            "different_labels": self.different,
        }

    def __str__(self) -> str:
        if not len(self):
            return "no duplicates"
        plural = "" if len(self) == 1 else "s"
        counts = f"{len(self):,} group{plural} of {len(self.table):,} instances, {self.exact:,} exact"
        if not self.different:
            return f"{counts}; labels agree in each"
        verb = "has" if self.different == 1 else "have"
        return f"{counts}; {self.different:,} {verb} different labels, nearly certain mistakes"


def find_duplicates(
    data: Any, labels: Any = None, *, ids: Any = None, class_names: tuple[Any, ...] | None = None
) -> Duplicates:
    """Return the groups of instances that are copies of each other, exact or near, by their features.

    Near copies are at least four times nearer to each other than to any other instance, and so much more that chance
    makes hardly one such pair among all instances; in few dimensions that is far more than four times. Each half of
    the columns alone has to show it. Rows with equal features are no copies where chance explains them: in a table of a
    few categories rows are equal without being the same thing.

    Time grows a little faster than the number of instances: 3,000,000 of them with 64 features take some minutes.

    Parameters
    ----------
    data : Predictions, MultiLabel, (n, d) array or mapping of names to such arrays
        The instances' features; of several views all have to agree. Labels, ids and names of classes are taken from
        predictions where they are not given.
    labels : (n,) array or (n, c) array of 0 and 1, optional
        Their labels: names, class indices, or several per instance.
    ids : (n,) array, optional
        A name for each instance; row numbers by default.
    class_names : sequence, optional
        Names of the classes that `labels` has the indices of.

    Examples
    --------
    >>> import numpy as np, truelabel as tl
    >>> x = np.random.default_rng(0).normal(size=(100, 8))
    >>> x[70], x[80] = x[7], x[8] + 1e-3  # an exact and a near copy
    >>> given = np.array(["cat", "dog"])[np.arange(100) % 2]
    >>> given[80] = "dog"
    >>> found = tl.labels.find_duplicates(x, given)
    >>> print(found)
    2 groups of 4 instances, 1 exact; 2 have different labels, nearly certain mistakes
    >>> found.table[["group", "kind", "id", "given"]].to_numpy().tolist()
    [[1, 'exact', 7, 'dog'], [1, 'exact', 70, 'cat'], [2, 'near', 8, 'cat'], [2, 'near', 80, 'dog']]
    """
    views, labels, ids, class_names = _parts(data, labels, ids, class_names)
    n = len(next(iter(views.values())))
    for name, part in (("labels", labels), ("ids", ids)):
        if part is not None and len(part) != n:
            raise ValueError(f"{name} has {len(part)} rows, but features has {n}; pass one row per instance.")
    copies = find_copies(views)
    group = np.full(n, ALONE) if copies is None else copies.group
    rows = np.flatnonzero(group != ALONE)
    differ = np.zeros(0 if copies is None else len(copies), dtype=bool)
    if labels is not None:
        np.logical_or.at(differ, group[rows], _unlike_the_first(labels[rows], group[rows]))
    exact, nearer = (np.zeros(0), np.zeros(0)) if copies is None else (copies.exact, copies.nearer)
    number = np.empty(len(differ), dtype=np.int64)
    number[np.lexsort((np.arange(len(differ)), ~exact.astype(bool), ~differ))] = np.arange(1, len(differ) + 1)
    rows = rows[np.lexsort((rows, number[group[rows]]))]
    return Duplicates(_table(rows, group[rows], number, exact, nearer, differ, labels, ids, class_names))


def _parts(data: Any, labels: Any, ids: Any, class_names: Any) -> tuple[dict[str, Array], Array | None, Any, Any]:
    """Return the views, labels, ids and names of classes, checked."""
    if isinstance(data, Predictions | MultiLabel):
        said = data if isinstance(data, Predictions) else data.of_class(0)
        views = dict(said.views)
        labels = data.labels if labels is None else labels
        ids = said.ids if ids is None else ids
        class_names = data.class_names if class_names is None else class_names
    else:
        named = data if isinstance(data, Mapping) else {"features": data}
        views = {str(name): matrix(view, f"features[{name!r}]") for name, view in named.items()}
    if not views:
        raise ValueError("duplicates are found by features, and there are none; pass Predictions(features=…).")
    if len({len(view) for view in views.values()}) > 1:
        raise ValueError("the views have different numbers of rows; pass one row per instance in each.")
    given = None if labels is None else as_array(labels, "labels")
    return views, given, None if ids is None else as_array(ids, "ids"), class_names


def _unlike_the_first(labels: Array, group: Ints) -> Array:
    """Return which labels are not those of the first instance of the group."""
    _, first, place = np.unique(group, return_index=True, return_inverse=True)
    unlike = labels != labels[first[place]]
    return np.asarray(unlike.any(axis=1) if unlike.ndim == 2 else unlike)


def _table(
    rows: Ints,
    group: Ints,
    number: Ints,
    exact: Array,
    nearer: Array,
    differ: Array,
    labels: Array | None,
    ids: Array | None,
    class_names: tuple[Any, ...] | None,
) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {
        "group": number[group],
        "kind": np.where(exact[group], "exact", "near").astype(object),
        "times_nearer": np.where(exact[group], np.nan, nearer[group]),
        "different_labels": differ[group],
        "id": rows if ids is None else ids[rows],
    }
    if labels is not None:
        columns["given"] = _names(labels[rows], class_names)
    return pd.DataFrame(columns, index=rows)


def _names(labels: Array, class_names: tuple[Any, ...] | None) -> Array:
    """Return labels by name; several of an instance with a bar between them."""
    if labels.ndim == 2:
        names = [str(name) for name in (range(labels.shape[1]) if class_names is None else class_names)]
        return np.array(["|".join(names[k] for k in np.flatnonzero(row)) for row in labels], dtype=object)
    return labels if class_names is None or labels.dtype.kind not in "iu" else titles(tuple(class_names))[labels]
