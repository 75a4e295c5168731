from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from truelabel.analysis.figures import class_styles, pictures, save_figure


@pytest.mark.parametrize("n_classes", [2, 8, 10, 40, 88])
def test_no_two_classes_look_alike(n_classes: int) -> None:
    styles = class_styles(n_classes)
    assert len(styles) == len(set(styles)) == n_classes


def test_up_to_ten_classes_have_colours_of_their_own() -> None:
    assert len({colour for colour, _ in class_styles(10)}) == 10


def test_a_figure_becomes_an_svg_and_a_png_and_nothing_global_changes(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    figure = Figure(figsize=(2, 1), layout="constrained")
    figure.subplots().set_title("ŷ → y*")
    svg, png = save_figure(figure, tmp_path / "new" / "folder", "name")
    assert (svg.name, png.name) == ("name.svg", "name.png")
    assert svg.read_text().startswith("<?xml")
    assert Image.open(png).size[0] > 100
    assert dict(mpl.rcParams) == before


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
