"""Tables: what is read of them, and that writing them again changes nothing but labels."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truelabel.labels.final import FinalLabels
from truelabel.progress import Progress
from truelabel.raw import clean, instances
from truelabel.raw.instances import Embedded, Settings
from truelabel.raw.table import MOST_CATEGORIES, Table

CSV = """code,title,topic,price
007,first,a,1.10
008,NA,b,2.00
009,,a,
010,"x, y",,4e0
011,None,None,5
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(CSV)
    return tmp_path / "t.csv"


def final_of(given: list[str], names: list[str], **beside: list[str]) -> FinalLabels:
    """Final labels of these names, with nothing decided if nothing is put beside them."""
    columns = {"decision": [""] * len(names), "reason": [""] * len(names)} | beside
    made = {name: np.array(column, dtype=object) for name, column in columns.items()}
    given_names, final_names = np.array(given, dtype=object), np.array(names, dtype=object)
    return FinalLabels(np.zeros(len(names), dtype=np.int64), final_names, given_names, **made)


def embed(table: Table, told: list[str] | None = None) -> Embedded:
    tell = (told if told is not None else []).append
    with Progress(False) as progress:
        return table.embed(np.arange(len(table.ids)), Settings("none", 0, "cpu", progress, tell))


def test_labels_are_missing_where_the_cell_is_empty_but_none_is_a_name(path: Path) -> None:
    assert list(Table(path, "topic").given) == ["a", "b", "a", None, "None"]


def test_correcting_changes_the_label_column_and_nothing_else(path: Path, tmp_path: Path) -> None:
    table = Table(path, "topic")
    given, names = ["a", "b", "a", "None"], ["b", "b", "a", "None"]
    final = final_of(given, names, reason=["taken for a", "", "", ""], decision=["accept", "", "", ""])
    corrected = table.corrected(np.array([0, 1, 2, 4]), final)
    corrected.to_csv(tmp_path / "out.csv", index=False)
    assert (tmp_path / "out.csv").read_text() == (
        CSV.replace("topic,", "topic,given_label,decision,reason,")
        .replace("first,a,", "first,b,a,accept,taken for a,")
        .replace("NA,b,", "NA,b,b,,,")
        .replace("009,,a,", "009,,a,a,,,")
        .replace('y",,', 'y",,,,,')
        .replace("None,None,", "None,None,None,,,")
    )
    assert list(table.frame.columns) == ["code", "title", "topic", "price"]


def test_a_column_named_given_label_is_kept(tmp_path: Path) -> None:
    pd.DataFrame({"y": ["a", "b"], "given_label": [1, 2]}).to_csv(tmp_path / "t.csv", index=False)
    corrected = Table(tmp_path / "t.csv", "y").corrected(np.array([0]), final_of(["a"], ["b"]))
    assert list(corrected.columns) == ["y", "given_label_", "decision", "reason", "given_label"]
    assert corrected["given_label"].tolist() == ["1", "2"]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (pd.Series([3, 5, 3]), ["3", "5", "3"]),
        (pd.Series([3.0, np.nan, 5.0]), ["3", None, "5"]),
        (pd.Series(["b", "a", None], dtype="category"), ["b", "a", None]),
        (pd.Series([True, False, True]), ["True", "False", "True"]),
    ],
)
def test_parquet_labels_keep_their_type(tmp_path: Path, labels: pd.Series, names: list[str | None]) -> None:
    pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": labels}).to_parquet(tmp_path / "t.parquet")
    table = Table(tmp_path / "t.parquet", "y")
    assert list(table.given) == names
    corrected = table.corrected(np.array([0]), final_of(names[:1], [next(name for name in names[1:] if name)]))
    assert corrected["y"].dtype == table.frame["y"].dtype
    assert corrected["given_label"].isna().tolist() == labels.isna().tolist()
    assert corrected["y"].iloc[0] == next(value for value in labels[1:] if not pd.isna(value))


