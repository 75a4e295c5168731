import numpy as np

from truelabel.labels import LabelIssues, from_cleanlab, to_cleanlab


def test_cleanlabs_arrays_are_predictions_made_out_of_sample() -> None:
    said = from_cleanlab([0, 1], [[0.9, 0.1], [0.7, 0.3]], features=[[1.0], [2.0]])
    assert said.out_of_sample
    assert said.labels.tolist() == [0, 1]
    assert said.views["features"].tolist() == [[1.0], [2.0]]


def test_cleanlabs_table_has_a_row_an_instance_in_their_order(found: LabelIssues) -> None:
    table = to_cleanlab(found)
    assert table.columns.tolist() == ["is_label_issue", "label_quality", "given_label", "predicted_label"]
    assert table["is_label_issue"].dtype == bool
    np.testing.assert_array_equal(np.flatnonzero(table["is_label_issue"]), np.sort(found.ranked()))
    np.testing.assert_array_equal(table["given_label"], found.labels)
    right = table["predicted_label"] == table["given_label"]
    np.testing.assert_array_equal(right, ~table["is_label_issue"])
    assert table["label_quality"].idxmin() == found.table.index[0]
