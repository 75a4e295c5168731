"""A user's table as it is written, and the names of its labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from truelabel.datasets.table import read_table

MISSING = {"", "na", "n/a", "nan", "null"}


def as_written(path: Path) -> Any:
    """Read a file so that writing it again changes nothing: the cells of a .csv stay as they are written."""
    import pandas as pd

    if path.suffix.lower() != ".csv":
        return read_table(path)
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not written in UTF-8; save it as that first.") from None


def is_missing(value: Any) -> bool:
    """Return whether a cell holds nothing."""
    import pandas as pd

    return value is None or value is pd.NaT or value is pd.NA or str(value).strip().lower() in MISSING


def label_names(column: Any) -> list[str | None]:
    """Return the labels as names; whole numbers without a decimal point, None where there is none."""
    names: list[str | None] = []
    for value in column:
        whole = isinstance(value, float | np.floating) and float(value).is_integer()
        names.append(None if is_missing(value) else str(int(value)) if whole else str(value))
    return names