def test_numbers_are_brought_to_scale_and_categories_become_indicators(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame(
        {
            "number": rng.normal(50, 9, n),
            "gaps": np.where(np.arange(n) % 3 == 0, np.nan, rng.normal(size=n)),
            "colour": np.array(["red", "blue"])[np.arange(n) % 2],
            "row": np.arange(n),
            "constant": 1,
            "free": [f"text {k}" for k in range(n)],
            "y": np.arange(n) % 2,
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    told: list[str] = []
    found = embed(Table(tmp_path / "t.csv", "y"), told)
    (columns,) = found.views.values()
    assert columns.shape == (n, 1 + 2 + 2)
    expected = (frame["number"] - frame["number"].mean()) / frame["number"].std(ddof=0)
    np.testing.assert_allclose(columns[:, 0], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(columns[:, 2], np.arange(n) % 3 == 0)
    np.testing.assert_array_equal(columns[:, 3:], np.eye(2)[np.arange(n) % 2][:, ::-1])
    assert len(told) == 1
    assert told[0].startswith("Left out: row, constant, free ")
    chosen = embed(Table(tmp_path / "t.csv", "y", columns=["free", "row"])).views["columns"]
    assert chosen.shape == (n, MOST_CATEGORIES + 1)


def test_texts_are_read_together_and_rows_without_any_are_skipped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(path, "topic", text=["title", "code"])
    assert table._text(3) == "x, y\n010"
    monkeypatch.setattr(instances, "MOST_SKIPPED", 0.5)
    found = embed(Table(path, "topic", text=["title"]))
    assert found.rows.tolist() == [0, 3, 4]
    assert found.skipped == {1: "no text", 2: "no text"}
    assert found.inputs.shape[0] == len(found.views["words"]) == 3


def test_where_instances_are_shown_names_rows_only_if_some_are_missing(path: Path) -> None:
    table = Table(path, "topic", text=["title"])
    whole = table.shown(np.arange(5))
    assert whole == {"kind": "text", "table": str(path), "columns": ["title"]}
    assert table.shown(np.array([0, 3]))["rows"] == [0, 3]
    assert Table(path, "topic").shown(np.arange(5))["columns"] == ["code", "title", "price"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"label": "nothing"}, "has no column 'nothing'; it has code, title, topic, price"),
        ({"label": "topic", "text": ["body"]}, "has no column 'body'"),
        ({"label": "topic", "columns": ["topic"]}, "'topic' is the label"),
        ({"label": "code", "id": "topic"}, "has 'a' in column 'topic' more than once"),
    ],
)
def test_columns_that_do_not_serve_are_refused(path: Path, words: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Table(path, **words)  # type: ignore[arg-type]


def test_files_that_do_not_serve_are_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("a,y\nä,1\n".encode("latin-1"))
    with pytest.raises(ValueError, match="not written in UTF-8"):
        Table(tmp_path / "latin.csv", "y")
    (tmp_path / "head.csv").write_text("a,y\n")
    with pytest.raises(ValueError, match="has no rows"):
        Table(tmp_path / "head.csv", "y")
    (tmp_path / "t.xlsx").write_text("")
    with pytest.raises(ValueError, match=r"neither a .csv nor a .parquet"):
        Table(tmp_path / "t.xlsx", "y")
    (tmp_path / "free.csv").write_text("a,y\n" + "".join(f"text{k},{k % 2}\n" for k in range(30)))
    with pytest.raises(ValueError, match="has no column to judge 'y' by"):
        embed(Table(tmp_path / "free.csv", "y"))


def test_row_numbers_are_no_feature_even_where_a_row_is_left_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"row": range(8), "x": [3, 1, 4, 1, 5, 9, 2, 6], "y": list("abababab")})
    frame.to_csv(tmp_path / "t.csv", index=False)
    told: list[str] = []
    with Progress(False) as progress:
        rows = np.array([0, 1, 2, 4, 5, 6, 7])
        made = Table(tmp_path / "t.csv", "y").embed(rows, Settings("none", 0, "cpu", progress, told.append))
    assert made.how == "1 columns (x)"
    assert told[0].startswith("Left out: row (row numbers")


class TestAnnotators:
    """A column per annotator: what most of them say is the label, and the rest are votes."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        frame = pd.DataFrame(
            {"x": [1.5, 2.5, 3.5, 4.5], "ann": ["cat", "dog", "", "Cat "], "bob": ["cat", "cat", "", "cat"]}
        )
        frame.assign(cleo=["owl", "dog", "", "dog"], y=[1, 2, 3, 5]).to_csv(tmp_path / "t.csv", index=False)
        return tmp_path / "t.csv"

    def test_most_of_them_give_the_label_and_none_is_judged_by(self, path: Path) -> None:
        table = Table(path, "label", annotators=["ann", "bob", "cleo"])
        assert table.given == ["cat", "dog", None, "Cat "]
        assert list(table.frame.columns) == ["x", "ann", "bob", "cleo", "label", "y"]
        assert table.shown(np.arange(4))["columns"] == ["x", "y"]
        assert table.asked["annotators"] == ["ann", "bob", "cleo"]

    def test_votes_are_by_class_whatever_their_spelling_and_others_are_pointed_out(self, path: Path) -> None:
        notes: list[str] = []
        votes = Table(path, "label", annotators=["ann", "bob", "cleo"]).votes(["cat", "dog"], notes.append)
        assert votes.counts.tolist() == [[2, 0], [1, 2], [0, 0], [2, 1]]
        assert notes == ["Left out, for no instance has most votes for its class: 1 vote."]

    def test_a_column_of_that_name_is_not_overwritten(self, path: Path) -> None:
        with pytest.raises(ValueError, match="has a column 'x' beside those of the annotators; rename it"):
            Table(path, "x", annotators=["ann", "bob"])


def test_another_separator_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("title;topic\nfirst;a\nsecond;b\n")
    with pytest.raises(ValueError, match="seems to have ';' between its columns; save it with commas instead"):
        Table(tmp_path / "t.csv", "topic")


def test_texts_that_differ_in_a_rare_word_are_no_copies_and_equal_ones_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = np.array(["goal", "match", "team", "vote", "law", "court", "bank", "price"])
    texts = [f"{' '.join(rng.choice(words, 3))} number {1000 + k}" for k in range(300)]
    texts[7], texts[9] = "One  more time " + texts[3], "one more time " + texts[3]
    table = pd.DataFrame({"title": texts, "topic": np.array(["a", "b"])[np.arange(300) % 2]})
    table.loc[9, "topic"] = "a"
    table.to_csv(tmp_path / "t.csv", index=False)
    cleaned = clean(tmp_path / "t.csv", label="topic", text="title", encoder="none", progress=False)
    assert cleaned.duplicates.table["id"].tolist() == [7, 9]
    assert cleaned.duplicates.exact == 1
