"""What a person decided about labels, in an SQLite file that survives whatever ends the program."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truelabel.arrays import Array, Ints
from truelabel.labels.final import NEW_CLASS
from truelabel.review.decision_file import DecisionFile, make
from truelabel.review.holds import hold
from truelabel.review.names import as_named_before, new_class_name, reviewer_name

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.labels.examined import Examined
    from truelabel.labels.issues import LabelIssues

Verdict = Literal["none", "ambiguous", "several"]
Kind = Literal["accept", "keep", "other", "skip", "none", "ambiguous", "several", "new class"]
STANDING = "standing.row, decision, label, at, tab, reviewer, seq, new_class"


@dataclass(frozen=True)
class Standing:
    """What stands about an instance: the last decision that was not undone, or that there is none.

    Attributes
    ----------
    row : int
        The instance's row number.
    decision : str or None
        A word, as `Decisions.decide` returns it; None where nothing stands.
    label : int or None
        The class that it is, if it has one.
    when, tab, reviewer : str or None
        When it was decided, in which tab, and by whom; the name is empty where the person gave none.
    seq : int or None
        The number of the decision in the file.
    new_class : str or None
        The name of the class that it is, if that is a new one.
    """

    row: int
    decision: Kind | None
    label: int | None
    when: str | None
    tab: str | None
    reviewer: str | None
    seq: int | None
    new_class: str | None = None


class ConflictError(Exception):
    """Another person has decided about an instance since it was looked at; `standing` is what stands now.

    Where that person took a decision back, `standing` has no decision, but who took it back and when.
    """

    def __init__(self, standing: Standing) -> None:
        super().__init__(f"another person has decided about row {standing.row} meanwhile")
        self.standing = standing


@dataclass(frozen=True)
class Asked:
    """An instance that a person was asked about: its row, name, given and suggested label, and the decision it had.

    `seen` is the number of the decision that stood when the person looked, 0 if none did.
    """

    row: int
    id: Any
    given: int
    suggested: int
    seen: int


class Decisions(DecisionFile):
    """Decisions of one or several persons about labels, kept in a file.

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

    @classmethod
    def of(cls, examined: Examined, path: str | os.PathLike[str]) -> Decisions:
        """Open the decisions about examined labels, in a file that is made if need be.

        A file of decisions about other instances, other given labels or other classes is refused.
        """
        fingerprint = _fingerprint(examined)
        if not Path(path).exists() or not Path(path).stat().st_size:
            make(Path(path), examined.found.class_names, fingerprint)
        opened = cls(path)
        if opened.fingerprint != fingerprint:
            opened.close()
            raise ValueError(f"{path} holds decisions about other data; name another file (--decisions) or remove it.")
        return opened

    def decide(
        self,
        row: int,
        label: int | None,
        *,
        given: int,
        suggested: int,
        verdict: Verdict | None = None,
        new_class: str | None = None,
        id: Any = None,
        tab: str = "",
        reviewer: str = "",
        seen: int | None = None,
    ) -> Kind:
        """Record a decision; when this returns it is on disk.

        Parameters
        ----------
        row : int
            The instance's row number.
        label : int or None
            The class that it is; None to skip the instance, or with one of the next two.
        given, suggested : int
            Its given label and the suggested one, as class indices.
        verdict : {"none", "ambiguous", "several"}, optional
            Why it has no label: no class fits, nobody can tell which, several classes fit.
        new_class : str, optional
            The name of the class that it is, if that is none of the classes.
        id : optional
            Its name; the row number by default.
        tab : str
            Where it is decided; `undo` undoes what the same tab did.
        reviewer : str
            Who decides.
        seen : int, optional
            The number of the decision that stood when the person looked (`Standing.seq`), 0 if none did. If another
            tab has decided since, nothing is recorded, and `ConflictError` is raised. By default the decision counts
            whatever stands.

        Returns
        -------
        str
            "keep" where the label is the given one, "accept" where it is the suggested one, else "other"; "skip"; the
            verdict; or "new class".
        """
        self._require_class(label)
        if sum(one is not None for one in (label, verdict, new_class)) > 1:
            raise ValueError("a decision is a label, a verdict or a new class; pass one of them.")
        name = None if new_class is None else new_class_name(new_class, self.class_names)
        decision: Kind = NEW_CLASS if name is not None else verdict or _kind(label, given, suggested)
        who = reviewer_name(reviewer)
        with self._writing() as file:
            if seen is not None:
                _require_unchanged(file, row, seen, tab)
            name = None if name is None else as_named_before(file, name)
            about = (row, row if id is None else id, given, suggested)
            _record(file, *about, decision, label, _now(), tab, who, name, None)
        return decision

    def decide_all(
        self, about: Sequence[Asked], label: int, *, tab: str = "", reviewer: str = ""
    ) -> tuple[list[int], list[Standing]]:
        """Record one label for several instances, all of them together; `undo` takes them back together, too.

        Parameters
        ----------
        about : sequence of Asked
            The instances, and what stood about them when the person looked.
        label : int
            The class that all of them are.
        tab, reviewer : str
            Where it is decided, and by whom.

        Returns
        -------
        decided : list of int
            The rows that were decided.
        conflicts : list of Standing
            What stands about the others: somebody else has decided about them since, and that is left as it is.
        """
        self._require_class(label)
        who, now = reviewer_name(reviewer), _now()
        decided: list[int] = []
        conflicts: list[Standing] = []
        with self._writing() as file:
            (first,) = file.execute("SELECT COALESCE(MAX(seq), 0) + 1 FROM log").fetchone()
            for one in about:
                try:
                    _require_unchanged(file, one.row, one.seen, tab)
                except ConflictError as error:
                    conflicts.append(error.standing)
                    continue
                kind = _kind(label, one.given, one.suggested)
                _record(file, one.row, one.id, one.given, one.suggested, kind, label, now, tab, who, None, first)
                decided.append(one.row)
        return decided, conflicts

    def _require_class(self, label: int | None) -> None:
        if label is not None and not 0 <= label < len(self.class_names):
            raise ValueError(f"there is no class {label}; the classes are 0 to {len(self.class_names) - 1}.")

    def undo(self, tab: str = "", reviewer: str = "") -> int | None:
        """Undo the last decision of a tab that is not undone yet; return its row, or None where there is none.

        What was decided before about the instance stands again. A later decision of another tab about it is left
        as it is. Instances that were decided together are undone together; the row of the first one is returned.
        """
        rows = self.undo_all(tab, reviewer)
        return rows[0] if rows else None

    def undo_all(self, tab: str = "", reviewer: str = "") -> list[int]:
        """Do as `undo`, and return all rows that were undone."""
        who, now = reviewer_name(reviewer), _now()
        with self._writing() as file:
            last = file.execute(
                "SELECT seq, batch FROM valid WHERE tab = ? ORDER BY seq DESC LIMIT 1", (tab,)
            ).fetchone()
            if last is None:
                return []
            entries = file.execute(
                "SELECT seq, row, id, given, suggested FROM valid"
                " WHERE tab = ? AND (seq = ? OR batch = ?) ORDER BY seq",
                (tab, *last),
            ).fetchall()
            file.executemany(
                "INSERT INTO log (undoes, row, id, given, suggested, at, tab, reviewer)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(*entry, now, tab, who) for entry in entries],
            )
        return [int(row) for _, row, *_ in entries]

    def hold(self, tab: str, wanted: Sequence[int], *, most: int = 1, since: int | None = None) -> list[int]:
        """Let a tab have the first instances of those it wants that no other tab has; see `truelabel.review.holds`."""
        with self._noting() as file:
            return hold(file, tab, wanted, most=most, since=since)

    def changes(self, since: int = 0) -> tuple[int, list[Standing]]:
        """Return the file's version, and what stands about each instance that was touched after version `since`."""
        with self._reading():
            ((version,),) = self._read("SELECT COALESCE(MAX(seq), 0) FROM log")
            touched = self._read(
                f"SELECT touched.{STANDING.removeprefix('standing.')}"
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
            `id`; `given` and `suggested` label; `decision`, as `decide` returns it; `label`, what the person says it
            is (the name of a new class, too; missing where it was skipped or has no label); `when`, in UTC;
            `reviewer`, who decided (empty where the person gave no name). The index is the instance's row number.
        """
        with self._readable():
            return self._table()

    def _table(self) -> pd.DataFrame:
        import pandas as pd

        entries = self._read(
            "SELECT row, id, given, suggested, decision, label, at, reviewer, new_class FROM standing ORDER BY seq"
        )
        columns = list(zip(*entries, strict=True)) or [()] * 9
        numbered = not isinstance(self.class_names[0], str)
        dtype: Any = "Int64" if numbered and not any(columns[8]) else object
        label = [
            new if index is None else self.class_names[index] for index, new in zip(columns[5], columns[8], strict=True)
        ]
        return pd.DataFrame(
            {
                "id": list(columns[1]),
                "given": pd.Series(self._titles(columns[2]), dtype="int64" if numbered else object),
                "suggested": pd.Series(self._titles(columns[3]), dtype="int64" if numbered else object),
                "decision": pd.Series(columns[4], dtype=object),
                "label": pd.Series(label, dtype=dtype),
                "when": pd.to_datetime(pd.Series(columns[6], dtype=object), utc=True, format="ISO8601"),
                "reviewer": pd.Series(columns[7], dtype=object),
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
            if self._read("SELECT 1 FROM standing WHERE new_class IS NOT NULL AND typeof(new_class) != 'text' LIMIT 1"):
                raise TypeError("a new class without a name")
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
            Where nobody decided, the given label stands; what has no label is missing.
        """
        from truelabel.labels.correct import correct_labels
        from truelabel.labels.final import final_labels
        from truelabel.review.deliver import decided_in

        final = final_labels(found, correct_labels(found, rule="none"), decided_in(self))
        return final.listed(found).drop(columns="reason")

    def __enter__(self) -> Decisions:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Decisions({str(self.path)!r}, {len(self)} decided)"


def _kind(label: int | None, given: int, suggested: int) -> Kind:
    if label is None:
        return "skip"
    if label == given:
        return "keep"
    return "accept" if label == suggested else "other"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _record(file: sqlite3.Connection, *values: Any) -> None:
    file.execute(
        "INSERT INTO log (row, id, given, suggested, decision, label, at, tab, reviewer, new_class, batch)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        values,
    )


def _require_unchanged(file: sqlite3.Connection, row: int, seen: int, tab: str) -> None:
    """Refuse a decision about an instance of which the person has not seen what stands."""
    query = f"SELECT {STANDING} FROM standing WHERE row = ?"
    found = file.execute(query, (row,)).fetchone()
    if found is None and seen:
        query = "SELECT row, NULL, NULL, at, tab, reviewer, 0, NULL FROM log WHERE undoes = ?"
        found = file.execute(query, (seen,)).fetchone()
    if found is not None and (now := Standing(*found)).seq != seen and now.tab != tab:
        raise ConflictError(now)


def _fingerprint(examined: Examined) -> str:
    """Return what tells these instances, given labels and classes from others."""
    found = examined.found
    digest = hashlib.sha256(json.dumps([str(name) for name in found.class_names]).encode())
    digest.update(json.dumps([str(name) for name in _ids(found)]).encode())
    digest.update(np.ascontiguousarray(found.labels, dtype="<i8").tobytes())
    return digest.hexdigest()


def _ids(found: LabelIssues) -> Array:
    return np.asarray(found.table.sort_index()["id"])
