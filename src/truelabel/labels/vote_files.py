"""Votes, and the features of what they are about, from the files a user has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array
from truelabel.reading import read_npy
from truelabel.votes import NO_VOTE, Votes

if TYPE_CHECKING:
    import pandas as pd


def read_votes(
    path: str | os.PathLike[str],
    features: str | os.PathLike[str] | None = None,
    *,
    instance: str = "instance",
    annotator: str | None = "annotator",
    label: str = "label",
) -> tuple[Votes, Array | None]:
    """Read a long table of votes, and the features of its instances in the same order.

    Parameters
    ----------
    path : path
        A `.csv` or `.parquet` file with a row per label.
    features : path, optional
        A `.csv` or `.parquet` file with a row per instance: the column `instance`, and columns of numbers, or of lists
        of numbers. Or an `.npy` file, of whose rows the instances are the numbers. Rows for which there are no votes
        get a consensus, too.
    instance, annotator, label : str
        Names of the columns of the votes; `annotator` may be None.
    """
    table = _table(path, [name for name in (instance, annotator, label) if name is not None])
    names = {"instance": instance, "annotator": annotator, "label": label}
    if features is None:
        return Votes.from_table(table, **names), None  # type: ignore[arg-type]
    if Path(features).suffix == ".npy":
        _exists(features)
        x = read_npy(features, mapped=True)
        return Votes.from_table(table, instances=np.arange(len(x)), **names), x  # type: ignore[arg-type]
    of = _table(features, [instance])
    if instance not in of.columns:
        raise ValueError(
            f"{features} has no column {instance!r}, but {', '.join(map(repr, of.columns[:8]))}; name the column with "
            "the instances as in the votes."
        )
    if instance in table.columns and table[instance].dtype != of[instance].dtype:
        # "7" in one file and 7 in the other are the same instance.
        table, of = table.astype({instance: str}), of.astype({instance: str})
    votes = Votes.from_table(table, instances=of[instance].to_numpy(), **names)  # type: ignore[arg-type]
    return votes, _numbers(of.drop(columns=instance), features)


def read_votes_of(
    path: str | os.PathLike[str],
    ids: Array,
    classes: tuple[str, ...] | int,
    *,
    columns: Sequence[str] | None = None,
    counts: bool = False,
) -> Votes:
    """Read the votes for instances that are known, in their order, from a file of any of the forms they come in.

    Parameters
    ----------
    path : path
        A `.csv` or `.parquet` file: a long table with a row per label; or a wide one with a row per instance and a
        column per annotator (with `counts`, per class). Or an `.npy` file with a row per instance: class indices and −1
        for none, a column per annotator; or with `counts` a column per class.
    ids : (n,) array
        The instances' names. A wide table has a column with them, or else its rows are in their order.
    classes : tuple of str or int
        The names of the classes, or how many there are, where they are numbers.
    columns : sequence of str, optional
        Of a long table the names of the columns with the instance, the annotator and the label, the second left out
        where nobody knows who gave a label. ("instance", "annotator", "label") by default, as far as they are there.
    counts : bool, default False
        Whether the file says how many people gave each instance each class.
    """
    names = classes if isinstance(classes, tuple) else tuple(map(str, range(classes)))
    votes = _read_votes(path, ids, names, columns, counts)
    if isinstance(classes, tuple):
        return votes
    cells = np.stack([votes.rows, votes.columns, votes.labels], axis=1)
    return Votes.from_cells(
        cells,
        votes.count,
        instances=votes.instances,
        annotators=votes.annotators,
        class_names=range(classes),
        anonymous=votes.anonymous,
    )


def _read_votes(
    path: str | os.PathLike[str], ids: Array, class_names: tuple[str, ...], columns: Sequence[str] | None, counts: bool
) -> Votes:
    if Path(path).suffix == ".npy":
        _exists(path)
        return _of_matrix(read_npy(path), ids, class_names, counts, path)
    if columns is not None and len(columns) not in (2, 3):
        raise ValueError(
            f"the columns of votes are three (instance, annotator, label) or two (instance, label), not {len(columns)}."
        )
    names = list(columns or ("instance", "annotator", "label"))
    table = _table(path, names)
    if columns is None and "annotator" not in table.columns and not counts:
        names = ["instance", "label"]
    if columns is None and (counts or "label" not in table.columns):
        return _of_wide(table, ids, class_names, counts, path)
    of, label = names[0], names[-1]
    for name in names:
        if name not in table.columns:
            known = ", ".join(map(repr, table.columns[:8]))
            raise ValueError(f"{path} has no column {name!r}, but {known}; name the columns of the votes.")
    return Votes.from_table(
        table.assign(**{of: table[of].astype(str), label: _labels(table[label], class_names)}),
        instance=of,
        annotator=names[1] if len(names) == 3 else None,
        label=label,
        instances=np.array([str(name) for name in ids], dtype=object),
        class_names=class_names,
    )


def _labels(column: pd.Series, class_names: tuple[str, ...]) -> pd.Series:
    """Return labels as names where they are names of classes, so that a class that is called 7 is not the eighth."""
    names = column.astype(str)
    return names if names.isin(class_names).all() else column


def _of_matrix(
    array: Array, ids: Array, class_names: tuple[str, ...], counts: bool, path: str | os.PathLike[str]
) -> Votes:
    if array.ndim != 2 or len(array) != len(ids):
        raise ValueError(
            f"{path} has shape {array.shape}, but there are {len(ids)} instances; it needs a row for each, and a "
            f"column per {'class' if counts else 'annotator'}."
        )
    make = Votes.from_counts if counts else Votes
    return make(array, class_names=class_names, instances=ids)


def _of_wide(
    table: pd.DataFrame, ids: Array, class_names: tuple[str, ...], counts: bool, path: str | os.PathLike[str]
) -> Votes:
    """Return the votes of a table with a row per instance."""
    import pandas as pd

    if "instance" in table.columns:
        index = pd.Index(table["instance"].astype(str))
        places = index.get_indexer(pd.Index([str(name) for name in ids])) if index.is_unique else None
        if places is None or (np.sort(places) != np.arange(len(index))).any():
            raise ValueError(f"the instances in {path} are not those that are judged, each once; bring them together.")
        table = table.drop(columns="instance").iloc[places]
    if len(table) != len(ids):
        raise ValueError(f"{path} has {len(table)} rows, but there are {len(ids)} instances; it needs a row for each.")
    if counts:
        return _of_matrix(_class_columns(table, class_names, path), ids, class_names, True, path)
    index_of = {name: k for k, name in enumerate(class_names)}
    matrix = np.full(table.shape, NO_VOTE)
    for column, name in enumerate(table.columns):
        for row, value in enumerate(table[name]):
            if not _missing(value):
                title = str(value) if str(value) in index_of else str(value).removesuffix(".0")  # beside empty cells
                if title not in index_of:
                    raise ValueError(
                        f"row {row} of {path} has {title!r} in column {name!r}, which is no class; a vote is one of "
                        f"{', '.join(class_names[:6])}{', …' if len(class_names) > 6 else ''}, or empty."
                    )
                matrix[row, column] = index_of[title]
    return Votes(matrix, annotators=_titles(table), class_names=class_names, instances=ids)


def _titles(table: pd.DataFrame) -> tuple[str, ...]:
    return tuple(str(name) for name in table.columns)


def _class_columns(table: pd.DataFrame, class_names: tuple[str, ...], path: str | os.PathLike[str]) -> Array:
    """Return the columns of counts in the order of the classes."""
    if set(_titles(table)) != set(class_names):
        raise ValueError(
            f"the columns of {path} are {', '.join(_titles(table)[:6])}, but the classes {', '.join(class_names[:6])}; "
            "with counts there is a column per class."
        )
    return _numbers(table.set_axis(_titles(table), axis=1)[list(class_names)], path)


def _missing(value: Any) -> bool:
    return value is None or value != value or str(value).strip() in ("", "-1", "-1.0")


def _table(path: str | os.PathLike[str], names: list[str]) -> pd.DataFrame:
    """Read a table, of a CSV file the columns `names` as they are written, so that 007 and NA stay what they are."""
    import pandas as pd

    suffix = Path(path).suffix
    if suffix not in (".csv", ".parquet"):
        raise ValueError(f"{path} is neither a .csv nor a .parquet file; write the table as one of these.")
    _exists(path)
    try:
        if suffix == ".parquet":
            return pd.read_parquet(path)
        table = pd.read_csv(path, dtype=dict.fromkeys(names, str), keep_default_na=False, na_values={})
    except (ValueError, pd.errors.ParserError) as error:
        raise ValueError(f"{path} cannot be read as a table ({error}).") from None
    for name in table.columns.intersection(names):
        values = table[name].where(table[name] != "")
        whole = values.dropna().str.fullmatch(r"-?(0|[1-9]\d{0,17})")
        table[name] = values.astype("int64") if len(whole) == len(values) and whole.all() else values
    return table


def _exists(path: str | os.PathLike[str]) -> None:
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}.")


def _numbers(table: pd.DataFrame, path: str | os.PathLike[str]) -> Array:
    """Return columns of numbers, or of lists of numbers, side by side."""
    columns: list[Any] = []
    for name in table.columns:
        values = table[name].to_numpy()
        if values.dtype.kind in "fiub":
            columns.append(values[:, None])
            continue
        try:
            columns.append(np.stack([np.asarray(value, dtype=np.float32).reshape(-1) for value in values]))
        except (TypeError, ValueError):
            raise ValueError(
                f"column {name!r} of {path} holds neither numbers nor lists of one length; leave it out or encode it."
            ) from None
    if not columns:
        raise ValueError(f"{path} has no column beside the instances; add columns of numbers.")
    return np.concatenate(columns, axis=1)
