"""What the audit's page shows and records: the drawn instances one by one, and nothing of what a model believes."""

from __future__ import annotations

import copy
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truelabel.labels.audit_file import undrawn, write
from truelabel.review.audit_words import in_words

if TYPE_CHECKING:
    from truelabel.labels.audit import Audit
    from truelabel.labels.audit_verdict import Verdict
    from truelabel.labels.items import Items

EARLIER = ""  # stands for the tab of an answer that was there when the page opened; no tab has this name


class AnsweredError(Exception):
    """An instance has an answer already, from another tab."""


class AuditPage:
    """The drawn instances of an audit, in its order, and the answers of a person, each on disk at once.

    What leaves this about an instance is its id, what there is to see of it, and its given label: not p_wrong, not
    the suggestion, not the stratum, before its answer and after it. After it, they would teach a person to answer as
    the model does.

    Parameters
    ----------
    audit : Audit
        What to answer.
    items : Items
        The instances.
    path : path
        The file of the audit, which is written anew with every answer.
    fixed : collection of int
        Instances whose answer is in the sheet, too. It is not undone here: the sheet would bring it back.
    """

    def __init__(self, audit: Audit, items: Items, path: Path, fixed: Collection[int] = ()) -> None:
        self.audit, self.items, self.path = audit, items, path
        self._others = undrawn(audit)
        self._drawn = set(audit.rows.tolist())
        self._lock = threading.Lock()
        answers = audit.answers
        undoable = [row for row in audit.rows.tolist() if row in answers and row not in fixed]
        self._done: list[tuple[int, str]] = [(row, EARLIER) for row in undoable]  # instance and tab, the last one last
        self._verdict: tuple[dict[int, int], Verdict] | None = None

    def overview(self) -> dict[str, Any]:
        """Return the drawn instances in their order, and what is answered."""
        audit = self.audit
        return {
            "kind": self.items.kind,
            "instances": len(audit),
            "classes": [str(name) for name in audit.class_names],
            "rows": audit.rows.tolist(),
            "ids": [str(audit.ids[row]) for row in audit.rows],
            "given": audit.given[audit.rows].tolist(),
            "answers": self.answers(),
        }

    def answers(self) -> dict[str, int]:
        """Return what stands, by the instance's number."""
        with self._lock:
            return {str(row): code for row, code in self.audit.answers.items()}

    def shows(self, row: int) -> bool:
        """Return whether an instance was drawn; no other one is shown."""
        return row in self._drawn

    def answer(self, row: int, code: int, tab: str) -> None:
        """Record an answer; return when it is on disk.

        Parameters
        ----------
        row : int
            An instance that was drawn.
        code : int
            The true class, −1 where nobody can tell, −2 where none is right.
        tab : str
            Who answers; `undo` takes back only what the same one answered.
        """
        with self._lock:
            if row in self.audit.answers:
                raise AnsweredError("This label was answered in another tab meanwhile; that answer stands.")
            with self._saved():
                self.audit.answer([row], [code])
            self._done.append((row, tab))

    def undo(self, tab: str) -> int | None:
        """Take back a tab's last answer, or else the last one from before the page opened; return its instance."""
        with self._lock:
            places = {who: place for place, (_, who) in enumerate(self._done)}
            place = places.get(tab, places.get(EARLIER))
            if place is None:
                return None
            row = self._done[place][0]
            with self._saved():
                self.audit.take_back(row)
            del self._done[place]
            return row

    @contextmanager
    def _saved(self) -> Iterator[None]:
        """Write what is changed meanwhile; where that fails, nothing is changed."""
        before = self.audit.history
        try:
            yield
            write(self.audit, self.path, self._others)
        except BaseException:
            self.audit._answers = before
            raise

    def verdict(self) -> dict[str, Any]:
        """Return what the answers prove, as `in_words` has it."""
        with self._lock:
            answers, known = self.audit.answers, self._verdict
            frozen = None if known is not None and known[0] == answers else copy.deepcopy(self.audit)
        if not answers:
            return {"answered": 0, "lines": ["No label is checked yet."]}
        if known is None or frozen is not None:
            assert frozen is not None
            known = self._verdict = (answers, frozen.verdict())
        return {"answered": len(answers), "lines": in_words(known[1])}
