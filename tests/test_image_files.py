"""Odd files among images are left with a reason, whatever they are; memory stays bounded."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import truelabel as tl
from truelabel.image_files import ImageError, open_rgb
from truelabel.labels.items import ImageFiles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sixty images of two classes, and what nobody wants among them."""
    rng = np.random.default_rng(0)
    images = tmp_path / "images"
    for k in range(60):
        shape = np.zeros((16, 16, 3), dtype=np.uint8) + (200 if k % 2 else 30)
        place = images / ("light" if k % 2 else "dark") / f"{k}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(shape + rng.integers(0, 30, shape.shape, dtype=np.uint8)).save(place)
    (images / "dark" / "damaged.jpg").write_bytes(b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf" + bytes(200))
    os.mkfifo(images / "dark" / "pipe.png")
    Image.new("1", (12_000, 12_000)).save(images / "light" / "bomb.png")
    with open(os.fsencode(images / "light") + b"/\xff\xfe.png", "wb") as odd:
        odd.write((images / "light" / "1.png").read_bytes())
    return images


def test_clean_names_each_odd_file_and_goes_on(folder: Path, tmp_path: Path) -> None:
    cleaned = tl.clean(folder, encoder="none", progress=False)
    why = dict(zip(cleaned.skipped["id"], cleaned.skipped["why"], strict=True))
    assert set(why) == {"dark/damaged.jpg", "dark/pipe.png", "light/bomb.png", r"light/\xff\xfe.png"}
    assert why["dark/pipe.png"] == "not a regular file"
    assert why["light/bomb.png"] == "too large"
    assert why[r"light/\xff\xfe.png"] == "its name is not UTF-8; rename it"
    assert len(cleaned.examined) == 60
    target = cleaned.write(tmp_path / "cleaned", progress=False)
    assert (target / "skipped.csv").read_text("utf-8").count("\n") == 5


def test_what_cannot_be_shown_is_left_out_of_pages(folder: Path) -> None:
    items = ImageFiles(folder, ["light/bomb.png", "dark/damaged.jpg", "dark/pipe.png", "dark/none.png", "dark/0.png"])
    assert [items.image(row, 64) is None for row in range(5)] == [True, True, True, True, False]


def test_a_decoder_may_fail_in_any_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")

    def broken(image: object) -> None:
        raise AssertionError("chunk of a kind that nobody expected")

    monkeypatch.setattr("PIL.ImageOps.exif_transpose", broken)
    with pytest.raises(ImageError, match="chunk of a kind"):
        open_rgb(tmp_path / "a.png")


def test_deep_images_are_brought_to_eight_bits_band_by_band(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).integers(0, 2**16, size=(50, 30), dtype=np.uint16)
    Image.fromarray(values).save(tmp_path / "deep.png")
    monkeypatch.setattr("truelabel.image_files.BAND", 100)
    found = np.asarray(open_rgb(tmp_path / "deep.png"))[..., 0]
    assert np.abs(found.astype(float) - values / 65535.0 * 255).max() < 1.01


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is measured as Linux counts it")
def test_large_images_in_several_threads_do_not_add_up(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    deep = Image.fromarray(np.zeros((4_000, 8_000), dtype=np.uint16))
    for k in range(4):
        deep.save(tmp_path / "a" / f"{k}.png", compress_level=1)
    script = (
        "import resource\nfrom pathlib import Path\nfrom truelabel.progress import Progress\n"
        "from truelabel.raw.pictures import look\nimport PIL.PngImagePlugin\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"look(Path({str(tmp_path)!r}), [f'a/{{k}}.png' for k in range(4)], Progress(False))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    grown = int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
    assert grown * 1024 < 10 * 8_000 * 4_000  # ten bytes a pixel of one image, not of four
