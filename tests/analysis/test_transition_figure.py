from io import BytesIO

import numpy as np
import pytest

from truelabel.analysis import draw_transitions

TRUTH = np.array([[0.8, 0.2], [0.3, 0.7]])


def test_the_true_matrix_comes_first_and_errors_stand_in_the_titles() -> None:
    figure = draw_transitions({"Forward": np.eye(2), "NPC": TRUTH}, ["cat", "dog"], "pets", truth=TRUTH)
    first, second, third, bar = figure.axes
    titles = [axis.get_title() for axis in (first, second, third)]
    assert titles == ["true T\n", "Forward\nmean squared error 0.0650", "NPC\nmean squared error 0.0000"]
    assert [label.get_text() for label in second.get_yticklabels()] == ["cat", "dog"]
    assert (second.get_xlabel(), second.get_ylabel()) == ("noisy label ỹ", "true class y")
    assert {axis.images[0].get_clim() for axis in (first, second, third)} == {(0, 1)}
    np.testing.assert_array_equal(second.images[0].get_array(), np.eye(2))
    assert [text.get_text() for text in first.texts] == ["80", "20", "30", "70"]
    assert figure.get_suptitle() == "pets"
    assert bar.get_ylabel() == "p(ỹ | y); in the cells: percent"


def test_several_rows_leave_no_empty_frames() -> None:
    figure = draw_transitions({str(k): TRUTH for k in range(4)})
    drawn = [axis for axis in figure.axes if axis.images]
    assert len(drawn) == 4
    assert [axis.get_title() for axis in drawn] == ["0", "1", "2", "3"]
    assert sum(not axis.axison for axis in figure.axes) == 2


@pytest.mark.parametrize(("c", "written", "named"), [(12, True, True), (13, False, True), (41, False, False)])
def test_many_classes_are_drawn_without_numbers_and_then_without_names(c: int, written: bool, named: bool) -> None:
    matrix = np.full((c, c), 1 / c)
    axis, bar = draw_transitions({"T": matrix}, [f"class {k}" for k in range(c)]).axes
    assert (len(axis.texts) == c * c) == written
    assert ("class 0" in [label.get_text() for label in axis.get_xticklabels()]) == named
    assert ("percent" in bar.get_ylabel()) == written


def test_nothing_is_cut_off_at_the_edges() -> None:
    """Long class names are shortened, and every text lies within the figure."""
    names = ["a very long name of a class", *"bcdefghij"]
    figure = draw_transitions({"an estimate": np.eye(10), "another": np.eye(10)}, names, "title", truth=np.eye(10))
    figure.savefig(BytesIO(), format="png")
    width, height = figure.bbox.size
    shown = [label for axis in figure.axes for label in [*axis.get_xticklabels(), *axis.get_yticklabels(), axis.title]]
    assert any(label.get_text() == "a very long…" for label in shown)
    for label in shown:
        box = label.get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="there is no matrix to draw"):
        draw_transitions({})
    with pytest.raises(ValueError, match="row 0 of Forward is no distribution"):
        draw_transitions({"Forward": np.ones((2, 2))})
