"""One cell after another in this process."""

from __future__ import annotations

from collections import deque

from truelabel.lab.attempt import attempt
from truelabel.lab.engines.base import Engine, Job
from truelabel.lab.record import Record


class Local(Engine):
    """Runs cells in this process.

    A cell past its time is stopped when the interpreter next has a say; one that exhausts the machine's memory takes
    the run with it, which then goes on from the next cell when it is started again. There is no limit to its memory:
    libraries that were refused memory may not work again in the same process.

    Parameters
    ----------
    workers : int, optional
        There is one; more are refused.
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers not in (None, 1):
            raise ValueError(f"The engine local has one worker, not {workers}; use the engine processes.")
        self._jobs: deque[Job] = deque()

    def submit(self, job: Job) -> None:
        """Put a job in line."""
        if job.limits.memory is not None:
            raise ValueError("The engine local cannot limit a cell's memory; use the engine processes.")
        self._jobs.append(job)

    def wait(self, seconds: float) -> tuple[Job, Record] | None:
        """Run the next job."""
        if not self._jobs:
            return None
        job = self._jobs.popleft()
        return job, attempt(job.cell, job.place, job.limits, job.work)
