import numpy as np
import pytest

from truelabel import datasets
from truelabel.datasets.cifar10 import channel_moments

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


def test_the_binary_version_is_read_and_normalised(tmp_path):
    _, pixels, labels = write(tmp_path)
    data = datasets.load("cifar10", root=tmp_path, download=False)
    scaled = pixels[:20] / 255
    mean, std = scaled.mean(axis=(0, 2, 3)), scaled.std(axis=(0, 2, 3))
    expected = (pixels / 255 - mean[:, None, None]) / std[:, None, None]
    np.testing.assert_allclose(data.train.inputs, expected[:20], atol=1e-4)
    np.testing.assert_allclose(data.test.inputs, expected[20:], atol=1e-4)
    assert data.train.inputs.dtype == np.float32
    assert np.array_equal(data.train.labels, labels[:20])
    assert data.class_names[3] == "cat"


def test_moments_are_those_of_numpy():
    x = RNG.integers(0, 256, (7, 3, 5, 5), dtype=np.uint8)
    mean, std = channel_moments(x)
    np.testing.assert_allclose(mean, (x / 255).mean(axis=(0, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(std, (x / 255).std(axis=(0, 2, 3)), rtol=1e-5)


def test_a_cut_file_is_refused(tmp_path):
    folder, _, _ = write(tmp_path)
    (folder / "data_batch_3.bin").write_bytes(bytes(3072))
    with pytest.raises(ValueError, match="3072 bytes"):
        datasets.load("cifar10", root=tmp_path, download=False)


def test_missing_files_are_named_with_their_place(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cifar-10-binary\.tar\.gz from https://www\.cs\.toronto\.edu"):
        datasets.load("cifar10", root=tmp_path, download=False)
