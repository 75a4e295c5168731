import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from truelabel.pictures import pictures


def test_channels_go_last_and_grey_images_have_none() -> None:
    colour = np.random.default_rng(0).random((2, 3, 4, 5))
    np.testing.assert_allclose(pictures(colour), colour.transpose(0, 2, 3, 1), rtol=1e-6)
    assert pictures(colour[:, :1]).shape == (2, 4, 5)
    assert pictures(colour.transpose(0, 2, 3, 1)).shape == (2, 4, 5, 3)
    np.testing.assert_allclose(pictures(colour[:, 0]), colour[:, 0], rtol=1e-6)


def test_standardised_images_are_stretched_each_by_itself() -> None:
    images = np.array([[[-2.0, 0.0], [1.0, 2.0]], [[0.0, 10.0], [5.0, 0.0]]])
    np.testing.assert_allclose(pictures(images), [[[0, 0.5], [0.75, 1]], [[0, 1], [0.5, 0]]])


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(ValueError, match=r"grey or have three channels.*\(4, 7\)"):
        pictures(np.zeros((4, 7)))


def test_showing_an_image_does_without_torch_and_matplotlib(tmp_path: Path) -> None:
    np.save(tmp_path / "images.npy", np.zeros((2, 8, 8), dtype=np.uint8))
    code = """
import sys
from truelabel.labels.items import ImageArray
assert ImageArray(sys.argv[1]).image(1, 64).startswith(b"\\x89PNG")
print(*{"torch", "matplotlib"} & set(sys.modules))
"""
    told = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "images.npy")], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == ""
