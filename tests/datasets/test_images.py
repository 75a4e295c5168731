import numpy as np
import pytest
from PIL import Image

from truelabel import datasets
from truelabel.datasets import LazyImages
from truelabel.datasets.images import MEAN, STD


def write(path, colour, size=(40, 30)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path, quality=100)


def normalised(colour):
    return (np.array(colour) / 255 - MEAN) / STD


@pytest.fixture
def images(tmp_path):
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (10, 20, 30)]
    for k, colour in enumerate(colours):
        write(tmp_path / f"{k}.png", colour)
    return LazyImages(tmp_path, [f"{k}.png" for k in range(4)]), colours


def test_an_image_is_resized_cropped_and_normalised(images):
    lazy, colours = images
    image = lazy[3]
    assert image.shape == (3, 224, 224)
    assert image.dtype == np.float32
    np.testing.assert_allclose(image[:, 0, 0], normalised(colours[3]), atol=1e-5)


@pytest.mark.parametrize("rows", [slice(1, 3), np.array([1, 2]), [1, 2], np.array([False, True, True, False])])
def test_rows_are_read_in_order(images, rows):
    lazy, colours = images
    block = lazy[rows]
    assert block.shape == (2, 3, 224, 224)
    expected = [normalised(colour) for colour in colours[1:3]]
    np.testing.assert_allclose(block[:, :, 100, 100], expected, atol=1e-5)


def test_the_middle_is_kept(tmp_path):
    picture = np.zeros((8, 8, 3), dtype=np.uint8)
    picture[2:6, 2:6] = 255
    Image.fromarray(picture).save(tmp_path / "a.png")
    inner = LazyImages(tmp_path, ["a.png"], size=8, crop=4)[0]
    np.testing.assert_allclose(inner, np.broadcast_to(normalised((255,) * 3)[:, None, None], (3, 4, 4)), atol=1e-5)


def test_the_whole_image_has_the_middle_in_its_middle(tmp_path):
    picture = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    Image.fromarray(picture).save(tmp_path / "a.png")
    lazy = LazyImages(tmp_path, ["a.png"], size=8, crop=4)
    whole = lazy.uncropped(np.array([0]))
    np.testing.assert_allclose(whole[0], normalised(picture).transpose(2, 0, 1), atol=1e-5)
    np.testing.assert_array_equal(whole[:, :, 2:6, 2:6], lazy[:])


def test_grey_and_transparent_images_become_colour(tmp_path):
    Image.new("L", (5, 5), 100).save(tmp_path / "grey.png")
    Image.new("RGBA", (5, 5), (1, 2, 3, 4)).save(tmp_path / "alpha.png")
    assert LazyImages(tmp_path, ["grey.png", "alpha.png"], 8, 8)[:].shape == (2, 3, 8, 8)


def test_shape_and_length_need_no_reading(tmp_path):
    lazy = LazyImages(tmp_path, ["nowhere.png"] * 3)
    assert (len(lazy), lazy.shape, lazy.dtype) == (3, (3, 3, 224, 224), np.float32)


def test_what_cannot_be_read_is_named(tmp_path):
    (tmp_path / "bad.png").write_text("not an image")
    lazy = LazyImages(tmp_path, ["bad.png", "gone.png"])
    with pytest.raises(ValueError, match=r"bad\.png cannot be read"):
        lazy[0]
    with pytest.raises(FileNotFoundError, match=r"gone\.png is missing"):
        lazy[1]
    with pytest.raises(ValueError, match="crop must lie between"):
        LazyImages(tmp_path, [], size=8, crop=9)


def test_food101_is_read_from_its_published_layout(tmp_path):
    root = tmp_path / "food-101"
    (root / "meta").mkdir(parents=True)
    (root / "meta" / "classes.txt").write_text("apple_pie\nwaffles\n")
    (root / "meta" / "train.txt").write_text("apple_pie/1\nwaffles/2\nwaffles/3\n")
    (root / "meta" / "test.txt").write_text("waffles/4\n")
    write(root / "images" / "waffles" / "4.jpg", (200, 100, 0))
    data = datasets.load("food101", root=tmp_path, download=False)
    assert data.class_names == ("apple_pie", "waffles")
    assert data.train.labels.tolist() == [0, 1, 1]
    assert data.train.inputs.names.tolist() == ["apple_pie/1.jpg", "waffles/2.jpg", "waffles/3.jpg"]
    np.testing.assert_allclose(data.test.inputs[0][:, 9, 9], normalised((200, 100, 0)), atol=0.03)


