"""Votes, and the features of what they are about, from the files a user has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array
from truelabel.reading import read_npy
from truelabel.votes import Votes

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
