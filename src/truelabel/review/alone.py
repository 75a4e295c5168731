"""A file for one program at a time: whoever else wants to change it is told so, not overwritten."""

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
    with closing(sqlite3.connect(path.with_name(f".{path.name}.lock"), timeout=0, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise OSError(f"{path} cannot be locked ({error}); see whether its folder can be written to.") from None
            yield False
        else:
            yield True
