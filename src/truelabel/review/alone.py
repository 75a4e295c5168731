"""A file for one program at a time: whoever else wants to change it learns so, and overwrites nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def alone(path: Path) -> Iterator[bool]:
    """Give whether this program alone may change a file, until this is left; False where another one holds it.

    An SQLite file beside it is locked for that: on every system such a lock ends with the program that holds it,
    whatever ends that. The empty file stays, for a lock on a file that is being removed would hold nothing.
    """
    with closing(_opened(path.with_name(f".{path.name}.lock"))) as lock:
        yield _locked(lock, path)


def _opened(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(path, timeout=0, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise _useless(path, error) from None


def _locked(lock: sqlite3.Connection, path: Path) -> bool:
    try:
        lock.execute("PRAGMA journal_mode = OFF")  # nothing is written, so there is nothing to roll back
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            return False
        raise _useless(path, error) from None
    return True


def _useless(path: Path, error: sqlite3.Error) -> OSError:
    return OSError(f"{path} cannot be locked ({error}); see whether its folder is there and can be written to.")
