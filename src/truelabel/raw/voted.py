"""Votes for raw data that several annotators labelled."""

from __future__ import annotations

from collections.abc import Callable

from truelabel.arrays import Array
from truelabel.labels import Votes
from truelabel.raw.instances import Source, Tell
from truelabel.raw.table import Table

ReadVotes = Callable[[Array, tuple[str, ...]], Votes]


def votes_of(source: Source, read: ReadVotes | None, names: tuple[str, ...], tell: Tell) -> Votes | None:
    """Return the votes for all rows, if there are several annotators.

    Parameters
    ----------
    source : Source
        The raw data; a table may have a column per annotator.
    read : callable, optional
        Called with the names of all rows and of the classes, it returns the votes.
    names : tuple of str
        The classes.
    tell : callable
        Called with what the user should know.
    """
    if isinstance(source, Table) and source.annotators:
        if read is not None:
            raise ValueError("labels are in several columns already; name one column, or leave the votes out.")
        return source.votes(names, tell)
    return None if read is None else read(source.ids, names)
