import numpy as np
import pytest

from truelabel import datasets

X = np.arange(24.0).reshape(6, 4)


def test_indices_are_kept():
    data = datasets.arrays(X, [0, 1, 0, 1, 0, 1], X[:2], [2, 0])
    assert data.class_names == ("0", "1", "2")
    assert data.train.labels.tolist() == [0, 1, 0, 1, 0, 1]
    assert data.test.labels.tolist() == [2, 0]
    assert data.train.inputs.dtype == np.float32


def test_names_are_sorted_into_classes():
    data = datasets.arrays(X, list("baabba"), X[:2], list("ab"), name="mine")
    assert (data.name, data.class_names) == ("mine", ("a", "b"))
    assert data.train.labels.tolist() == [1, 0, 0, 1, 1, 0]


def test_given_names_decide_the_order():
    data = datasets.arrays(X, list("baabba"), X[:2], list("ab"), class_names=["b", "a", "c"])
    assert data.test.labels.tolist() == [1, 0]
    assert data.train.n_classes == 3


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="use one shape"):
        datasets.arrays(X, [0, 1] * 3, X[:2, :3], [0, 1])
    with pytest.raises(ValueError, match="5 labels, but there are 6 instances"):
        datasets.arrays(X, [0, 1, 0, 1, 0], X[:2], [0, 1])
    with pytest.raises(ValueError, match="y_test has the class 'c' in row 1"):
        datasets.arrays(X, list("baabba"), X[:2], list("ac"), class_names=["a", "b"])
