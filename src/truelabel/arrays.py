"""Arrays at the door: whatever a user holds becomes a NumPy view of it, copied only where it must be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Rows = slice | Array | list[int]

BLOCK_VALUES = 4_000_000  # values touched at a time when an array is scanned: 16 MB of float32


class RowError(ValueError):
    """What is wrong with a row, which the message names as ``{row}``."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message.replace("{row}", f"{row:d}"))
        self.message, self.row = message, int(row)

    def moved(self, start: int) -> RowError:
        """Return the error as one of a whole file, of which the rows were those from `start` on."""
        return RowError(self.message, self.row + start)


def as_array(value: Any, name: str) -> Array:
    """Return `value` (NumPy, pandas, polars, torch, list) as a NumPy array, sharing its memory where possible."""
    if hasattr(value, "toarray") and hasattr(value, "nnz"):
        raise ValueError(
            f"{name} is a sparse matrix; reduce it to a dense one first, for example with "
            "sklearn.decomposition.TruncatedSVD."
        )
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
        array = value.numpy()
    elif hasattr(value, "to_numpy"):
        array = value.to_numpy()
    else:
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
    return array  # type: ignore[no-any-return]


def as_numbers(value: Any, name: str) -> Array:
    """Return `value` as a numeric NumPy array or say which dtype stands in the way."""
    array = as_array(value, name)
    if array.dtype == object:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} holds values that are not numbers ({error}); encode them first.") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, not {array.dtype}; convert it first.")
    return array


def matrix(value: Any, name: str) -> Array:
    """Return `value` as an n×d numeric array whose every entry is finite in float32."""
    array = as_numbers(value, name)
    if array.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, one row an instance, but has shape {array.shape}; reshape it first."
        )
    if array.shape[1] == 0:
        raise ValueError(f"{name} has no columns; pass at least one.")
    for rows in blocks(array):
        block = float32(array, rows)
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            raise RowError(
                f"{name} has a NaN or infinite value (row {{row}}, column {column}); impute it or drop the row first.",
                rows.start + row,
            )
    return array


def float32(array: Array, rows: Rows = slice(None)) -> Floats:
    """Return rows of `array` in float32, as a view where it is that already."""
    with np.errstate(over="ignore"):
        return np.asarray(array[rows], dtype=np.float32)


def pick(value: Any, rows: Rows) -> Any:
    """Return some rows of an array, or of something read lazily, which stays unread."""
    return value.unread(rows) if hasattr(value, "unread") else value[rows]


def blocks(array: Array, values: int = BLOCK_VALUES) -> Iterator[slice]:
    """Cut the rows of `array` into slices of about `values` entries each."""
    width = max(1, int(np.prod(array.shape[1:])))
    yield from row_blocks(len(array), max(1, values // width))


def row_blocks(n: int, size: int) -> Iterator[slice]:
    """Cut `n` rows into slices of `size`."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def spread(array: Array, sample: int = 4_096) -> float:
    """Return the largest range of a column, in a sample of rows."""
    part = float32(array, np.unique(np.linspace(0, len(array) - 1, sample).astype(np.int64)))
    return float(np.ptp(part.astype(np.float64), axis=0).max(initial=0))
