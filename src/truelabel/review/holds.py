"""Which instances are on show on whose page, so that two people do not get the same one."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

LASTS = 30.0  # seconds that an instance stays with a page that no longer says that it shows it


def hold(
    file: sqlite3.Connection, tab: str, wanted: Sequence[int], *, most: int = 1, since: int | None = None
) -> list[int]:
    """Give a tab the first of the wanted instances that no other tab has; what it had before is free again.

    Parameters
    ----------
    file : connection
        A file of decisions, within a transaction.
    tab : str
        Who wants them.
    wanted : sequence of int
        Row numbers, the first choice first.
    most : int
        How many to give.
    since : int, optional
        The version of the decisions that the tab knows: instances that were decided after it are passed over.

    Returns
    -------
    list of int
        The rows that the tab has now.
    """
    now = time.time()
    file.execute("DELETE FROM held WHERE tab = ? OR until < ?", (tab, now))
    taken = {row for (row,) in file.execute("SELECT row FROM held")}
    if since is not None:
        taken |= {row for (row,) in file.execute("SELECT row FROM log WHERE seq > ?", (since,))}
    given = [row for row in dict.fromkeys(wanted) if row not in taken][:most]
    file.executemany("INSERT INTO held VALUES (?, ?, ?)", [(row, tab, now + LASTS) for row in given])
    return given
