"""How instances are shown: images, texts, rows, names."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from truelabel.labels.items import Cells, ImageArray, ImageFiles, Names, Texts, items_of

RED, BLUE = (200, 10, 10), (10, 10, 200)


def opened(picture: bytes | None) -> Image.Image:
    assert picture is not None
    return Image.open(io.BytesIO(picture))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "images" / "a").mkdir(parents=True)
    Image.new("RGB", (40, 20), RED).save(tmp_path / "images" / "a" / "red.png")
    Image.new("RGB", (20, 20), BLUE).save(tmp_path / "secret.png")
    return tmp_path / "images"


def test_image_files_are_scaled_and_keep_their_shape(folder: Path) -> None:
    items = ImageFiles(folder, ["a/red.png"])
    shown = opened(items.image(0, 100))
    assert shown.size == (100, 50)
    np.testing.assert_allclose(shown.getpixel((50, 25)), RED, atol=6)
    assert items.fields(0) == {"file": "a/red.png"}
    assert (items.kind, len(items)) == ("image", 1)


def test_an_image_that_is_missing_or_broken_is_none(folder: Path) -> None:
    (folder / "broken.png").write_bytes(b"no image")
    items = ImageFiles(folder, ["gone.png", "broken.png"])
    assert items.image(0, 64) is None
    assert items.image(1, 64) is None


@pytest.mark.parametrize("name", ["../secret.png", "a/../../secret.png", "{}/secret.png", "link.png"])
def test_a_name_that_leads_out_of_the_folder_is_refused(folder: Path, name: str) -> None:
    (folder / "link.png").symlink_to(folder.parent / "secret.png")
    items = ImageFiles(folder, [name.format(folder.parent)])
    with pytest.raises(ValueError, match="leads out of"):
        items.image(0, 64)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        ImageFiles(tmp_path / "nowhere", ["a.png"])


@pytest.mark.parametrize("shape", [(3, 8, 8), (3, 8, 8, 3), (3, 3, 8, 8)])
def test_an_array_of_images_is_shown_without_smoothing(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, dtype=np.uint8)
    array[1] = 255
    array[2, ..., :4] = 255 if shape[-1] == 8 else 0
    np.save(tmp_path / "images.npy", array)
    items = ImageArray(tmp_path / "images.npy")
    assert len(items) == 3
    for row, value in ((0, 0), (1, 255)):
        pixels = np.asarray(opened(items.image(row, 64)).convert("L"))
        assert pixels.shape == (64, 64)
        assert (pixels == value).all()
    if shape[-1] == 8:
        pixels = np.asarray(opened(items.image(2, 64)).convert("L"))
        assert set(np.unique(pixels)) == {0, 255}
        assert (pixels[:, :32] == 255).all()


def test_an_array_with_objects_is_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="Python objects"):
        ImageArray(tmp_path / "objects.npy")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    frame = pd.DataFrame({"title": ["one", "two", "three"], "price": [1, 2, 3], "topic": ["a", "b", "a"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_cells_and_texts_show_the_columns_asked_for(table: Path) -> None:
    assert Cells(table).fields(1) == {"title": "two", "price": "2", "topic": "b"}
    texts = Texts(table, ["title"])
    assert texts.fields(2) == {"title": "three"}
    assert (Cells.kind, texts.kind) == ("row", "text")
    assert texts.image(0, 64) is None
    with pytest.raises(ValueError, match="has no column 'body'; it has title, price, topic"):
        Texts(table, ["body"])


def test_some_rows_of_a_table_are_shown_in_their_order(table: Path) -> None:
    cells = Cells(table, ["title"], [2, 0])
    assert [cells.fields(row)["title"] for row in range(len(cells))] == ["three", "one"]
    for rows in ([0, 3], [-1]):
        with pytest.raises(ValueError, match="has 3 rows, but row"):
            Cells(table, ["title"], rows)


def test_items_are_made_again_from_their_source(folder: Path, table: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "images.npy", np.zeros((3, 4, 4)))
    ids = np.array(["a/red.png", "x", "y"], dtype=object)
    for items in (
        Names(ids),
        ImageFiles(folder, ids),
        ImageArray(tmp_path / "images.npy"),
        Cells(table, ["price"]),
        Texts(table, ["title", "topic"]),
        Texts(table, ["title"], [0, 1, 2]),
    ):
        again = items_of(items.source(), ids)
        assert type(again) is type(items)
        assert again.source() == items.source()
        assert [again.fields(row) for row in range(3)] == [items.fields(row) for row in range(3)]
        assert again.image(0, 32) == items.image(0, 32)


def test_as_many_instances_as_predictions_are_needed(table: Path) -> None:
    with pytest.raises(ValueError, match="there are 3 instances to show, but 2 predictions"):
        items_of({"table": str(table)}, np.arange(2))
