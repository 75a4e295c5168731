"""Predictions in Parquet files: written and read a block of rows at a time."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from truelabel.arrays import Array, RowError, blocks
from truelabel.predictions import Predictions
from truelabel.reading import ReadError, reading
from truelabel.writing import whole

METADATA = b"truelabel"
VIEW = "features:"


def write(predictions: Predictions, path: str | os.PathLike[str], truth: Array | None = None) -> None:
    """Write `predictions` to `path`, see `Predictions.to_parquet`; `truth` becomes a column that `read` ignores."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = _columns(predictions) | ({} if truth is None else {"truth": truth})
    about: dict[str, Any] = {
        "class_names": predictions.class_names,
        "feature_names": predictions.feature_names,
        "out_of_sample": predictions.out_of_sample,
        "shapes": {name: list(array.shape[1:]) for name, array in columns.items() if array.ndim > 1},
    }
    schema = pa.schema(
        [pa.field(name, _type(array)) for name, array in columns.items()],
        metadata={METADATA: json.dumps(about).encode()},
    )
    widest = max(columns.values(), key=lambda array: int(np.prod(array.shape[1:])))
    with whole(path) as partial, pq.ParquetWriter(partial, schema) as writer:
        for rows in blocks(widest):
            arrays = [_to_arrow(array[rows], schema.field(name).type) for name, array in columns.items()]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def read(path: str | os.PathLike[str], *, spool: str | os.PathLike[str] | None = None) -> Predictions:
    """Read Predictions from `path`; see `Predictions.from_parquet`."""
    file = _open(path)
    layout = _Layout(file.schema_arrow, path)
    _require_rows(file, path)
    if spool is None:
        with reading(path, "a whole Parquet file"):
            table = file.read(columns=layout.wanted)
        return layout.predictions(layout.arrays(table))
    folder = Path(spool)
    folder.mkdir(parents=True, exist_ok=True)
    maps: dict[str, Array] = {}
    texts: dict[str, list[Array]] = {}
    start, total = 0, file.metadata.num_rows
    for batch in _batches(file, path, columns=layout.wanted):
        for name, part in layout.arrays(batch).items():
            if part.dtype == object:  # names: short, and of no one width
                texts.setdefault(name, []).append(part)
                continue
            if name not in maps:
                target = folder / f"{len(maps)}-{re.sub(r'[^A-Za-z0-9.-]', '_', name)}.npy"
                target.unlink(missing_ok=True)  # who still has an older file mapped keeps it
                maps[name] = np.lib.format.open_memmap(target, "w+", part.dtype, (total, *part.shape[1:]))
            maps[name][start : start + len(part)] = part
        start += len(batch)
    return layout.predictions(maps | {name: np.concatenate(parts) for name, parts in texts.items()})


def stream(path: str | os.PathLike[str], size: int = 65_536) -> Iterator[Predictions]:
    """Read a file of any length as Predictions of `size` rows at a time."""
    file = _open(path)
    layout = _Layout(file.schema_arrow, path)
    _require_rows(file, path)
    start = 0
    for batch in _batches(file, path, batch_size=size, columns=layout.wanted):
        try:
            yield layout.predictions(layout.arrays(batch))
        except RowError as error:
            raise error.moved(start) from None
        start += len(batch)


def _open(path: str | os.PathLike[str]) -> Any:
    import pyarrow.parquet as pq

    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}.")
    with reading(path, "a Parquet file"):
        return pq.ParquetFile(path, memory_map=True)


def _batches(file: Any, path: str | os.PathLike[str], **settings: Any) -> Iterator[Any]:
    batches = file.iter_batches(**settings)
    while True:
        with reading(path, "a whole Parquet file"):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _require_rows(file: Any, path: str | os.PathLike[str]) -> None:
    if not file.metadata.num_rows:
        raise ValueError(f"{path} has no rows; pass a file with at least one instance.")


def _columns(predictions: Predictions) -> dict[str, Array]:
    columns: dict[str, Array] = {"probs": predictions.probs}
    for name, view in predictions.views.items():
        columns["features" if name == "features" else VIEW + name] = view
    for name in ("hidden", "inputs", "labels", "ids"):
        part = getattr(predictions, name)
        if isinstance(part, np.ndarray):
            columns[name] = part
    return columns


def _type(array: Array) -> Any:
    import pyarrow as pa

    value = pa.from_numpy_dtype(array.dtype) if array.dtype.kind in "fiub" else pa.string()
    return value if array.ndim == 1 else pa.list_(value, int(np.prod(array.shape[1:])))


def _to_arrow(array: Array, kind: Any) -> Any:
    import pyarrow as pa

    if array.ndim == 1:
        return pa.array(array if array.dtype.kind in "fiub" else [str(value) for value in array], type=kind)
    flat = np.ascontiguousarray(array).reshape(-1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat, type=kind.value_type), kind.list_size)


