"""The SQLite file that decisions are kept in: how it is made, opened, brought up to date, read and written."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FORMAT = 0x7472_6C31  # marks an SQLite file as one of decisions
BUSY = ("locked", "busy", "unable to open", "disk", "readonly")  # what says nothing of what is in the file
PATIENCE = 10.0  # seconds that a decision waits for another process's

# Nothing in `log` is ever changed or deleted: an undo is an entry of its own, which names the one that it undoes.
SCHEMA = f"""
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    row INTEGER NOT NULL,
    id NOT NULL,
    given INTEGER NOT NULL,
    suggested INTEGER NOT NULL,
    decision TEXT,
    label INTEGER,
    at TEXT NOT NULL,
    tab TEXT NOT NULL,
    undoes INTEGER REFERENCES log
);
CREATE INDEX by_row ON log (row, seq);
CREATE INDEX by_undone ON log (undoes);
CREATE VIEW valid AS
    SELECT * FROM log WHERE undoes IS NULL AND NOT EXISTS (SELECT 1 FROM log AS undo WHERE undo.undoes = log.seq);
CREATE VIEW standing AS
    SELECT * FROM valid WHERE seq = (SELECT MAX(seq) FROM valid AS other WHERE other.row = valid.row);
PRAGMA application_id = {FORMAT};
"""
# What files of earlier versions do not have. Those versions can still read and write a file that has it.
LATER_COLUMNS = {
    "reviewer": "TEXT NOT NULL DEFAULT ''",
    "new_class": "TEXT",
    "batch": "INTEGER",  # of entries that were made together, the same number
}
HELD = "CREATE TABLE IF NOT EXISTS held (row INTEGER PRIMARY KEY, tab TEXT NOT NULL, until REAL NOT NULL)"


class DecisionFile:
    """An open file of decisions, for several threads at once.

    Parameters
    ----------
    path : path
        The file, which must be there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"There are no decisions in {self.path}; truelabel review makes them.")
        self._lock = threading.RLock()
        self._connection = _connect(self.path)
        try:
            self._require_format()
            with self._readable():
                self._bring_up_to_date()
                stored = dict(self._connection.execute("SELECT name, value FROM about"))
                self.class_names: tuple[Any, ...] = _names(stored["class_names"])
                self.fingerprint = str(stored["fingerprint"])
                self._read("SELECT seq, row, id, given, suggested, decision, label, at, tab FROM standing LIMIT 1")
        except BaseException:
            self.close()
            raise

    def _require_format(self) -> None:
        try:
            (found,) = self._connection.execute("PRAGMA application_id").fetchone()
        except sqlite3.DatabaseError:
            found = None
        if found != FORMAT:
            raise ValueError(f"{self.path} is no file of decisions; name one that truelabel review made.")

    def _bring_up_to_date(self) -> None:
        """Add what a file of an earlier version does not have."""
        if not self._missing():
            return
        with self._writing() as file:
            for name in self._missing():  # another program may have added some meanwhile
                file.execute(f"ALTER TABLE log ADD COLUMN {name} {LATER_COLUMNS[name]}")
            file.execute(HELD)

    def _missing(self) -> list[str]:
        there = {name for _, name, *_ in self._read("PRAGMA table_info(log)")}
        return [name for name in LATER_COLUMNS if name not in there]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Hold the file for one change, which is on disk when this is left."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _noting(self) -> Iterator[sqlite3.Connection]:
        """Hold the file for a change that may be lost in a power cut, so that nobody waits for the disk."""
        with self._lock:
            self._connection.execute("PRAGMA synchronous = NORMAL")
            try:
                with self._writing() as file:
                    yield file
            finally:
                self._connection.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """See one state of the file, however many questions are asked of it, and let go of it in any case."""
        with self._lock:
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Say in a sentence that the file is damaged, where it is; one that is locked or gone is not."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if any(word in str(error) for word in BUSY):
                raise OSError(f"{self.path} cannot be read now ({error}); try again.") from None
            raise ValueError(f"{self.path} is damaged ({error}); restore it from a copy.") from None
        except (sqlite3.DatabaseError, KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(
                f"{self.path} is damaged ({type(error).__name__}: {error}); restore it from a copy."
            ) from None

    def _read(self, query: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


def make(path: Path, class_names: tuple[Any, ...], fingerprint: str) -> None:
    """Make a new file ready for decisions, in one transaction: whoever ends it half-way leaves an empty file."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} for the decisions; make it first.")
    names = [name if isinstance(name, str) else int(name) for name in class_names]
    stored = {"class_names": json.dumps(names, ensure_ascii=False), "fingerprint": fingerprint}
    connection = _connect(path)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
            for statement in SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.executemany("INSERT INTO about VALUES (?, ?)", stored.items())
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        raise OSError(f"{path} cannot be written ({error}).") from None
    finally:
        connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    """Open a file so that a commit returns only when the disk has it."""
    try:
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.OperationalError as error:
        raise OSError(f"{path} cannot be opened ({error}).") from None
    except sqlite3.DatabaseError:
        raise ValueError(f"{path} is no file of decisions; name one that truelabel review made.") from None
    return connection


def _names(text: Any) -> tuple[Any, ...]:
    names = json.loads(text)
    if not isinstance(names, list) or not names or not all(type(name) in (str, int) for name in names):
        raise TypeError("the names of the classes are no list of names")
    return tuple(names)
