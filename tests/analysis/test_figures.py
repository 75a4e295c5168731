from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from PIL import Image

from truelabel.analysis.figures import class_styles, save_figure


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
