"""Duplicates as a table: groups with different labels first."""

import numpy as np
import pandas as pd
import pytest

import truelabel as tl
from truelabel.labels import MultiLabel, find_duplicates


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    """120 points, of which the last twenty copy the first: ten exactly, ten nearly."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 8)).astype(np.float32)
    x[100:] = x[:20]
    x[110:] += rng.normal(scale=1e-3, size=(10, 8))
    return x


@pytest.fixture(scope="module")
def labels() -> np.ndarray:
    """Of the copies 105 and 115 have another label than their originals."""
    labels = np.arange(120) % 3
    labels[100:] = labels[:20]
    labels[[105, 115]] = (labels[[5, 15]] + 1) % 3
    return labels


def test_groups_with_different_labels_come_first_and_exact_before_near(x, labels):
    found = find_duplicates(x, labels)
    table = found.table
    assert table.index[:4].tolist() == [5, 105, 15, 115]
    assert table["group"].tolist() == np.repeat(np.arange(1, 21), 2).tolist()
    assert table["kind"].tolist() == ["exact"] * 2 + ["near"] * 2 + ["exact"] * 18 + ["near"] * 18
    assert table["different_labels"].tolist() == [True] * 4 + [False] * 36
    assert table["times_nearer"].isna().equals(table["kind"] == "exact")
    assert (table["times_nearer"].dropna() > 100).all()
    assert table["given"].tolist() == labels[table.index].tolist()
    assert found.to_dict() == {"groups": 20, "instances": 40, "exact": 10, "different_labels": 2}
    assert str(found) == ("20 groups of 40 instances, 10 exact; 2 have different labels, nearly certain mistakes")
    assert [group.index.tolist() for group in found.groups()][:2] == [[5, 105], [15, 115]]


def test_predictions_bring_their_labels_names_and_ids(x, labels):
    ids = [f"i{k}" for k in range(120)]
    said = tl.Predictions(np.eye(3)[labels], x, labels=labels, class_names=["cat", "dog", "elk"], ids=ids)
    table = find_duplicates(said).table
    assert table["id"].tolist()[:2] == ["i5", "i105"]
    assert table["given"].tolist()[:2] == ["elk", "cat"]
    expected = find_duplicates(x, labels, ids=ids, class_names=("cat", "dog", "elk")).table
    pd.testing.assert_frame_equal(table, expected)


def test_several_labels_per_instance_are_compared_as_sets(x):
    tags = np.tile([[1, 0], [1, 1], [0, 1]], (40, 1))
    tags[100:] = tags[:20]
    tags[103] = 1 - tags[3]
    found = find_duplicates(MultiLabel(tags * 0.8 + 0.1, tags, x, class_names=["wet", "cold"]))
    assert found.different == 1
    assert found.table["given"].tolist()[:2] == ["wet", "cold"]


def test_without_labels_there_are_groups_all_the_same(x):
    found = find_duplicates({"a": x})
    assert len(found) == 20
    assert found.different == 0
    assert "given" not in found.table
    assert str(found) == "20 groups of 40 instances, 10 exact; labels agree in each"


def test_where_there_are_none_the_table_is_empty(x, labels):
    found = find_duplicates(x[:100], labels[:100])
    assert len(found) == len(found.table) == 0
    assert str(found) == "no duplicates"
    assert found.groups() == []
    assert list(found.table.columns) == ["group", "kind", "times_nearer", "different_labels", "id", "given"]


def test_what_cannot_be_compared_is_refused(x, labels):
    with pytest.raises(ValueError, match="labels has 5 rows, but features has 120"):
        find_duplicates(x, labels[:5])
    with pytest.raises(ValueError, match="by features, and there are none"):
        find_duplicates(tl.Predictions(np.eye(3)[labels], labels=labels))
    with pytest.raises(ValueError, match="different numbers of rows"):
        find_duplicates({"a": x, "b": x[:7]})
    with pytest.raises(ValueError, match="NaN or infinite"):
        find_duplicates(np.full((20, 3), np.nan))
