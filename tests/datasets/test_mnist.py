import gzip
import struct

import numpy as np
import pytest

from truelabel import datasets
from truelabel.datasets.idx import read_idx

RNG = np.random.default_rng(0)
ARRAYS = {
    "train-images-idx3-ubyte": RNG.integers(0, 256, (12, 28, 28), dtype=np.uint8),
    "train-labels-idx1-ubyte": np.arange(12, dtype=np.uint8) % 10,
    "t10k-images-idx3-ubyte": RNG.integers(0, 256, (5, 28, 28), dtype=np.uint8),
    "t10k-labels-idx1-ubyte": np.arange(5, dtype=np.uint8),
}
FOLDERS = {"mnist": "MNIST", "fashion-mnist": "FashionMNIST"}


def idx_bytes(array):
    return struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write(root, name, packed=()):
    folder = root / FOLDERS[name] / "raw"
    folder.mkdir(parents=True)
    for part, array in ARRAYS.items():
        if part in packed:
            (folder / f"{part}.gz").write_bytes(gzip.compress(idx_bytes(array)))
        else:
            (folder / part).write_bytes(idx_bytes(array))
    return folder


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("packed", [(), tuple(ARRAYS), ("train-images-idx3-ubyte",)], ids=["raw", "gz", "mixed"])
def test_torchvisions_layout_is_read(tmp_path, name, packed):
    write(tmp_path, name, packed)
    data = datasets.load(name, root=tmp_path, download=False)
    assert data.name == name
    assert data.train.inputs.shape == (12, 1, 28, 28)
    assert data.train.inputs.dtype == np.float32
    np.testing.assert_allclose(data.train.inputs[:, 0] * 255, ARRAYS["train-images-idx3-ubyte"], atol=1e-4)
    assert np.array_equal(data.train.labels, ARRAYS["train-labels-idx1-ubyte"])
    assert np.array_equal(data.test.labels, ARRAYS["t10k-labels-idx1-ubyte"])
    assert len(data.class_names) == 10


def test_fashion_has_its_names(tmp_path):
    write(tmp_path, "fashion-mnist")
    names = datasets.load("fashion-mnist", root=tmp_path, download=False).class_names
    assert (names[0], names[6], names[9]) == ("T-shirt/top", "Shirt", "Ankle boot")


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    write(tmp_path, "mnist")
    monkeypatch.setenv("TRUELABEL_DATA", str(tmp_path))
    assert len(datasets.load("mnist", download=False).train) == 12


def test_missing_files_are_named_with_their_place(tmp_path):
    folder = write(tmp_path, "mnist")
    (folder / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(FileNotFoundError) as error:
        datasets.load("mnist", root=tmp_path, download=False)
    assert "t10k-labels-idx1-ubyte.gz from https://" in str(error.value)
    assert str(folder) in str(error.value)
    assert "train-images" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x", idx_bytes(ARRAYS["train-labels-idx1-ubyte"])[:-1], "should hold 12 bytes, but holds 11"),
        ("x", b"<html>not found</html>", "not an IDX file"),
        ("x", b"", "not an IDX file"),
        ("x.gz", b"<html>not found</html>", "damaged"),
        ("x.gz", gzip.compress(bytes(1000), mtime=0)[:-9], "damaged"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read_idx(tmp_path / name)
