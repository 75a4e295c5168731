"""Votes for known instances from each form of file."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truelabel.labels.vote_files import read_votes_of

IDS = np.array(["x", "y", "z"], dtype=object)
NAMES = ("cat", "dog", "7")
MATRIX = np.array([[0, 1], [-1, 2], [1, -1]])
PEOPLE = ["ann", "bob"]
COUNTS = [[1, 1, 0], [0, 0, 1], [0, 1, 0]]


def long() -> pd.DataFrame:
    rows, columns = np.nonzero(MATRIX >= 0)
    return pd.DataFrame(
        {"instance": IDS[rows], "annotator": np.array(PEOPLE)[columns], "label": np.array(NAMES)[MATRIX[rows, columns]]}
    )


def wide() -> pd.DataFrame:
    cells = np.array([*NAMES, ""], dtype=object)[MATRIX]
    return pd.DataFrame(cells, columns=PEOPLE)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (long().sample(frac=1, random_state=0), None),
        (long().rename(columns={"instance": "image", "annotator": "who", "label": "kind"}), ("image", "who", "kind")),
        (wide(), None),
        (wide().assign(instance=IDS).iloc[::-1], None),
    ],
)
def test_tables_are_read_whatever_their_form(
    table: pd.DataFrame, columns: tuple[str, ...] | None, ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"votes{ending}"
    table.to_csv(path, index=False) if ending == ".csv" else table.to_parquet(path, index=False)
    votes = read_votes_of(path, IDS, NAMES, columns=columns)
    assert votes.counts.tolist() == COUNTS
    assert sorted(votes.annotators.tolist()) == PEOPLE
    assert votes.instances.tolist() == IDS.tolist()
    assert votes.class_names == NAMES


def test_matrices_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", MATRIX)
    assert read_votes_of(tmp_path / "m.npy", IDS, NAMES).counts.tolist() == COUNTS


def test_classes_without_names_are_numbers(tmp_path: Path) -> None:
    numbers = pd.DataFrame({"instance": [0, 0, 1, 2], "annotator": [5, 6, 6, 5], "label": [0, 1, 2, 1]})
    numbers.to_csv(tmp_path / "long.csv", index=False)
    pd.DataFrame({"a": [0, -1, 1], "b": [1, 2, None]}).to_csv(tmp_path / "wide.csv", index=False)
    for name in ("long.csv", "wide.csv"):
        votes = read_votes_of(tmp_path / name, np.arange(3), 3)
        assert votes.counts.tolist() == COUNTS
        assert votes.class_names is None


@pytest.mark.parametrize(("name", "classes"), [("c.csv", NAMES), ("c.npy", 3)])
def test_counts_are_read_and_are_nobodys(name: str, classes: tuple[str, ...] | int, tmp_path: Path) -> None:
    pd.DataFrame(COUNTS, columns=NAMES)[["7", "cat", "dog"]].to_csv(tmp_path / "c.csv", index=False)
    np.save(tmp_path / "c.npy", COUNTS)
    votes = read_votes_of(tmp_path / name, IDS, classes, counts=True)
    assert votes.anonymous
    assert votes.counts.tolist() == COUNTS


def test_a_long_table_without_annotators_is_anonymous(tmp_path: Path) -> None:
    long().drop(columns="annotator").to_csv(tmp_path / "v.csv", index=False)
    votes = read_votes_of(tmp_path / "v.csv", IDS, NAMES)
    assert votes.anonymous
    assert votes.counts.tolist() == COUNTS
    long().rename(columns={"instance": "a", "label": "b"}).to_csv(tmp_path / "v.csv", index=False)
    assert read_votes_of(tmp_path / "v.csv", IDS, NAMES, columns=("a", "b")).anonymous


@pytest.mark.parametrize(
    ("table", "settings", "complaint"),
    [
        (wide().head(2), {}, "has 2 rows, but there are 3 instances"),
        (wide().assign(instance=["x", "y", "q"]), {}, "are not those that are judged, each once"),
        (wide().replace("cat", "bird"), {}, "row 0 .* has 'bird' in column 'ann', which is no class; a vote is one of"),
        (wide(), {"counts": True}, "with counts there is a column per class"),
        (long(), {"columns": ("image", "annotator", "label")}, "has no column 'image', but 'instance'"),
        (long(), {"columns": ("instance",)}, "are three .* or two .*, not 1"),
        (long().assign(label="bird"), {}, "the label in row 0 is 'bird', which is not in class_names"),
        (long().assign(instance="q"), {}, "instance 'q', which is not among the 3 instances"),
    ],
)
def test_what_is_wrong_is_said(table: pd.DataFrame, settings: dict, complaint: str, tmp_path: Path) -> None:
    table.to_csv(tmp_path / "v.csv", index=False)
    with pytest.raises(ValueError, match=complaint):
        read_votes_of(tmp_path / "v.csv", IDS, NAMES, **settings)


def test_files_that_are_not_there_or_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_votes_of(tmp_path / "v.npy", IDS, NAMES)
    np.save(tmp_path / "m.npy", MATRIX[:2])
    with pytest.raises(ValueError, match=r"has shape \(2, 2\), but there are 3 instances; .* a column per annotator"):
        read_votes_of(tmp_path / "m.npy", IDS, NAMES)
