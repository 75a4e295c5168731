"""Tables with several labels a row: how they are read, and that writing them again changes nothing but labels."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truelabel.raw import SeveralLabels

COLUMNS = """code,is_a,text,is_b,given_labels
007,yes,one,1,x
008,no,two,0,y
009,no,three,,z
010,yes,four,0,
"""
CELLS = """code,tags,text
1,b|a,one
2,,two
3, b ,three
4,a | c | a,four
"""


@pytest.fixture
def columns(tmp_path: Path) -> Path:
    (tmp_path / "columns.csv").write_text(COLUMNS)
    return tmp_path / "columns.csv"


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    (tmp_path / "cells.csv").write_text(CELLS)
    return tmp_path / "cells.csv"


def test_columns_of_yes_and_no_are_found_by_pattern_in_their_order(columns: Path) -> None:
    source = SeveralLabels(columns, label_columns=["is_b", "is_*"], text=["text"])
    assert source.names == ("is_a", "is_b")
    assert source.given.tolist() == [[1, 1], [0, 0], [0, -1], [1, 0]]
    assert source.unanswered() == {2: "neither yes nor no in column is_b"}


def test_a_corrected_column_is_written_as_the_column_writes_it(columns: Path, tmp_path: Path) -> None:
    source = SeveralLabels(columns, label_columns=["is_*"], text=["text"])
    rows, labels = np.array([0, 1, 3]), np.array([[0, 1], [0, 1], [1, 0]])
    source.corrected(rows, [0, 1], labels, ["is_a: no", "is_b: yes", ""]).to_csv(tmp_path / "out.csv", index=False)
    assert (tmp_path / "out.csv").read_text() == (
        "code,is_a,text,is_b,given_labels_,reason,given_labels\n"
        "007,no,one,1,is_a|is_b,is_a: no,x\n"
        "008,no,two,1,,is_b: yes,y\n"
        "009,no,three,,,,z\n"
        "010,yes,four,0,is_a,,\n"
    )


@pytest.mark.parametrize("column", [np.array([True, False, False]), np.array([1, 0, 0]), np.array([1.0, 0.0, np.nan])])
def test_a_corrected_column_keeps_its_type(tmp_path: Path, column: np.ndarray) -> None:
    pd.DataFrame({"x": [1, 2, 3], "is_a": column}).to_parquet(tmp_path / "t.parquet")
    source = SeveralLabels(tmp_path / "t.parquet", label_columns=["is_a"])
    frame = source.corrected(np.array([0, 1]), [0], np.array([[0], [1]]), ["", ""])
    assert frame["is_a"].dtype == column.dtype
    assert frame["is_a"].tolist()[:2] == [0, 1]


def test_cells_hold_any_number_of_labels(cells: Path) -> None:
    source = SeveralLabels(cells, label="tags", separator="|", text=["text"])
    assert source.names == ("a", "b", "c")
    assert source.given.tolist() == [[1, 1, 0], [0, 0, 0], [0, 1, 0], [1, 0, 1]]
    assert source.unanswered() == {}


def test_only_cells_that_change_are_written_anew_and_their_labels_keep_their_order(cells: Path) -> None:
    source = SeveralLabels(cells, label="tags", separator="|", text=["text"])
    labels = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])  # of a and b; c is not judged
    frame = source.corrected(np.arange(4), [0, 1], labels, ["", "a: yes", "", "a: no"])
    assert frame["tags"].tolist() == ["b|a", "a", " b ", "c"]
    assert frame["given_labels"].tolist() == ["a|b", "", "b", "a|c"]
    assert list(frame.columns) == ["code", "tags", "given_labels", "reason", "text"]
    labels[0, 1], labels[2, 0] = 0, 1
    again = source.corrected(np.arange(4), [0, 1], labels, [""] * 4)
    assert again["tags"].tolist() == ["a", "a", "b|a", "c"]


def test_other_labels_are_no_features(columns: Path) -> None:
    table = SeveralLabels(columns, label_columns=["is_*"]).table
    assert table.shown(np.arange(4))["columns"] == ["code", "text", "given_labels"]
    with pytest.raises(ValueError, match="'is_b' is the label; it cannot be what is judged by"):
        SeveralLabels(columns, label_columns=["is_*"], columns=["is_b"])


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"label_columns": ["has_*"]}, "has no column like 'has_\\*'; it has code, is_a, text, is_b, given_labels"),
        ({"label_columns": ["is_a", "text"]}, "has 'one' in row 0 of column 'text'; a column of --label-columns holds"),
        ({"label": "text", "separator": "|"}, "has no cell with '\\|' in column 'text'; name the right --separator"),
        ({"label": "text", "separator": ""}, "--separator is what stands between the labels of a cell"),
        ({"label": "tags", "separator": "|"}, "has no column 'tags'; it has code"),
        ({"label": "text"}, "name columns of labels, or one column of labels and the separator"),
    ],
)
def test_what_cannot_be_read_is_refused(columns: Path, asked: dict, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        SeveralLabels(columns, **asked)


def test_lists_in_cells_are_refused(tmp_path: Path) -> None:
    pd.DataFrame({"x": [1, 2], "tags": [["a"], ["a", "b"]]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="has lists in column 'tags'; write the labels of a row as one text"):
        SeveralLabels(tmp_path / "t.parquet", label="tags", separator="|")
