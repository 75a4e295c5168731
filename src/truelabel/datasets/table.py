"""A CSV or Parquet file with a label column."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from truelabel.arrays import Array, matrix
from truelabel.datasets.split import Dataset, Split, encode
from truelabel.datasets.stratified import train_test_rows


def table(
    path: str | os.PathLike[str],
    *,
    label: str,
    columns: Sequence[str] | None = None,
    test: str | os.PathLike[str] | None = None,
    test_size: float = 0.2,
    seed: int = 0,
    standardise: bool = True,
) -> Dataset:
    """Read a table with one row an instance.

    Parameters
    ----------
    path : path
        A ``.csv`` or ``.parquet`` file.
    label : str
        The column that holds the labels: numbers or names. Their distinct values, sorted, are the classes.
    columns : sequence of str, optional
        The columns to use as inputs; by default all that hold numbers.
    test : path, optional
        A second file to test on. Otherwise a part of the first is kept for that.
    test_size : float, default 0.2
        Share of each class to test on, where there is no second file.
    seed : int, default 0
        Decides which.
    standardise : bool, default True
        Bring each column to mean 0 and deviation 1 over the training rows.
    """
    frame = read_table(path)
    names = _label_names(frame, label, path)
    columns = list(columns) if columns is not None else _numeric(frame, label, path)
    class_names = tuple(str(value) for value in np.unique(names))
    whole = Split(_inputs(frame, columns, path), encode(names, class_names, str(path)), class_names)
    if test is None:
        rows, test_rows = train_test_rows(whole.labels, test_size, seed)
        train, held_out = whole[rows], whole[test_rows]
    else:
        other = read_table(test)
        labels = encode(_label_names(other, label, test), class_names, str(test))
        train, held_out = whole, Split(_inputs(other, columns, test), labels, class_names)
    if standardise:
        mean, std = train.inputs.mean(axis=0), train.inputs.std(axis=0)
        std[std == 0] = 1
        train, held_out = (Split((part.inputs - mean) / std, part.labels, class_names) for part in (train, held_out))
    return Dataset(Path(path).stem, train, held_out)


def read_table(path: str | os.PathLike[str]) -> Any:
    """Read a .csv or .parquet file into a pandas DataFrame."""
    import pandas as pd

    readers = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
    reader = readers.get(Path(path).suffix.lower())
    if reader is None:
        raise ValueError(f"{os.fspath(path)} is neither a .csv nor a .parquet file; convert it first.")
    return reader(path)


def _label_names(frame: Any, label: str, path: str | os.PathLike[str]) -> Array:
    if label not in frame.columns:
        raise ValueError(
            f"{os.fspath(path)} has no column {label!r}; choose from {', '.join(map(str, frame.columns))}."
        )
    values = frame[label]
    if values.isna().any():
        row = int(values.isna().to_numpy().argmax())
        raise ValueError(f"{os.fspath(path)} has no label in row {row}; drop the row or fill it in.")
    return values.to_numpy()  # type: ignore[no-any-return]


def _numeric(frame: Any, label: str, path: str | os.PathLike[str]) -> list[str]:
    columns = [name for name in frame.select_dtypes(["number", "bool"]).columns if name != label]
    if not columns:
        raise ValueError(f"{os.fspath(path)} has no column of numbers beside {label!r}; encode some first.")
    return columns


def _inputs(frame: Any, columns: Sequence[str], path: str | os.PathLike[str]) -> Array:
    absent = [name for name in columns if name not in frame.columns]
    if absent:
        raise ValueError(f"{os.fspath(path)} has no column {absent[0]!r}; choose columns that it has.")
    return matrix(frame[list(columns)].to_numpy(), os.fspath(path)).astype(np.float32)
