import numpy as np
import pytest

from truelabel import datasets

RNG = np.random.default_rng(0)


def write(root, n=4):
    folder = root / "cifar-10-batches-bin"
    folder.mkdir()
    pixels, labels = (
        RNG.integers(0, 256, (6 * n, 3072), dtype=np.uint8),
        np.arange(6 * n, dtype=np.uint8) % 10,
    )
    records = np.column_stack([labels, pixels])
    names = [*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"]
    for name, part in zip(names, np.split(records, 6), strict=True):
        part.tofile(folder / name)
    return folder, pixels.reshape(-1, 3, 32, 32), labels


def test_the_binary_version_is_read_and_brought_to_the_released_scale(tmp_path):
    _, pixels, labels = write(tmp_path)
    data = datasets.load("cifar10", root=tmp_path, download=False)
    expected = (pixels / 255 - 0.5) / 0.5
    np.testing.assert_allclose(data.train.inputs, expected[:20], atol=1e-6)
    np.testing.assert_allclose(data.test.inputs, expected[20:], atol=1e-6)
    assert data.train.inputs.dtype == np.float32
    assert np.array_equal(data.train.labels, labels[:20])
    assert data.class_names[3] == "cat"


def test_a_cut_file_is_refused(tmp_path):
    folder, _, _ = write(tmp_path)
    (folder / "data_batch_3.bin").write_bytes(bytes(3072))
    with pytest.raises(ValueError, match="3072 bytes"):
        datasets.load("cifar10", root=tmp_path, download=False)


def test_missing_files_are_named_with_their_place(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cifar-10-binary\.tar\.gz from https://www\.cs\.toronto\.edu"):
        datasets.load("cifar10", root=tmp_path, download=False)
