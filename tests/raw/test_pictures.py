"""Images as numbers, against answers worked out by hand."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from truelabel.progress import Progress
from truelabel.raw.pictures import DIRECTIONS, colour_histogram, edge_histograms, look, open_rgb


def test_the_colour_histogram_has_roots_of_shares() -> None:
    image = np.zeros((4, 4, 3), dtype=np.uint8)
    image[:1] = (255, 0, 0)
    found = colour_histogram(image)
    assert found.shape == (64,)
    assert found[3 * 16] == pytest.approx(0.5)
    assert found[0] == pytest.approx(np.sqrt(0.75))
    assert np.square(found).sum() == pytest.approx(1)


@pytest.mark.parametrize(("angle", "strong"), [("across", {0}), ("down", {4, 5})])
def test_edges_are_counted_by_their_direction(angle: str, strong: set[int]) -> None:
    ramp = np.tile(np.arange(16, dtype=np.uint8) * 16, (16, 1))
    ramp = ramp if angle == "across" else ramp.T
    found = edge_histograms(np.repeat(ramp[..., None], 3, axis=2)).reshape(-1, DIRECTIONS)
    assert set(np.flatnonzero(found.sum(axis=0) > 1e-6)) == strong
    if angle == "down":
        np.testing.assert_allclose(found[:, 4], found[:, 5], rtol=1e-5)


def test_edges_do_not_depend_on_brightness_but_on_contrast() -> None:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 100, (32, 32, 3)).astype(np.uint8)
    np.testing.assert_allclose(edge_histograms(image), edge_histograms(image + 100), atol=1e-5)
    assert (edge_histograms(np.full((32, 32, 3), 7, dtype=np.uint8)) == 0).all()


def seen(folder: Path, names: list[str]):
    with Progress(False) as progress:
        return look(folder, names, progress)


def test_tiny_grey_images_are_taken_as_they_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3, 8, 8), dtype=np.uint8)
    for row, image in enumerate(images):
        Image.fromarray(image).save(tmp_path / f"{row}.png")
    found = seen(tmp_path, ["0.png", "1.png", "2.png"])
    assert found.tiny
    assert found.side == 8
    np.testing.assert_array_equal(found.pixels, images.reshape(3, 64))


def test_large_images_are_reduced_and_keep_their_colours(tmp_path: Path) -> None:
    for name, colour in (("a.png", (255, 0, 0)), ("b.jpg", (0, 0, 255))):
        Image.new("RGB", (300, 200), colour).save(tmp_path / name)
    found = seen(tmp_path, ["a.png", "b.jpg"])
    assert not found.tiny
    assert found.pixels.shape == (2, 32 * 32 * 3)
    np.testing.assert_allclose(found.pixels.reshape(2, -1, 3).mean(1), [[255, 0, 0], [0, 0, 255]], atol=3)
    assert found.colours.argmax(axis=1).tolist() == [48, 3]


def test_what_cannot_be_read_is_named_and_left_out(tmp_path: Path) -> None:
    inside, outside = tmp_path / "images", tmp_path / "outside.png"
    inside.mkdir()
    Image.new("L", (9, 9), 5).save(inside / "good.png")
    Image.new("L", (9, 9), 5).save(outside)
    (inside / "text.png").write_text("no image")
    whole = (inside / "good.png").read_bytes()
    (inside / "cut.png").write_bytes(whole[: len(whole) // 2])
    (inside / "link.png").symlink_to(outside)
    names = ["text.png", "cut.png", "good.png", "link.png", "gone.png"]
    found = seen(inside, names)
    assert found.kept.tolist() == [2]
    assert set(found.unreadable) == set(names) - {"good.png"}
    assert "leads out of the folder" in found.unreadable["link.png"]
    assert str(tmp_path) not in " ".join(found.unreadable.values())
    with pytest.raises(ValueError, match="none of the 2 images"):
        seen(inside, ["text.png", "gone.png"])


def test_an_image_too_large_to_be_meant_well_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("L", (40, 40)).save(tmp_path / "large.png")
    Image.new("L", (9, 9)).save(tmp_path / "small.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    assert seen(tmp_path, ["small.png", "large.png"]).unreadable == {"large.png": "too large"}


def test_sixteen_bits_and_lying_photographs_are_put_right(tmp_path: Path) -> None:
    Image.fromarray(np.full((4, 4), 32768, dtype=np.uint16)).save(tmp_path / "deep.png")
    assert np.asarray(open_rgb(tmp_path / "deep.png")).max() in (127, 128)
    lying = Image.new("RGB", (20, 10))
    exif = Image.Exif()
    exif[0x0112] = 6
    lying.save(tmp_path / "lying.jpg", exif=exif)
    assert open_rgb(tmp_path / "lying.jpg").size == (10, 20)
