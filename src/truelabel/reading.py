"""Files of NumPy's, and whatever another library reads: the right answer, or one sentence that says what is wrong.

A parser that meets damage may end in any exception at all; at this door all of them become a `ValueError` that names
the file. Nothing in a file is ever run.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from truelabel.arrays import Array, RowError

Name = str | os.PathLike[str]

LARGEST_HEADER = 10_000  # characters of an array's header; NumPy's own limit
LEFT = 0.9  # share of the memory that is free which an archive may ask for


class ReadError(ValueError):
    """A file that is not what it should be, or is damaged."""


@contextmanager
def reading(path: Name, what: str) -> Iterator[None]:
    """Turn whatever goes wrong while a library reads a file into one sentence; `what` says what it should be.

    That a file is missing, or may not be read, stays what it is.
    """
    try:
        yield
    except (ReadError, RowError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except MemoryError:
        raise ReadError(f"{path} asks for more memory than there is; it is too large, or damaged.") from None
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ReadError(f"{path} is not {what}, or is damaged ({why}); write it anew.") from None


def read_npy(path: Name, *, mapped: bool = False) -> Array:
    """Return the array in an .npy file, of numbers or texts; `mapped` leaves it on the disk."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}.")
    with reading(path, "an .npy file of numbers or names"):
        with open(path, "rb") as file:
            _check_header(file, os.path.getsize(path), str(path))
        return np.asarray(np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False))


def read_npz(path: Name) -> Mapping[str, Array]:
    """Return the arrays of an .npz file by name."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}.")
    with reading(path, "an .npz file of numbers or names"), zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        claimed = sum(member.file_size for member in members)
        if claimed > LEFT * _free_memory():
            raise ReadError(f"{path} holds {claimed:,} bytes, more than there is memory; pass .npy files instead.")
        found = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as file:
                _check_header(file, member.file_size, f"{name} in {path}")
            with archive.open(member) as file:
                found[name] = np.asarray(np.lib.format.read_array(file, allow_pickle=False))
        return found


def _check_header(file: Any, size: int, where: str) -> None:
    """Compare the shape that an array's header claims with what is there, before room is made for it."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ReadError(f"{where} is an array in the unknown format {version}; write it anew.")
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, kind = headers.get(version, headers[2, 0])(file, max_header_size=LARGEST_HEADER)
    if kind.hasobject:
        raise ReadError(f"{where} holds Python objects, which are never loaded; save it as numbers or as texts.")
    wanted = kind.itemsize
    for length in shape:
        if length < 0:
            raise ReadError(f"{where} is damaged: it claims the shape {shape}.")
        wanted *= int(length)
    if wanted > size:
        raise ReadError(f"{where} is damaged: it claims the shape {shape}, but holds {size:,} bytes.")


def _free_memory() -> float:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float("inf")
