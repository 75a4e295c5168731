"""Votes: the same from a matrix, a long table and counts, and clear about what is wrong."""

import numpy as np
import pandas as pd
import pytest

from truelabel.labels import Votes

MATRIX = np.array([[0, 0, -1], [1, -1, 2], [-1, -1, -1], [2, 1, 2]])
TABLE = pd.DataFrame(
    {
        "image": ["a", "b", "d", "a", "d", "b", "d"],
        "who": ["ann", "ann", "ann", "bob", "bob", "cleo", "cleo"],
        "class": ["cat", "dog", "elk", "cat", "dog", "elk", "elk"],
    }
)
COLUMNS = {"instance": "image", "annotator": "who", "label": "class"}


def test_a_matrix_and_a_long_table_are_the_same_votes() -> None:
    matrix = Votes(MATRIX, annotators=["ann", "bob", "cleo"], class_names=["cat", "dog", "elk"], instances=list("abcd"))
    table = Votes.from_table(TABLE, instances=list("abcd"), **COLUMNS)
    for votes in (matrix, table):
        assert votes.class_names == ("cat", "dog", "elk")
        assert votes.annotators.tolist() == ["ann", "bob", "cleo"]
        assert votes.instances.tolist() == list("abcd")
        assert votes.counts.tolist() == [[2, 0, 0], [0, 1, 1], [0, 0, 0], [0, 1, 2]]
        assert votes.per_instance.tolist() == [2, 2, 0, 3]
        assert votes.per_annotator.tolist() == [3, 2, 2]
        assert votes.majority().tolist() == [0, 1, -1, 2]
    np.testing.assert_array_equal(matrix.cells.toarray(), table.cells.toarray())


def test_the_cells_have_a_column_per_annotator_and_class() -> None:
    cells = Votes(MATRIX).cells.toarray().reshape(4, 3, 3)
    rows, columns = np.nonzero(MATRIX >= 0)
    expected = np.zeros((4, 3, 3))
    expected[rows, columns, MATRIX[rows, columns]] = 1
    np.testing.assert_array_equal(cells, expected)


def test_counts_and_a_table_without_annotators_are_anonymous() -> None:
    counts = Votes.from_counts([[2, 0, 0], [0, 1, 1], [0, 1, 2]])
    table = Votes.from_table(TABLE, instance="image", annotator=None, label="class")
    for votes in (counts, table):
        assert votes.anonymous
        assert votes.n_annotators == 1
        assert votes.counts.tolist() == [[2, 0, 0], [0, 1, 1], [0, 1, 2]]
    assert table.instances.tolist() == ["a", "b", "d"]


def test_instances_come_in_the_order_of_the_table_and_classes_may_be_numbers() -> None:
    votes = Votes.from_table({"instance": [7, 3, 7], "annotator": [1, 1, 2], "label": [0, 2, 1]})
    assert votes.instances.tolist() == [7, 3]
    assert votes.class_names is None
    assert votes.n_classes == 3
    assert votes.counts.tolist() == [[1, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Votes([0, 1]), r"one column per annotator, but has shape \(2,\)"),
        (lambda: Votes([[0, 1.5]]), "votes has 1.5 in row 0, column 1; use whole numbers"),
        (lambda: Votes([[0, np.nan]]), "votes has nan in row 0, column 1"),
        (lambda: Votes([[0, 1], [1, -2]]), "votes has -2 in row 1, column 1"),
        (
            lambda: Votes([[0, 3]], class_names=["a", "b"]),
            "votes has 3 in row 0, column 1; use class indices from 0 to 1",
        ),
        (lambda: Votes([[-1, -1]]), "there are no votes at all"),
        (lambda: Votes([[0, 0]]), "all votes are for one class"),
        (lambda: Votes([[0, 1]], annotators=["ann"]), "annotators has shape"),
        (lambda: Votes([[0, 1]], annotators=["ann", "ann"]), "annotators has 'ann' twice"),
        (lambda: Votes([[0, 1]], class_names=["a", "a"]), "class_names must name each of the 2 classes once"),
        (lambda: Votes.from_counts([[1, -1]]), "counts has -1 in row 0, column 1"),
        (lambda: Votes.from_counts([1, 2]), "counts must have one row per instance and one column per class"),
        (lambda: Votes.from_table(TABLE), "no column 'instance', but 'image', 'who', 'class'"),
        (
            lambda: Votes.from_table(TABLE, instances=["a", "b"], **COLUMNS),
            "label of instance 'd', which is not among",
        ),
        (lambda: Votes.from_table(TABLE, instances=["a", "a"], **COLUMNS), "instances has 'a' twice"),
        (
            lambda: Votes.from_table(pd.concat([TABLE, TABLE[:1]]), **COLUMNS),
            "annotator 'ann' labelled instance 'a' more than once",
        ),
        (
            lambda: Votes.from_table(TABLE, class_names=["cat", "dog"], **COLUMNS),
            "the label in row 2 is 'elk', which is not in class_names",
        ),
        (
            lambda: Votes.from_table(TABLE.assign(who=[None, *TABLE["who"][1:]]), **COLUMNS),
            "column 'who' has no value in row 0",
        ),
    ],
)
def test_mistakes_are_named_with_their_place(make, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()


def test_votes_for_some_instances_keep_annotators_and_classes() -> None:
    votes = Votes([[0, 1, -1], [2, -1, 2], [-1, 1, 1]], annotators=["ann", "bob", "cleo"], instances=["x", "y", "z"])
    some = votes[np.array([2, 0])]
    assert some.instances.tolist() == ["z", "x"]
    assert some.counts.tolist() == [[0, 2, 0], [1, 1, 0]]
    assert some.annotators.tolist() == ["ann", "bob", "cleo"]
    assert some.per_annotator.tolist() == [1, 2, 1]
    assert votes[np.array([True, False, True])].instances.tolist() == ["x", "z"]
    counted = Votes.from_counts([[3, 1], [0, 2]])[np.array([1])]
    assert counted.anonymous
    assert counted.counts.tolist() == [[0, 2]]
