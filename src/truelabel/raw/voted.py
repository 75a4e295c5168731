"""Raw data that several annotators labelled: their votes, and a calibrator that learns what they say together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from truelabel.arrays import Array
from truelabel.labels import LabelIssues, Votes
from truelabel.predictions import Predictions
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


def with_calibrator(
    said: Predictions, found: LabelIssues, random_state: int, device: str, progress: bool | str
) -> LabelIssues:
    """Return what several annotators say with a calibrator for new instances, which has learned the consensus."""
    from truelabel.calibrators import NPC

    calibrator = NPC(random_state=random_state, device=device, progress=progress)
    return replace(found, calibrator=calibrator.fit(said.replace(labels=found.suggested)))
