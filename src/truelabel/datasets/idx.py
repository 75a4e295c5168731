"""The IDX format of the MNIST files."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from truelabel.arrays import Array

UNSIGNED_BYTE = 8
LARGEST = 2**30  # bytes that a file may unpack to; the largest of MNIST's has 47 million


def read_idx(path: Path) -> Array:
    """Return the uint8 array in an IDX file, which may be compressed (.gz).

    Two zero bytes, the type of the numbers, the number of dimensions, each dimension as a big-endian 32-bit
    integer, and the numbers.
    """
    try:
        data = _unpacked(path) if path.suffix == ".gz" else path.read_bytes()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is damaged ({error}); delete it to have it downloaded again.") from None
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] != UNSIGNED_BYTE:
        raise ValueError(f"{path} is not an IDX file of bytes; delete it to have it downloaded again.")
    start = 4 + 4 * data[3]
    shape = tuple(int(size) for size in np.frombuffer(data[4:start], dtype=">u4"))
    if len(data) != start + math.prod(shape):
        raise ValueError(
            f"{path} should hold {'×'.join(map(str, shape))} bytes, but holds {len(data) - start}; "
            "delete it to have it downloaded again."
        )
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape)


def _unpacked(path: Path) -> bytes:
    with gzip.open(path) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"{path} unpacks to more than {LARGEST:,} bytes; delete it to have it downloaded again.")
    return data
