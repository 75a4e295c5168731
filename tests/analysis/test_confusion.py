import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from truelabel.analysis import confusion, draw_confusions


def test_shares_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(4, size=500), rng.integers(4, size=500)
    expected = confusion_matrix(truth, predicted, normalize="true")
    np.testing.assert_allclose(confusion(truth, predicted, 4), expected)


def test_a_class_without_instances_has_a_row_of_zeros() -> None:
    found = confusion([0, 0, 2], [0, 1, 2], 3)
    np.testing.assert_array_equal(found, [[0.5, 0.5, 0], [0, 0, 0], [0, 0, 1]])


def test_matrices_stand_side_by_side_with_names_and_one_scale() -> None:
    matrices = {"before": np.full((2, 2), 0.5), "after": np.eye(2)}
    figure = draw_confusions(matrices, ["cat", "dog"], "pets")
    left, right, bar = figure.axes
    assert [axis.get_title() for axis in (left, right)] == ["before", "after"]
    assert [label.get_text() for label in right.get_xticklabels()] == ["cat", "dog"]
    assert left.images[0].get_clim() == right.images[0].get_clim() == (0, 1)
    assert [text.get_text() for text in right.texts] == ["100", "100"]
    assert figure.get_suptitle() == "pets"
    assert "share" in bar.get_ylabel()


@pytest.mark.parametrize(("share", "written"), [(0.004, []), (0.006, ["1"])])
def test_shares_that_round_to_nothing_are_not_written(share: float, written: list[str]) -> None:
    figure = draw_confusions({"x": np.array([[0.0, share], [0.0, 0.0]])})
    assert [text.get_text() for text in figure.axes[0].texts] == written
