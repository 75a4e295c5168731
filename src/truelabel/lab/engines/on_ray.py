"""A Ray cluster, or this machine as one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from truelabel.lab.attempt import DiskError, attempt, failure, lost
from truelabel.lab.engines.base import Engine, Job
from truelabel.lab.record import Record


class OnRay(Engine):
    """Runs cells as Ray tasks, each with as many processors as it has threads.

    The shared stages are found again where the cache's folder is one that all machines see; elsewhere each machine
    makes its own.

    Parameters
    ----------
    workers : int, optional
        Cells at a time; by default as many as the cluster has processors.
    address : str, optional
        Of a cluster that is running; by default one is started on this machine and stopped at the end.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        try:
            ray: Any = import_module("ray")
        except ImportError:
            raise ImportError("The engine ray needs Ray; install it with pip install 'truelabel[ray]'.") from None
        self._ray = ray
        self._started = not ray.is_initialized()
        if self._started:
            own: dict[str, Any] = {"num_cpus": workers, "include_dashboard": False} if address is None else {}
            ray.init(address=address, log_to_driver=False, logging_level="error", **own)
        self.slots = workers or int(ray.cluster_resources().get("CPU", 1))
        self._task = ray.remote(attempt)
        self._last_task = ray.remote(max_calls=1)(attempt)  # of a worker that may be left without memory
        self._running: dict[Any, Job] = {}

    def submit(self, job: Job) -> None:
        """Hand a job to the cluster."""
        task = self._task if job.limits.memory is None else self._last_task
        task = task.options(num_cpus=job.cell.threads, max_retries=0)
        self._running[task.remote(job.cell, job.place, job.limits, job.work, own_process=True)] = job

    def wait(self, seconds: float) -> tuple[Job, Record] | None:
        """Return a job that has finished."""
        if not self._running:
            return None
        done, _ = self._ray.wait(list(self._running), num_returns=1, timeout=seconds)
        if not done:
            return None
        job = self._running.pop(done[0])
        errors = self._ray.exceptions
        try:
            return job, self._ray.get(done[0])
        except errors.OutOfMemoryError as error:
            return job, failure(job.cell, job.place, "memory", _line(error))
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.LocalRayletDiedError) as error:
            return job, lost(job.cell, job.place, job.limits, _line(error))
        except errors.RayTaskError as error:
            if isinstance(error.cause, DiskError):
                raise error.cause from None
            raise

    def close(self) -> None:
        """Cancel what is running and, where the cluster is our own, stop it."""
        for task in self._running:
            self._ray.cancel(task, force=True)
        self._running.clear()
        if self._started:
            self._ray.shutdown()


def _line(error: Exception) -> str:
    return f"Its process died ({str(error).strip().splitlines()[0]})."
