"""Shared stages on disk, named by the hash of what they depend on; several workers may use one folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from truelabel.arrays import Array
from truelabel.writing import whole_folder, write_bytes

Arrays = dict[str, Array]
Facts = dict[str, Any]


class Cache:
    """A folder of finished stages.

    Whoever needs one that is missing makes it under a lock, which the system gives back when its holder dies, and
    moves it to its place whole. The folder may be deleted at any time: it only saves time.

    Parameters
    ----------
    folder : path
        The folder; it is made when it is first needed.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder)

    def arrays(self, stage: str, key: str, make: Callable[[], tuple[Arrays, Facts]]) -> tuple[Arrays, Facts]:
        """Return the arrays of a stage and the facts that go with them, made if they are not there."""
        target = self._place(stage, key).with_suffix(".safetensors")
        found = _read(target)
        if found is None:
            with self._lock(target):
                found = _read(target)
                if found is None:
                    found = make()
                    _write(target, *found)
        return found

    def folder(self, stage: str, key: str, make: Callable[[Path], None]) -> Path:
        """Return the folder of a stage; `make` fills it if it is not there."""
        target = self._place(stage, key)
        if not target.is_dir():
            with self._lock(target):
                if not target.is_dir():
                    with whole_folder(target) as partial:
                        make(partial)
        return target

    def scratch(self, key: str) -> Path:
        """Return the folder of work in progress on a stage; whoever finishes the stage deletes it."""
        return self._place("unfinished", key)

    def _place(self, stage: str, key: str) -> Path:
        return self.path / stage / key[:2] / key

    def _lock(self, target: Path) -> Any:
        from filelock import FileLock

        target.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(f"{target}.lock")


def _read(path: Path) -> tuple[Arrays, Facts] | None:
    """Return what a file holds; None if there is none, or if it is damaged and must be made again."""
    from safetensors import SafetensorError, safe_open

    if not path.exists():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            facts = json.loads((file.metadata() or {})["facts"])
            return {name: file.get_tensor(name) for name in file.keys()}, facts  # noqa: SIM118
    except (SafetensorError, KeyError, json.JSONDecodeError):
        return None


def _write(path: Path, arrays: Arrays, facts: Facts) -> None:
    from safetensors.numpy import save

    write_bytes(path, save(arrays, {"facts": json.dumps(facts)}))