def clothing1m(root):
    folder = root / "clothing1m"
    folder.mkdir()
    files = {
        "category_names_eng.txt": "T-Shirt\nShirt\nDown Coat\n",
        "noisy_train_key_list.txt": "images/0/0/1,2.jpg\nimages/0/1/3.jpg\n",
        "noisy_label_kv.txt": "images/0/1/3.jpg 0\nimages/0/0/1,2.jpg 2\nimages/9/9/9.jpg 1\n",
        "clean_train_key_list.txt": "images/1/0/a.jpg\n",
        "clean_val_key_list.txt": "images/1/0/b.jpg\n",
        "clean_test_key_list.txt": "images/1/0/c.jpg\n",
        "clean_label_kv.txt": "images/1/0/a.jpg 0\nimages/1/0/b.jpg 1\nimages/1/0/c.jpg 2\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_clothing1m_trains_on_noisy_and_tests_on_all_clean_images(tmp_path):
    write(clothing1m(tmp_path) / "images" / "0" / "0" / "1,2.jpg", (0, 0, 0))
    data = datasets.load("clothing1m", root=tmp_path)
    assert data.class_names == ("T-Shirt", "Shirt", "Down Coat")
    assert data.train.labels.tolist() == [2, 0]
    assert data.test.labels.tolist() == [0, 1, 2]
    assert data.test.inputs.names.tolist() == [f"images/1/0/{name}.jpg" for name in "abc"]
    assert data.train.inputs[0].shape == (3, 224, 224)


def test_clothing1m_says_whom_to_ask_and_where_to_put_it(tmp_path):
    folder = clothing1m(tmp_path)
    (folder / "noisy_label_kv.txt").unlink()
    with pytest.raises(FileNotFoundError) as error:
        datasets.load("clothing1m", root=tmp_path)
    assert "on request only" in str(error.value)
    assert f"noisy_label_kv.txt into {folder}." in str(error.value)


def test_a_label_that_is_missing_is_named(tmp_path):
    (clothing1m(tmp_path) / "clean_label_kv.txt").write_text("images/1/0/a.jpg 0\n")
    with pytest.raises(ValueError, match=r"no label for images/1/0/b\.jpg"):
        datasets.load("clothing1m", root=tmp_path)


def test_any_folder_by_class_is_read_and_split(tmp_path):
    for k in range(10):
        write(tmp_path / "cat" / f"{k}.png", (k, 0, 0))
        write(tmp_path / "dog" / "deep" / f"{k}.JPG", (0, k, 0))
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    data = datasets.image_folder(tmp_path, test_size=0.3, size=16, crop=12)
    assert data.class_names == ("cat", "dog")
    assert np.bincount(data.train.labels).tolist() == [7, 7]
    assert np.bincount(data.test.labels).tolist() == [3, 3]
    assert data.train.in_shape == (3, 12, 12)
    assert not set(data.train.inputs.names) & set(data.test.inputs.names)


def test_folders_named_train_and_test_are_the_splits(tmp_path):
    for name in ("train/cat/1.png", "train/dog/2.png", "test/dog/3.png"):
        write(tmp_path / name, (0, 0, 0))
    data = datasets.image_folder(tmp_path)
    assert data.train.labels.tolist() == [0, 1]
    assert data.test.labels.tolist() == [1]
    assert data.test.inputs[:].shape == (1, 3, 224, 224)


def test_a_folder_without_images_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no images in subfolders"):
        datasets.image_folder(tmp_path)
    with pytest.raises(FileNotFoundError, match="no folder"):
        datasets.image_folder(tmp_path / "gone")