class _Layout:
    """Which columns of a Parquet file hold which part of Predictions."""

    def __init__(self, schema: Any, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.about = _about(schema, path)
        twice = [name for name in schema.names if schema.names.count(name) > 1][:1]
        if twice:
            raise ReadError(f"{path} has two columns {twice[0]}; name each once.")
        self.parts: dict[str, list[str]] = {}
        for part in ("probs", "features", "hidden", "inputs", "labels", "ids"):
            flat = _in_order([name for name in schema.names if name.startswith(part + "_")])
            if part in schema.names:
                self.parts[part] = [part]
            elif flat and part in ("probs", "features", "hidden"):
                self.parts[part] = flat
        self.parts |= {name: [name] for name in schema.names if name.startswith(VIEW)}
        if "probs" not in self.parts:
            raise ValueError(
                f"{path} has no column probs (a list a row) and none named probs_…; "
                f"its columns are {', '.join(schema.names[:8])}."
            )
        self.wanted = [name for names in self.parts.values() for name in names]
        self.class_names = self.about.get("class_names") or self._titles("probs")
        named = {} if "features" not in self.parts else {"features": self._titles("features")}
        named |= self.about.get("feature_names") or {}
        self.feature_names = {view: names for view, names in named.items() if names is not None}

    def _titles(self, part: str) -> list[str] | None:
        """Return what follows the prefix in the names of a part's columns; None if that only numbers them."""
        names = [name.removeprefix(f"{part}_") for name in self.parts[part]]
        plain = self.parts[part] == [part] or names == [str(k) for k in range(len(names))]
        return None if plain else names

    def arrays(self, table: Any) -> dict[str, Array]:
        shapes = self.about["shapes"]
        out: dict[str, Array] = {}
        for part, names in self.parts.items():
            columns = [_to_numpy(table.column(name), name) for name in names]
            array = columns[0] if names == [part] else _stacked(columns, part)
            if part in shapes and math.prod(shapes[part]) != math.prod(array.shape[1:]):
                raise ReadError(f"{self.path} is damaged: {part} should have the shape {shapes[part]}; write it anew.")
            out[part] = array.reshape(len(array), *shapes[part]) if part in shapes else array
        return out

    def predictions(self, arrays: dict[str, Array]) -> Predictions:
        views = {name.removeprefix(VIEW): array for name, array in arrays.items() if name.startswith(VIEW)}
        if "features" in arrays:
            views = {"features": arrays["features"], **views}
        return Predictions(
            arrays["probs"],
            views or None,
            hidden=arrays.get("hidden"),
            inputs=arrays.get("inputs"),
            labels=arrays.get("labels"),
            ids=arrays.get("ids"),
            class_names=self.class_names,
            feature_names=self.feature_names,
            out_of_sample=self.about.get("out_of_sample", False),
        )


def _about(schema: Any, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what `write` noted of the columns, checked; a file of another program has nothing noted."""
    with reading(path, "a Parquet file with metadata that truelabel wrote"):
        about = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
        shapes = {name: [int(length) for length in shape] for name, shape in (about.get("shapes") or {}).items()}
        if any(length < 0 for shape in shapes.values() for length in shape):
            raise ValueError("a negative length")
        classes = about.get("class_names")
        features = about.get("feature_names") or {}
        for names in (*features.values(), *([] if classes is None else [classes])):
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise TypeError("names that are no list of texts")
        return {
            "shapes": shapes,
            "class_names": classes,
            "feature_names": features,
            "out_of_sample": bool(about.get("out_of_sample", False)),
        }


def _stacked(columns: list[Array], part: str) -> Array:
    odd = [column.dtype for column in columns if column.dtype.kind not in "fiubO"]
    if odd or any(column.ndim > 1 for column in columns):
        raise ReadError(f"the columns {part}_… hold {odd[0] if odd else 'lists'}; one real number a cell is needed.")
    return np.column_stack(columns)


def _in_order(names: list[str]) -> list[str]:
    """Sort names that end in numbers by those (2 before 10); leave others as they are."""
    ends = [name.rpartition("_")[2] for name in names]
    return sorted(names, key=lambda name: int(name.rpartition("_")[2])) if all(map(str.isdecimal, ends)) else names


def _first_null(column: Any) -> int:
    return int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))


def _to_numpy(column: Any, name: str) -> Array:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if column.null_count:
        raise RowError(
            f"column {name} has {column.null_count} missing values; fill them or drop the rows first "
            "(row {row} is the first).",
            _first_null(column),
        )
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    with reading(f"column {name}", "of numbers, texts or lists of numbers"):
        if not any(is_kind(column.type) for is_kind in kinds):
            if pa.types.is_nested(column.type):
                raise TypeError(str(column.type))
            return column.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
        return _lists(column, name)


def _lists(column: Any, name: str) -> Array:
    lengths = np.unique(column.value_lengths().to_numpy(zero_copy_only=False))
    if len(lengths) > 1:
        raise ReadError(f"column {name} has lists of {len(lengths)} different lengths; one length for all is needed.")
    flat = column.flatten()
    if flat.null_count:
        row = _first_null(flat) // int(lengths[0])
        raise RowError(f"column {name} has missing values inside its lists (row {{row}}); fill them first.", row)
    values: Array = flat.to_numpy(zero_copy_only=False)
    return values.reshape(len(column), -1)
