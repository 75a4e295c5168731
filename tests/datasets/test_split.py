import numpy as np
import pytest

from truelabel.datasets import LazyImages, Split
from truelabel.noise import Symmetric

X = np.arange(12, dtype=np.float32).reshape(6, 2)
Y = np.array([0, 1, 2, 0, 1, 2], dtype=np.uint8)
SPLIT = Split(X, Y, ("a", "b", "c"))


def test_it_knows_its_size_and_shape():
    assert len(SPLIT) == 6
    assert SPLIT.n_classes == 3
    assert SPLIT.in_shape == (2,)
    assert SPLIT.labels.dtype == np.int64
    assert repr(SPLIT) == "Split(n=6, classes=3, in_shape=(2,))"


@pytest.mark.parametrize("rows", [slice(1, 3), [1, 2], np.array([0, 1, 1, 0, 0, 0], dtype=bool)])
def test_rows_are_picked_from_inputs_and_labels_alike(rows):
    part = SPLIT[rows]
    assert np.array_equal(part.inputs, X[1:3])
    assert part.labels.tolist() == [1, 2]
    assert part.n_classes == 3


def test_other_labels_leave_the_first_split_alone():
    noisy = Symmetric(0.5).corrupt(SPLIT, seed=0)
    assert np.array_equal(SPLIT.with_labels(noisy).labels, noisy.labels)
    assert SPLIT.with_labels(np.zeros(6, dtype=int)).labels.tolist() == [0] * 6
    assert SPLIT.labels.tolist() == [0, 1, 2, 0, 1, 2]
    assert SPLIT.with_labels(noisy).inputs is SPLIT.inputs


def test_picking_lazy_images_reads_none(tmp_path):
    split = Split(LazyImages(tmp_path, ["a.png", "b.png", "c.png"]), np.array([0, 1, 0]), ("x", "y"))
    part = split[[2, 0]]
    assert part.inputs.names.tolist() == ["c.png", "a.png"]
    assert part.in_shape == (3, 224, 224)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (Y[:5], "5 labels, but there are 6 instances"),
        (Y + 1, r"labels has 3, but there are 3 classes \(0 to 2\)"),
        (np.array([0, 1, 2, 0, 1, -1]), "labels has -1"),
        (np.array(["a"] * 6), "encode names first"),
        (np.eye(3, dtype=int)[Y], "one whole class index"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        SPLIT.with_labels(labels)


def test_a_single_row_is_not_a_split():
    with pytest.raises(TypeError, match="slice"):
        SPLIT[2]
