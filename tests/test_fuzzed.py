"""Every reader, given damaged inputs, answers or says in one sentence what is wrong; the long run is a command."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fuzzing import READERS, fuzz
from truelabel.datasets.idx import read_idx
from truelabel.reading import ReadError, read_npy, read_npz

SLOWER = {"decisions": 40, "images": 40, "results-folder": 60, "lab-store": 80, "parquet-metadata": 100}


@pytest.mark.parametrize("name", READERS)
def test_damaged_inputs_are_answered_or_refused(name: str) -> None:
    found = fuzz(name, SLOWER.get(name, 200), seed=1)
    assert found.undocumented == {}
    assert found.answered + found.refused == found.inputs


def test_sound_arrays_are_read(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(["x", "yy"]), "c": np.float32(3), "d": np.zeros((0, 4))}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "all.npz", **arrays)
        read = read_npz(tmp_path / "all.npz")
        assert list(read) == list(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(read[name], array)
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
        np.testing.assert_array_equal(read_npy(tmp_path / f"{name}.npy"), array)
    turned = np.asfortranarray(arrays["a"])
    np.save(tmp_path / "turned.npy", turned)
    mapped = read_npy(tmp_path / "turned.npy", mapped=True)
    np.testing.assert_array_equal(mapped, turned)


def test_a_shape_that_the_file_cannot_hold_is_refused_before_room_is_made(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40, 8)})
    (tmp_path / "huge.npy").write_bytes(header.getvalue() + bytes(64))
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as archive:
        archive.writestr("probs.npy", header.getvalue() + bytes(64))
    for read, name in ((read_npy, "huge.npy"), (read_npz, "huge.npz")):
        with pytest.raises(ReadError, match=r"it claims the shape \(1099511627776, 8\), but holds"):
            read(tmp_path / name)


def test_python_objects_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ReadError, match="holds Python objects, which are never loaded; save it as numbers"):
        read_npy(tmp_path / "o.npy")


def test_a_compressed_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    from truelabel.datasets import idx

    monkeypatch.setattr(idx, "LARGEST", 1000)
    (tmp_path / "x.gz").write_bytes(gzip.compress(bytes(2000)))
    with pytest.raises(ValueError, match="unpacks to more than 1,000 bytes"):
        read_idx(tmp_path / "x.gz")
    monkeypatch.setattr("truelabel.reading._free_memory", lambda: 1e3)
    np.savez_compressed(tmp_path / "bomb.npz", probs=np.zeros(10_000))
    with pytest.raises(ReadError, match="more than there is memory"):
        read_npz(tmp_path / "bomb.npz")
