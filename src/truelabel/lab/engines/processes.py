"""A pool of processes on this machine, by joblib's loky."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_for
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from truelabel.lab.attempt import attempt, lost
from truelabel.lab.engines.base import Engine, Job
from truelabel.lab.record import Record

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
HANDED_ON = 1.0  # seconds within which a manager that is well hands a job on to a worker


class Processes(Engine):
    """Runs cells in worker processes, each with its threads pinned to what the cell says.

    When a worker dies, the pool dies with it, and nobody can say which of the cells under way was to blame. So each of
    them is run again by itself: the one that kills its worker again is recorded as having died, the others lose only
    time. A worker that ran out of memory is replaced, too, since libraries that were refused memory may not work again.

    Parameters
    ----------
    workers : int, optional
        Processes; by default as many as there are processors.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.slots = workers or os.cpu_count() or 1
        self._running: dict[Future[Record], Job] = {}
        self._suspects: deque[Job] = deque()
        self._held: list[Job] = []
        self._alone: Job | None = None
        self._spoiled = False
        self._pool: Any = None

    def submit(self, job: Job) -> None:
        """Hand a job to a worker, or hold it until those are done that have to run alone."""
        if self._suspects or self._alone is not None or self._spoiled:
            self._held.append(job)
        else:
            self._start(job)

    def wait(self, seconds: float) -> tuple[Job, Record] | None:
        """Return a job that has finished."""
        if self._spoiled and not self._running:
            self.close()
        if self._alone is None and not self._spoiled:
            self._start_waiting()
        if not self._running:
            return None
        done, _ = wait_for(self._running, timeout=seconds, return_when=FIRST_COMPLETED)
        if not done:
            return None
        future = done.pop()
        if isinstance(future.exception(), BrokenProcessPool):
            return self._broken()
        job, record = self._running.pop(future), future.result()
        self._alone = None
        self._spoiled |= record.status == "memory"
        return job, record

    def close(self) -> None:
        """End the workers."""
        if self._pool is not None:
            # loky's manager fails on a job that it has not yet handed on when it is told to kill the workers.
            deadline = time.monotonic() + HANDED_ON
            while time.monotonic() < deadline and not all(each.running() or each.done() for each in self._running):
                time.sleep(0.01)
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None
        self._spoiled = False
        self._running.clear()

    def _start_waiting(self) -> None:
        if self._suspects:
            self._alone = self._suspects.popleft()
            self._start(self._alone)
            return
        while self._held:
            self._start(self._held.pop(0))

    def _start(self, job: Job) -> None:
        if self._pool is None:
            self._pool = self._make()
        try:
            future = self._pool.submit(attempt, job.cell, job.place, job.limits, job.work, own_process=True)
        except BrokenProcessPool as error:
            future = Future()
            future.set_exception(error)
        self._running[future] = job

    def _make(self) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor

        return ProcessPoolExecutor(
            self.slots, timeout=None, env=dict.fromkeys(THREADS, "1"), initializer=_leave_with, initargs=(os.getpid(),)
        )

    def _broken(self) -> tuple[Job, Record] | None:
        """Begin a new pool; what was under way has to run alone, or had just done so."""
        under_way = list(self._running.values())
        self.close()
        alone, self._alone = self._alone, None
        if alone is None:
            self._suspects.extend(under_way)
            return None
        error = "Its process died, as a crash or the system's want of memory makes it."
        return alone, lost(alone.cell, alone.place, alone.limits, error)


def _leave_with(parent: int) -> None:
    """End this process when its parent is gone, so that a driver that was killed leaves nobody behind."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
