"""The store of records: one SQLite file, one writer, any number of readers."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from truelabel.lab.record import Record
from truelabel.writing import RESULT, whole

if TYPE_CHECKING:
    import pandas as pd

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    key TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    written REAL NOT NULL,
    record TEXT NOT NULL
)
"""


class StoreError(OSError):
    """The store cannot be read or written."""


class Store:
    """Records by the key of their cell, in a SQLite file with a write-ahead log.

    Parameters
    ----------
    path : path
        The file; it is made where it is missing, unless the store is opened to be read only.
    read_only : bool, default False
        Whether to leave the file as it is.

    Examples
    --------
    >>> from truelabel.lab import Cell, Record, Store
    >>> with Store(":memory:") as store:
    ...     store.add(Record(Cell(dataset="digits"), "ok", {"before": 0.5, "after": 0.75}))
    ...     store.frame()[["dataset", "before", "after"]].to_dict("records")
    [{'dataset': 'digits', 'before': 0.5, 'after': 0.75}]
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = os.fspath(path)
        self.read_only = read_only
        with self._explained("opened"):
            self._connection = self._open() if read_only else self._create()

    def _open(self) -> sqlite3.Connection:
        if not Path(self.path).is_file():
            raise FileNotFoundError(f"there is no store {self.path}; make one with truelabel lab run GRID --store.")
        address = Path(self.path).absolute().as_uri()
        try:
            return self._reader(f"{address}?mode=ro")
        except sqlite3.OperationalError:
            # Beside a file in a folder that cannot be written the log's index cannot be made.
            return self._reader(f"{address}?mode=ro&immutable=1")

    def _reader(self, address: str) -> sqlite3.Connection:
        connection = sqlite3.connect(address, uri=True)
        connection.execute("SELECT count(*) FROM records").fetchone()
        return connection

    def _create(self) -> sqlite3.Connection:
        if self.path != ":memory:":
            Path(self.path).absolute().parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=30)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        with connection:
            connection.execute(_SCHEMA)
            connection.execute("DELETE FROM records WHERE key = ''")  # fails here if the file cannot be written
        return connection

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            advice = {
                "disk is full": "make room and run again; what was recorded is kept",
                "disk I/O": "look after the disk and run again; what was recorded is kept",
                "readonly": "make the file and its folder writable and run again; what was recorded is kept",
                "unable to open": "make its folder readable and writable, or name another file",
                "not a database": "name another file",
                "no such table": "name a file that truelabel lab run wrote",
                "locked": "another run is writing to it; wait for it, or name another file",
            }
            found = [text for part, text in advice.items() if part in str(error)]
            raise StoreError(
                f"The store {self.path} cannot be {what} ({error}); {found[0] if found else 'look at the file'}."
            ) from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
            raise StoreError(
                f"The store {self.path} is damaged ({type(error).__name__}: {error}); restore it from a copy."
            ) from None

    def add(self, record: Record) -> None:
        """Write a record; one of a cell that failed gives way to a later one, one that is ok never does."""
        with self._explained("written"), self._connection:
            self._connection.execute(
                "INSERT INTO records VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET status = excluded.status, "
                "written = excluded.written, record = excluded.record WHERE records.status != 'ok'",
                (record.key, record.status, time.time(), record.to_json()),
            )

    def statuses(self) -> dict[str, str]:
        """Return the status of every cell by its key."""
        with self._explained("read"):
            return dict(self._connection.execute("SELECT key, status FROM records"))

    def records(self, keys: Iterable[str] | None = None) -> list[Record]:
        """Return the records in the order of their keys; those of some keys, or all."""
        wanted = None if keys is None else set(keys)
        with self._explained("read"):
            found = self._connection.execute("SELECT key, record FROM records ORDER BY key").fetchall()
            return [Record.from_json(text) for key, text in found if wanted is None or key in wanted]

    def frame(self, keys: Iterable[str] | None = None) -> pd.DataFrame:
        """Return records as one table: configuration, status, result, ``seconds.…`` and ``environment.…``."""
        return to_frame(self.records(keys))

    def read(self, path: str | os.PathLike[str]) -> int:
        """Add the records of a .parquet file that `export` wrote; return how many there were."""
        found = _read_parquet(Path(path))
        for record in found:
            self.add(record)
        return len(found)

    def close(self) -> None:
        """Close the file; the log is folded into it."""
        self._connection.close()

    def __len__(self) -> int:
        with self._explained("read"):
            return int(self._connection.execute("SELECT count(*) FROM records").fetchone()[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def to_frame(records: Iterable[Record]) -> pd.DataFrame:
    """Return records as one table, a row each."""
    import pandas as pd

    return pd.DataFrame([record.to_row() for record in records])


def export(records: Iterable[Record], path: str | os.PathLike[str]) -> None:
    """Write records as a table to a .parquet or .csv file; the former can be opened like a store."""
    target = Path(path)
    if target.suffix == ".csv":
        with whole(target) as partial:
            to_frame(records).to_csv(partial, index=False)
    elif target.suffix == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        rows = [record.to_row() for record in records]
        names = dict.fromkeys(name for row in rows for name in row)
        # By way of a DataFrame whole numbers beside an empty cell would become fractions.
        columns = pa.table({name: [row.get(name) for row in rows] for name in names})
        with whole(target) as partial:
            parquet.write_table(columns.replace_schema_metadata({RESULT: b"records"}), partial, compression="zstd")
    else:
        raise ValueError(f"{target} must end in .parquet or .csv.")


def open_store(path: str | os.PathLike[str]) -> Store:
    """Open a store to read: the SQLite file itself, or a .parquet file that `export` wrote."""
    if Path(path).suffix != ".parquet":
        return Store(path, read_only=True)
    store = Store(":memory:")
    store.read(path)
    return store


def _read_parquet(path: Path) -> list[Record]:
    import pyarrow as pa
    from pyarrow import parquet

    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}.")
    try:
        return [Record.from_row(row) for row in parquet.read_table(path).to_pylist()]
    except (pa.ArrowException, OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{path} is no Parquet file, or a damaged one ({error}); copy it again.") from None
    except KeyError as error:
        raise StoreError(f"{path} has no column {error}; name a file that truelabel lab show --export wrote.") from None
