"""The contract of an engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

from truelabel.lab.attempt import UNLIMITED, Limits, Work
from truelabel.lab.cell import Cell
from truelabel.lab.experiment import run_cell
from truelabel.lab.record import Record
from truelabel.lab.stages import Place


@dataclass(frozen=True)
class Job:
    """A cell with all that running it takes."""

    cell: Cell
    place: Place
    limits: Limits = UNLIMITED
    work: Work = run_cell


class Engine(ABC):
    """Runs jobs: `submit` while there are free slots, `wait` for one to finish.

    `wait` raises only what is no cell's fault, such as a full disk; everything else is in the record.

    Attributes
    ----------
    slots : int
        Jobs at a time.
    """

    slots: int = 1

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Start a job."""

    @abstractmethod
    def wait(self, seconds: float) -> tuple[Job, Record] | None:
        """Return a job that has finished and its record, or None if none has within so many seconds."""

    def close(self) -> None:  # noqa: B027 (there may be nothing to stop)
        """Stop everything at once; what is running is lost."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
