"""The one way in which files are written: beside their place, flushed to the disk, and then moved there as one.

Whatever ends the program meanwhile, a file is the old one or the new one, never a part of either.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

Name = str | os.PathLike[str]

PARTIAL = ".partial"  # in the name of a file that is not finished
RESULT = b"truelabel.result"  # marks a Parquet file as one that a command wrote, and so may replace
ROOM = 2**20  # bytes that must be free before work is begun whose result has to be written
LARGEST_HEADER = 2**24  # bytes of a safetensors header that are read to see who wrote the file
CSV_HEADS = (  # of results
    *("id,predicted,calibrated,", "id,given,suggested,p_wrong,", "id,given,corrected,changed,", "id,class,given,"),
    *("key,dataset,", "instance,consensus,", "annotator,votes,", "row,id,given,", "group,kind,"),
)
VERDICT_MARK = '{\n "drawn": '
OWN_TABLE = re.compile(r",given_label_*,decision_*,reason_*(,|$)")  # in the head of a user's table with final labels
PAGE_MARK, TASKS_MARK = '<meta name="generator" content="truelabel', '"model_version": "truelabel '


@contextmanager
def whole(path: Name) -> Iterator[Path]:
    """Give a path to write to; when this is left without an error, what was written there takes the place of `path`.

    The name that is given ends as `path` does and is nobody else's, so that two processes may write to one path: the
    last one counts. A new file has the usual permissions, and one that replaces another has that one's. A link is
    followed. What is no regular file (a pipe, ``/dev/stdout``) is written to, not replaced.
    """
    given = Path(path)
    if given.exists() and not given.is_file():
        with _through(given) as passed:
            yield passed
        return
    target = Path(os.path.realpath(path))
    _require_folder(target)
    partial = target.with_name(f".{uuid4().hex[:12]}{PARTIAL}{target.suffix}")
    try:
        yield partial
        if target.exists():
            partial.chmod(stat.S_IMODE(target.stat().st_mode))
        flush(partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    flush(target.parent)


@contextmanager
def whole_folder(path: Name, *, flushed: bool = True) -> Iterator[Path]:
    """Give an empty folder to fill; when this is left without an error, it becomes `path`, which is new or empty.

    With `flushed` its files are on the disk by then; copies of files that the user has need not be.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    made = target.with_name(f".{uuid4().hex[:12]}{PARTIAL}")
    made.mkdir()
    try:
        yield made
        for file in (file for file in made.rglob("*") if flushed and file.is_file()):
            flush(file)
        made.rename(target)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    flush(target.parent)


def write_text(path: Name, text: str) -> None:
    """Write a text in UTF-8, whole or not at all."""
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Name, value: Any) -> None:
    """Write plain values as JSON, whole or not at all."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False))


def write_bytes(path: Name, content: bytes) -> None:
    """Write bytes, whole or not at all. Python writes them, so that a full disk is an OSError like any other."""
    with whole(path) as partial:
        partial.write_bytes(content)


def flush(path: Path) -> None:
    """Return when the disk has a file, or the names in a folder."""
    if os.name != "posix" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems cannot flush a folder
            raise
    finally:
        os.close(handle)


def check_target(path: Name, *, reads: Iterable[Name | None] = (), overwrite: bool = False) -> Path:
    """Return where a command may write, or say why it may not; asked before the work that would be lost.

    Parameters
    ----------
    path : path
        Where the result is to go.
    reads : paths
        What the command reads.
    overwrite : bool, default False
        Whether anything may be replaced. Otherwise a file that is read is never replaced, and another one only if a
        command of truelabel wrote it.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file.")
    if target.exists() and not target.is_file():
        return target
    folder = _require_folder(Path(os.path.realpath(target)))
    free = shutil.disk_usage(folder).free
    if free < ROOM:
        raise OSError(f"The disk of {folder} is full ({free:,} bytes are free); make room first.")
    if not target.exists():
        return target
    if not overwrite:
        if any(each is not None and Path(each).exists() and os.path.samefile(each, target) for each in reads):
            raise FileExistsError(f"{target} is what is read; name another file, or replace it with --overwrite.")
        if not _is_ours(target):
            raise FileExistsError(
                f"{target} is there already, and no result of truelabel that may be replaced; name another file, or "
                "replace it with --overwrite."
            )
    return target


def _require_folder(target: Path) -> Path:
    folder = target.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder} to write {target.name} to; make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"The folder {folder} cannot be written to; choose another, or change its permissions.")
    return folder


@contextmanager
def _through(target: Path) -> Iterator[Path]:
    """Give a temporary file, and send it through a pipe or to a device."""
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file.")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"{target.stem}{target.suffix}"
        yield made
        with made.open("rb") as file, target.open("wb") as out:
            shutil.copyfileobj(file, out)


def _is_ours(path: Path) -> bool:
    """Return whether a file is empty, or a result that a command wrote and may replace."""
    if not path.stat().st_size:
        return True
    if path.suffix == ".safetensors":
        return _header(path).get("format") == "truelabel"
    if path.suffix == ".parquet":
        return RESULT in _parquet_metadata(path)
    with path.open(encoding="utf-8", errors="replace") as file:
        begin = file.read(4096)
    if path.suffix == ".csv":
        return begin.startswith(CSV_HEADS) or bool(OWN_TABLE.search(begin.partition("\n")[0].rstrip("\r")))
    if path.suffix == ".html":
        return PAGE_MARK in begin
    return path.suffix == ".json" and (TASKS_MARK in begin or begin.startswith(VERDICT_MARK))


def _header(path: Path) -> dict[str, Any]:
    """Return the metadata of a safetensors file, empty if it is none."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        text = file.read(length) if length <= LARGEST_HEADER else b""
    with suppress(ValueError, RecursionError):
        found = json.loads(text)
        metadata = found.get("__metadata__") if isinstance(found, dict) else None
        return metadata if isinstance(metadata, dict) else {}
    return {}


def _parquet_metadata(path: Path) -> dict[bytes, bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(pa.ArrowException, OSError):
        return dict(pq.read_schema(path).metadata or {})
    return {}
