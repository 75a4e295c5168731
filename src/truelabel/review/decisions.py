"""What a person decided about labels, in an SQLite file that survives whatever ends the program."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truelabel.arrays import Array, Ints

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.labels.examined import Examined
    from truelabel.labels.issues import LabelIssues

Kind = Literal["accept", "keep", "other", "skip"]
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


@dataclass(frozen=True)
class Standing:
    """What stands about an instance: the last decision that was not undone, or that there is none."""

    row: int
    decision: Kind | None
    label: int | None
    when: str | None
    tab: str | None


class Decisions:
    """A person's decisions about labels, kept in a file.

    Every decision is on disk before `decide` returns. Several threads, processes and open pages may use one file at
    once; of two decisions about an instance, the last one stands.

    Parameters
    ----------
    path : path
        A file that `Decisions.of`, `serve` or `truelabel review` made.

    Examples
    --------
    >>> from truelabel.review import Decisions
    >>> with Decisions("examined/decisions.sqlite") as decided:  # doctest: +SKIP
    ...     decided.table()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"There are no decisions in {self.path}; truelabel review makes them.")
        self._open()
        try:
            self._require_format()
            with self._readable():
                stored = self._about()
                self.class_names: tuple[Any, ...] = _names(stored["class_names"])
                self.fingerprint = str(stored["fingerprint"])
                self._read("SELECT seq, row, id, given, suggested, decision, label, at, tab FROM standing LIMIT 1")
        except BaseException:
            self.close()
            raise

    @classmethod
    def of(cls, examined: Examined, path: str | os.PathLike[str]) -> Decisions:
        """Open the decisions about examined labels, in a file that is made if need be.

        A file of decisions about other instances, other given labels or other classes is refused.
        """
        fingerprint = _fingerprint(examined)
        if not Path(path).exists() or not Path(path).stat().st_size:
            _make(Path(path), examined.found.class_names, fingerprint)
        opened = cls(path)
        if opened.fingerprint != fingerprint:
            opened.close()
            raise ValueError(f"{path} holds decisions about other data; name another file (--decisions) or remove it.")
        return opened

    def _open(self) -> None:
        self._lock = threading.RLock()
        self._connection = _connect(self.path)

    def _require_format(self) -> None:
        try:
            (found,) = self._connection.execute("PRAGMA application_id").fetchone()
        except sqlite3.DatabaseError:
            found = None
        if found != FORMAT:
            raise ValueError(f"{self.path} is no file of decisions; name one that truelabel review made.")

    def _about(self) -> dict[str, str]:
        return dict(self._connection.execute("SELECT name, value FROM about"))

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

    def decide(self, row: int, label: int | None, *, given: int, suggested: int, id: Any = None, tab: str = "") -> Kind:
        """Record a decision; when this returns it is on disk.

        Parameters
        ----------
        row : int
            The instance's row number.
        label : int or None
            The class that it is; None to skip the instance.
        given, suggested : int
            Its given label and the suggested one, as class indices.
        id : optional
            Its name; the row number by default.
        tab : str
            Who decides; `undo` undoes what the same tab did.

        Returns
        -------
        str
            "keep" where the label is the given one, "accept" where it is the suggested one, else "other"; or "skip".
        """
        if label is not None and not 0 <= label < len(self.class_names):
            raise ValueError(f"there is no class {label}; the classes are 0 to {len(self.class_names) - 1}.")
        decision = _kind(label, given, suggested)
        values = (row, row if id is None else id, given, suggested, decision, label, _now(), tab)
        with self._writing() as file:
            file.execute(
                "INSERT INTO log (row, id, given, suggested, decision, label, at, tab) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
        return decision

    def undo(self, tab: str = "") -> int | None:
        """Undo the last decision of a tab that is not undone yet; return its row, or None where there is none.

        What was decided before about the instance stands again. A later decision of another tab about it is left
        as it is.
        """
        with self._writing() as file:
            last = file.execute(
                "SELECT seq, row, id, given, suggested FROM valid WHERE tab = ? ORDER BY seq DESC LIMIT 1", (tab,)
            ).fetchone()
            if last is None:
                return None
            file.execute(
                "INSERT INTO log (undoes, row, id, given, suggested, at, tab) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*last, _now(), tab),
            )
        return int(last[1])

    def changes(self, since: int = 0) -> tuple[int, list[Standing]]:
        """Return the file's version, and what stands about each instance that was touched after version `since`."""
        with self._reading():
            ((version,),) = self._read("SELECT COALESCE(MAX(seq), 0) FROM log")
            touched = self._read(
                "SELECT touched.row, decision, label, at, tab"
                " FROM (SELECT DISTINCT row FROM log WHERE seq > ?) AS touched"
                " LEFT JOIN standing ON standing.row = touched.row ORDER BY touched.row",
                since,
            )
        return int(version), [Standing(*values) for values in touched]

    def __len__(self) -> int:
        """Return how many instances have a decision, the skipped ones included."""
        return int(self._read("SELECT COUNT(*) FROM standing")[0][0])

    def table(self) -> pd.DataFrame:
        """Return what stands, in the order it was decided.

        Returns
        -------
        pandas.DataFrame
            `id`; `given` and `suggested` label; `decision` ("accept", "keep", "other" or "skip"); `label`, what the
            person says it is (missing where skipped); `when`, in UTC. The index is the instance's row number.
        """
        with self._readable():
            return self._table()

    def _table(self) -> pd.DataFrame:
        import pandas as pd

        entries = self._read("SELECT row, id, given, suggested, decision, label, at FROM standing ORDER BY seq")
        columns = list(zip(*entries, strict=True)) or [()] * 7
        numbered = not isinstance(self.class_names[0], str)
        dtype: Any = "Int64" if numbered else object
        label = [None if index is None else self.class_names[index] for index in columns[5]]
        return pd.DataFrame(
            {
                "id": list(columns[1]),
                "given": pd.Series(self._titles(columns[2]), dtype="int64" if numbered else object),
                "suggested": pd.Series(self._titles(columns[3]), dtype="int64" if numbered else object),
                "decision": pd.Series(columns[4], dtype=object),
                "label": pd.Series(label, dtype=dtype),
                "when": pd.to_datetime(pd.Series(columns[6], dtype=object), utc=True, format="ISO8601"),
            }
        ).set_axis(pd.Index(columns[0], dtype=np.int64), axis=0)

    def _titles(self, indices: Any) -> list[Any]:
        return [self.class_names[index] for index in indices]

    def trusted(self) -> tuple[Ints, Ints]:
        """Return the row numbers of the instances that a person gave a label, ascending, and these labels' indices."""
        with self._readable():
            entries = self._read("SELECT row, label FROM standing WHERE label IS NOT NULL ORDER BY row")
            found = np.array(entries, dtype=np.int64).reshape(-1, 2)
            if len(found) and (found.min() < 0 or found[:, 1].max() >= len(self.class_names)):
                raise ValueError("a class or a row that there is not")
        return found[:, 0].copy(), found[:, 1].copy()

    def corrected(self, found: LabelIssues) -> pd.DataFrame:
        """Return a row an instance, in their own order, with the label that it has after the decisions.

        Parameters
        ----------
        found : LabelIssues
            What was found about the labels.

        Returns
        -------
        pandas.DataFrame
            `id`, `given`, `corrected`, `changed` (whether the two differ) and `decision` (empty where there is none).
            Where nobody decided, the given label stands.
        """
        from truelabel.labels.issues import titles

        rows, chosen = self.trusted()
        labels = found.labels.copy()
        labels[rows] = chosen
        table = found.table.sort_index()[["id", "given"]].copy()
        table["corrected"] = titles(found.class_names)[labels]
        table["changed"] = labels != found.labels
        decided = {int(row): decision for row, decision in self._read("SELECT row, decision FROM standing")}
        table["decision"] = [decided.get(row, "") for row in range(len(labels))]
        return table

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Decisions:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Decisions({str(self.path)!r}, {len(self)} decided)"


def _names(text: Any) -> tuple[Any, ...]:
    names = json.loads(text)
    if not isinstance(names, list) or not names or not all(type(name) in (str, int) for name in names):
        raise TypeError("the names of the classes are no list of names")
    return tuple(names)


def _kind(label: int | None, given: int, suggested: int) -> Kind:
    if label is None:
        return "skip"
    if label == given:
        return "keep"
    return "accept" if label == suggested else "other"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


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


def _make(path: Path, class_names: tuple[Any, ...], fingerprint: str) -> None:
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


def _fingerprint(examined: Examined) -> str:
    """Return what tells these instances, given labels and classes from others."""
    found = examined.found
    digest = hashlib.sha256(json.dumps([str(name) for name in found.class_names]).encode())
    digest.update(json.dumps([str(name) for name in _ids(found)]).encode())
    digest.update(np.ascontiguousarray(found.labels, dtype="<i8").tobytes())
    return digest.hexdigest()


def _ids(found: LabelIssues) -> Array:
    return np.asarray(found.table.sort_index()["id"])
