"""Files of a folder that are replaced as one: whatever ends the program, all of them are old or all are new."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from truelabel.writing import flush

RENEWED = "renewed"  # a folder in the folder: files that are written, but not yet in their places
UNFINISHED = ".renewing-"
GONE = ".gone.json"  # a file in the former: names of old files that have no new ones and are to go
LONG_AGO = 3600.0  # seconds after which a renewal that was begun is taken to have been killed


@contextmanager
def renewing(home: Path, all_names: Iterable[str] = ()) -> Iterator[Path]:
    """Give an empty folder; when this is left without an error, its files replace those of the same names in `home`.

    Old files of the names in `all_names` that have no new ones are removed.
    """
    finish(home)
    _clear(home)
    made = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=home))
    try:
        yield made
        gone = sorted(set(all_names) - {path.name for path in made.iterdir()})
        (made / GONE).write_text(json.dumps(gone))
        for path in made.iterdir():
            flush(path)
        made.rename(home / RENEWED)  # from here on the new files count, wherever they are
        flush(home)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    finish(home)


def finish(home: Path) -> None:
    """Put new files in their places, if something was killed before it could."""
    renewed = home / RENEWED
    if renewed.is_dir():
        listed = renewed / GONE  # removed last, so that whoever finishes this later knows, too
        for name in json.loads(listed.read_text()) if listed.is_file() else ():
            (home / Path(name).name).unlink(missing_ok=True)
        for path in renewed.iterdir():
            if path != listed:
                path.replace(home / path.name)
        listed.unlink(missing_ok=True)
        renewed.rmdir()


def newest(home: Path, name: str) -> Path:
    """Return where the file is that counts."""
    renewed = home / RENEWED / name
    return renewed if renewed.is_file() else home / name


def _clear(home: Path) -> None:
    for left in home.glob(f"{UNFINISHED}*"):
        if left.stat().st_mtime < time.time() - LONG_AGO:
            shutil.rmtree(left, ignore_errors=True)
