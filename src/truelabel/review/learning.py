"""Learning from decisions: what a person says about some labels helps to judge the others."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truelabel.review.deliver import decided_by, unusable

if TYPE_CHECKING:
    from truelabel.arrays import Ints
    from truelabel.labels.examined import Examined
    from truelabel.labels.final import Decided
    from truelabel.review.decisions import Decisions

State = Literal["idle", "running", "done", "failed"]
UNSUSPICIOUS = 50  # labels that are shown where none is suspicious: enough to see that they are right
PATIENCE = 30.0  # seconds that work is waited for when it is to stop


def suspects(examined: Examined, decisions: Decisions, threshold: float | None = None, most: int | None = None) -> Ints:
    """Return the row numbers of the instances to go through, the most suspicious first.

    Where none is suspicious, they are those with the largest p_wrong (`UNSUSPICIOUS` of them).
    Once something was learned from decisions, all that was decided stays listed, doubtful or not, and `most` is of
    the others.
    """
    ranked = examined.found.ranked(threshold)
    if not len(ranked):
        ranked = examined.found.table.index.to_numpy()[:UNSUSPICIOUS]
    if not examined.about.get("trusted"):
        return ranked[:most]
    decided = [one.row for one in decisions.changes()[1] if one.decision is not None]
    others = ranked[~np.isin(ranked, decided)][:most]
    order = examined.found.table.index.to_numpy()
    return np.asarray(order[np.isin(order, [*decided, *others])])


def none_suspicious(examined: Examined, threshold: float | None = None, most: int | None = None) -> str:
    """Return a sentence about what is shown where no label is suspicious; empty where some are."""
    if len(examined.found.ranked(threshold)):
        return ""
    least = "no other class is more probable" if threshold is None else f"no p_wrong is {threshold:g} or more"
    shown = min(UNSUSPICIOUS, len(examined), UNSUSPICIOUS if most is None else most)
    return (
        f"None of the {len(examined):,} labels is suspicious ({least}); the page shows the "
        f"{counted(shown, 'label')} with the largest p_wrong."
    )


def learn(
    examined: Examined,
    rows: Ints,
    labels: Ints,
    *,
    folder: str | os.PathLike[str] | None = None,
    threshold: float | None = None,
    decided: Decided | None = None,
    **settings: Any,
) -> tuple[Examined, str]:
    """Examine labels again with trusted ones among them, and say in a sentence what came of it.

    Parameters
    ----------
    examined : Examined
        Labels, and what was found about them before.
    rows, labels : (m,) arrays
        The instances that somebody looked at, and what they are.
    folder : path, optional
        The folder that they were read from; it is written anew, with its report and its corrected file.
    threshold : float, optional
        The least p_wrong of a suspect; see `LabelIssues.mask`.
    decided : mapping, optional
        All decisions, those without a label too: what has no usable label is left out, and the corrected file has all.
        By default those that `rows` and `labels` tell.
    **settings
        Seed, device and progress; see `Examined.refined`.
    """
    decided = decided_by(examined, rows, labels) if decided is None else decided
    left_out = unusable(decided)
    refined = examined.refined(rows, labels, left_out=left_out, **settings)
    if folder is not None:
        from truelabel.raw.decided import renew

        renew(folder, refined, decided)
    rows = np.union1d(rows, left_out)
    left, before = (int((~np.isin(one.found.ranked(threshold), rows)).sum()) for one in (refined, examined))
    return refined, f"Learned: {counted(left, 'label')} still suspicious, {before:,} before."


def counted(number: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


class Background:
    """Work that goes on in a thread of its own, one piece at a time, and how it stands."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stands: tuple[State, str] = "idle", ""

    @property
    def stands(self) -> tuple[State, str]:
        """How the work stands, and a sentence about it."""
        return self._stands

    def start(self, work: Callable[[], str], said: str) -> bool:
        """Start work that returns a sentence when it is done, unless there is some; return whether it was started.

        Parameters
        ----------
        work : callable
            What to do.
        said : str
            The sentence while it lasts.
        """
        with self._lock:
            if self._stands[0] == "running":
                return False
            self._stands = "running", said
            self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
            self._thread.start()
        return True

    def _run(self, work: Callable[[], str]) -> None:
        try:
            self._stands = "done", work()
        except Exception as error:  # whatever it is, the person is told, and the page goes on
            self._stands = "failed", f"Nothing was learned: {error or type(error).__name__}"
        except SystemExit:
            self._stands = "failed", "Nothing was learned: the server was stopped."

    def stop(self) -> None:
        """Break work off: what runs compiled code while Python ends would take the program down with it."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            return
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
        thread.join(PATIENCE)
