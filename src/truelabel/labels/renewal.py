"""Files of a folder that are replaced as one: whatever ends the program, all of them are old or all are new."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RENEWED = "renewed"  # a folder in the folder: files that are written, but not yet in their places
UNFINISHED = ".renewing-"
LONG_AGO = 3600.0  # seconds after which a renewal that was begun is taken to have been killed


@contextmanager
def renewing(home: Path) -> Iterator[Path]:
    """Give an empty folder; when this is left without an error, its files replace those of the same names in `home`."""
    finish(home)
    _clear(home)
    made = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=home))
    try:
        yield made
        for path in made.iterdir():
            _flush(path)
        made.rename(home / RENEWED)  # from here on the new files count, wherever they are
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    finish(home)


def finish(home: Path) -> None:
    """Put new files in their places, if something was killed before it could."""
    renewed = home / RENEWED
    if renewed.is_dir():
        for path in renewed.iterdir():
            path.replace(home / path.name)
        renewed.rmdir()


def newest(home: Path, name: str) -> Path:
    """Return where the file is that counts."""
    renewed = home / RENEWED / name
    return renewed if renewed.is_file() else home / name


def _flush(path: Path) -> None:
    """Return when the disk has a file."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _clear(home: Path) -> None:
    for left in home.glob(f"{UNFINISHED}*"):
        if left.stat().st_mtime < time.time() - LONG_AGO:
            shutil.rmtree(left, ignore_errors=True)
