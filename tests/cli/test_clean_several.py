"""`truelabel clean` for tables whose rows have several labels."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from shell import call, fails
from truelabel.labels import Examined

N = 160


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Two labels that two columns of numbers decide, a tenth of each wrong; the same labels as columns and as cells."""
    rng = np.random.default_rng(3)
    truth = rng.random((N, 2)) < 0.5
    given = truth ^ (rng.random((N, 2)) < 0.1)
    frame = pd.DataFrame(rng.normal(size=(N, 2)) + 8 * truth, columns=["a", "b"])
    frame.insert(0, "key", [f"k{row:03d}" for row in range(N)])
    home = tmp_path_factory.mktemp("several")
    columns = frame.assign(is_a=np.where(given[:, 0], "yes", "no"), is_b=given[:, 1].astype(int).astype(str))
    columns.loc[9, "is_b"] = ""
    columns.to_csv(home / "columns.csv", index=False)
    cells = frame.assign(tags=["|".join(np.array(["alpha", "<b>beta"])[row]) for row in given], note="mine")
    cells.loc[4, "tags"] += "|seldom"
    cells.to_csv(home / "cells.csv", index=False)
    return SimpleNamespace(home=home, truth=truth, given=given, columns=columns, cells=cells)


@pytest.fixture(scope="module")
def columns_out(made: SimpleNamespace) -> Path:
    out = made.home / "columns-out"
    words = ["--label-columns", "is_*", "--columns", "a,b", "--id", "key", "--correct", "all", "--out", out]
    printed = call("clean", made.home / "columns.csv", *words)
    assert f"Next, look at the suspicious labels: {out / 'report.html'}" in printed
    assert "is_a: " in printed
    assert str(out / "skipped.csv") in printed
    return out


@pytest.fixture(scope="module")
def cells_out(made: SimpleNamespace) -> Path:
    out = made.home / "cells-out"
    words = ["--label", "tags", "--separator", "|", "--columns", "a,b", "--correct", "all", "--out", out, "--json"]
    counts = json.loads(call("clean", made.home / "cells.csv", *words))
    assert [line["label"] for line in counts["labels"]] != []
    assert {line["label"] for line in counts["labels"]} == {"alpha", "<b>beta"}
    assert sum("fewer than 20 rows have them" in note and "seldom" in note for note in counts["notes"]) == 1
    assert counts["changed"] == counts["suspicious"] == sum(line["changed"] for line in counts["labels"])
    return out


def test_columns_of_labels_become_cleaner_and_all_else_stays(made: SimpleNamespace, columns_out: Path) -> None:
    own = pd.read_csv(made.home / "columns.csv", dtype=str, keep_default_na=False)
    table = pd.read_csv(columns_out / "corrected.csv", dtype=str, keep_default_na=False)
    assert list(table.columns) == [*own.columns, "given_labels", "reason"]
    pd.testing.assert_frame_equal(table[["key", "a", "b"]], own[["key", "a", "b"]])
    assert set(table["is_a"]) == {"yes", "no"}
    rows = [row for row in range(N) if row != 9]
    now = np.stack([table["is_a"] == "yes", table["is_b"] == "1"], axis=1)[rows]
    assert np.mean(made.given[rows] != made.truth[rows]) > 0.07
    assert np.mean(now != made.truth[rows]) < 0.02
    assert table.loc[9, "is_b"] == ""
    changed = (table[["is_a", "is_b"]] != own[["is_a", "is_b"]]).any(axis=1)
    np.testing.assert_array_equal(table["reason"] != "", changed)
    skipped = pd.read_csv(columns_out / "skipped.csv").to_numpy().tolist()
    assert skipped == [["k009", "neither yes nor no in column is_b"]]


def test_each_suspicious_answer_is_a_row_of_the_issues(made: SimpleNamespace, columns_out: Path) -> None:
    issues = pd.read_csv(columns_out / "issues.csv")
    assert list(issues.columns[:4]) == ["id", "label", "given", "suggested"]
    assert (issues["given"] != issues["suggested"]).all()
    assert issues["p_wrong"].is_monotonic_decreasing
    place = issues["label"].map({"is_a": 0, "is_b": 1})
    row = issues["id"].str[1:].astype(int)
    np.testing.assert_array_equal(issues["given"] == "yes", made.given[row, place])
    assert np.mean((made.given != made.truth)[row, place]) > 0.85


def test_cells_keep_labels_that_were_not_judged(made: SimpleNamespace, cells_out: Path) -> None:
    table = pd.read_csv(cells_out / "corrected.csv", dtype=str, keep_default_na=False)
    assert list(table.columns) == ["key", "a", "b", "tags", "given_labels", "reason", "note"]
    has = np.stack([table["tags"].str.contains(name, regex=False) for name in ("alpha", "<b>beta")], axis=1)
    assert np.mean(has != made.truth) < 0.02
    assert table["tags"].str.split("|").str[-1].eq("seldom").to_numpy().nonzero()[0].tolist() == [4]
    same = table["reason"] == ""
    assert table.loc[same, "tags"].tolist() == made.cells.loc[same, "tags"].tolist()


def test_the_report_has_a_line_for_each_label_and_escapes_it(cells_out: Path) -> None:
    page = (cells_out / "report.html").read_text(encoding="utf-8")
    assert page.count('<tr><th scope="row"') == 2
    assert "Is it <b>&lt;b&gt;beta</b>?" in page
    assert "<b>beta" not in page
    assert "<script" not in page


def test_the_review_says_what_to_use_instead(
    columns_out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for words in (
        ["review", columns_out],
        ["audit", columns_out],
        ["report", columns_out, "--out", tmp_path / "r.html"],
    ):
        complaint = fails(monkeypatch, capsys, *words)
        assert "is about several labels an instance, which cannot be reviewed" in complaint
        assert "truelabel clean TABLE --label COLUMN" in complaint
        assert "\n" not in complaint


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--label-columns", "is_*", "--label", "key"], "so that --label is left out"),
        (["--label-columns", "is_*", "--separator", "|"], "so that --separator is left out"),
        (["--label-columns", " , "], "--label-columns names no column"),
        (["--separator", "|"], "name that with one --label"),
        (["--separator", "|", "--label", "is_a", "--label", "is_b"], "name that with one --label"),
        (["--label-columns", "is_*", "--votes", "v.csv"], "--votes is for one label an instance; leave it out, or"),
        (["--label-columns", "is_*", "--merge-labels"], "--merge-labels is for one label an instance"),
        (["--label-columns", "is_*", "--threshold", "2"], "threshold is a probability between 0 and 1"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    made: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    complaint: str,
) -> None:
    out = made.home / "refused"
    assert complaint in fails(monkeypatch, capsys, "clean", made.home / "columns.csv", "--out", out, *words)
    assert not out.exists()


def test_labels_that_hardly_any_row_has_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.DataFrame({"x": np.arange(60) ** 2, "tags": ["a|b"] * 3 + [""] * 57}).to_csv(tmp_path / "t.csv", index=False)
    complaint = fails(monkeypatch, capsys, "clean", tmp_path / "t.csv", "--label", "tags", "--separator", "|")
    assert "has no label that at least 20 rows have and 20 have not" in complaint


def test_a_later_run_with_one_label_replaces_all_of_it(made: SimpleNamespace, cells_out: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(cells_out, tmp_path / "out"))
    words = ["--label", "is_a", "--columns", "a,b", "--out", out, "--overwrite"]
    call("clean", made.home / "columns.csv", *words)
    assert not (out / "several_labels.json").exists()
    assert len(Examined.read(out)) == N
