"""Running a cell where it may fail: whatever it does becomes a record, within limits of time and memory."""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import re
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TextIO

from truelabel.lab.cache import Cache
from truelabel.lab.cell import Cell
from truelabel.lab.experiment import environment, run_cell, warm_up
from truelabel.lab.record import Record, Status
from truelabel.lab.stages import Place

Work = Callable[[Cell, Place], Record]

DISK = (errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EFBIG)
GIGABYTE = 2**30


class DiskError(OSError):
    """The disk cannot be written; no cell is to blame, and none can run."""


class OutOfTime(BaseException):
    """A cell is past its limit. Not an Exception, so that nothing in between takes it for its own."""


@dataclass(frozen=True)
class Limits:
    """What a cell may take.

    Parameters
    ----------
    seconds : float, optional
        Wall time, training included.
    memory : float, optional
        Gigabytes of address space on top of what its process has when the cell begins.
    grace : float, default 5
        Seconds that a cell past its limit has to stop before its process is ended, where it has one of its own.
    """

    seconds: float | None = None
    memory: float | None = None
    grace: float = 5.0

    def __post_init__(self) -> None:
        for name in ("seconds", "memory", "grace"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"The limit of {name} must be above 0, but is {value}.")


UNLIMITED = Limits()


def attempt(
    cell: Cell, place: Place, limits: Limits = UNLIMITED, work: Work = run_cell, *, own_process: bool = False
) -> Record:
    """Run a cell; an error, a limit passed or a lack of memory is recorded.

    Parameters
    ----------
    cell, place : Cell, Place
        What to run, and where.
    limits : Limits
        What it may take.
    work : function
        Runs the cell.
    own_process : bool, default False
        Whether the process is a worker's, which may be ended where a cell past its limit does not stop.
    """
    if work is run_cell:
        warm_up()  # which is no cell's time
    try:
        with _memory(limits.memory), _deadline(limits, _trace(cell, place) if own_process else None):
            return work(cell, place)
    except OutOfTime:
        return failure(cell, place, "timeout", f"It took longer than its limit of {limits.seconds:g} s.")
    except Exception as error:
        if _of_the_disk(error):
            raise DiskError(f"The disk cannot be written ({error}); make room in {place.cache}.") from None
        status: Status = "memory" if _of_memory(error, limits) else "failed"
        line = " ".join(f"{type(error).__name__}: {error}".split())
        return failure(cell, place, status, line, "".join(traceback.format_exception(error)))


def failure(cell: Cell, place: Place, status: Status, error: str, trace: str | None = None) -> Record:
    """Return the record of a cell that gave no figures."""
    return Record(cell, status, environment=environment(place.device), error=error, trace=trace)


def lost(cell: Cell, place: Place, limits: Limits, error: str) -> Record:
    """Return the record of a cell whose process is gone: it died, or was ended after its time was up."""
    path = _trace(cell, place)
    trace = path.read_text() if path.exists() else ""
    path.unlink(missing_ok=True)
    if not trace:
        return failure(cell, place, "died", error)
    error = f"It took longer than its limit of {limits.seconds:g} s and was ended with its process."
    return failure(cell, place, "timeout", error, trace)


def _trace(cell: Cell, place: Place) -> Path:
    return Cache(place.cache).scratch(cell.key).with_suffix(".trace")


def _opened(path: Path) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w")


def _of_memory(error: Exception, limits: Limits) -> bool:
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    phrases = ["can't allocate memory", "out of memory", "bad_alloc"]
    if limits.memory is not None:
        phrases.append("could not create a primitive")  # all that oneDNN says when it gets none
    return any(phrase in str(error) for phrase in phrases)


def _of_the_disk(error: Exception) -> bool:
    """Say whether it is the disk's fault. Libraries that write by themselves name the number in the message."""
    named = re.search(r"os error (\d+)", str(error))
    return getattr(error, "errno", None) in DISK or (named is not None and int(named[1]) in DISK)


@contextlib.contextmanager
def _memory(gigabytes: float | None) -> Iterator[None]:
    if gigabytes is None:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    most = _address_space() + int(gigabytes * GIGABYTE)
    if before[1] != resource.RLIM_INFINITY:
        most = min(most, before[1])
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _address_space() -> int:
    import resource

    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


@contextlib.contextmanager
def _deadline(limits: Limits, trace: Path | None) -> Iterator[None]:
    """Raise `OutOfTime` after so many seconds.

    If that is not heard, where it hangs is written to a file and the process is ended; without a file it is left alone.
    """
    seconds = limits.seconds
    if seconds is None:
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    file = None if trace is None else _opened(trace)
    heard = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, ring) if heard else None
    try:
        if heard:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        if file is not None:
            # The interpreter may be stuck in a call that never returns; this needs no help from it.
            faulthandler.dump_traceback_later(seconds + limits.grace, exit=True, file=file)
        yield
    finally:
        if file is not None and trace is not None:
            faulthandler.cancel_dump_traceback_later()
            file.close()
            trace.unlink(missing_ok=True)
        if heard:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
