"""Faults at every step of writing, for tests: a full disk, a read-only one, an interruption, a killed program."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


class Killed(BaseException):
    """Stands for the end of the program; nothing tidies up after it."""


FAULTS: dict[str, Callable[[], BaseException]] = {
    "full": lambda: OSError(errno.ENOSPC, "No space left on device"),
    "read-only": lambda: OSError(errno.EROFS, "Read-only file system"),
    "interrupted": KeyboardInterrupt,
    "killed": Killed,
}
STEPS = ((os, "fsync"), (os, "replace"), (os, "rename"), (Path, "replace"), (Path, "rename"), (Path, "mkdir"))


class Disk:
    """A disk that fails at one step of writing (making a folder, flushing, moving), counted from 0.

    What was not flushed by then is half there. Where the program is killed, nothing is written or removed afterwards.

    Parameters
    ----------
    patched : MonkeyPatch
        Undone by whoever passes it.
    fault : str, optional
        One of `FAULTS`; None only counts.
    at : int
        The step that fails.
    """

    def __init__(self, patched: pytest.MonkeyPatch, fault: str | None = None, at: int = -1) -> None:
        self.steps, self.fault, self.at, self.dead = 0, fault, at, False
        for home, name in STEPS:
            patched.setattr(home, name, self._counted(getattr(home, name), name))
        for home, name in ((Path, "unlink"), (shutil, "rmtree"), (os, "unlink"), (os, "remove"), (Path, "rmdir")):
            patched.setattr(home, name, self._unless_dead(getattr(home, name)))

    def _counted(self, step: Callable[..., object], name: str) -> Callable[..., object]:
        def call(*given: object, **options: object) -> object:
            if self.dead:
                raise Killed
            number, self.steps = self.steps, self.steps + 1
            if self.fault is None or number != self.at:
                return step(*given, **options)
            if name == "fsync":
                _halve(given[0])  # type: ignore[arg-type]
            self.dead = self.fault == "killed"
            raise FAULTS[self.fault]()

        return call

    def _unless_dead(self, step: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object, **options: object) -> object:
            return None if self.dead else step(*given, **options)

        return call


def _halve(handle: int) -> None:
    """Leave half of a file that was not on the disk yet."""
    path = Path(os.readlink(f"/proc/self/fd/{handle}")) if Path("/proc/self/fd").exists() else None
    if path is not None and path.is_file():
        os.truncate(path, path.stat().st_size // 2)


def contents(folder: Path) -> dict[str, bytes]:
    """Return what is in a folder, but for files that say by their names that they are not finished."""
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    unfinished = (".partial", ".renewing", ".lock")
    return {name: path.read_bytes() for name, path in found.items() if not any(part in name for part in unfinished)}
