"""`truelabel audit` as a curator calls it."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truelabel as tl
from shell import call, fails
from truelabel.labels import Audit, Count, LabelIssues, WrongLabels, examined

NAMES = ("cat", "dog")
N = 120


@pytest.fixture
def case(tmp_path: Path) -> SimpleNamespace:
    """A folder of 120 examined texts, a quarter of whose labels are wrong, and nearly all of these found."""
    rng = np.random.default_rng(0)
    truth = np.arange(N) % 2
    wrong = rng.random(N) < 0.25
    given = np.where(wrong, 1 - truth, truth)
    p_wrong = np.where(wrong, rng.uniform(0.4, 1, N), rng.uniform(0, 0.5, N))
    probs = np.where(np.arange(2) == given[:, None], 1 - p_wrong[:, None], p_wrong[:, None]).astype(np.float32)
    ids = np.array([f"t{k}" for k in range(N)], dtype=object)
    said = tl.Predictions(probs, rng.normal(size=(N, 2)), labels=given, ids=ids, class_names=NAMES)
    title = np.array(NAMES, dtype=object)
    table = pd.DataFrame({"id": ids, "given": title[given], "suggested": title[probs.argmax(1)], "p_wrong": p_wrong})
    table = table.assign(p_suggested=probs.max(1), uncertainty=0.0, support=5)
    counts = WrongLabels(Count(1.0, 0.0, 2.0, N), {name: Count(1.0, 0.0, 2.0, N) for name in NAMES})
    found = LabelIssues(table.iloc[np.argsort(-p_wrong)], given, probs, counts, np.eye(2), NAMES, None)
    pd.DataFrame({"title": [f"text {k}" for k in range(N)]}).to_csv(tmp_path / "texts.csv", index=False)
    source = {"kind": "text", "table": str(tmp_path / "texts.csv"), "columns": ["title"]}
    folder = examined(said, found, source).write(tmp_path / "cleaned")
    return SimpleNamespace(folder=folder, sheet=folder / "audit.csv", truth=title[truth], wrong=wrong)


def fill(case: SimpleNamespace, rows: slice = slice(None)) -> None:
    """Do a person's work."""
    sheet = pd.read_csv(case.sheet, dtype={"true_class": str}, keep_default_na=False)
    chosen = sheet.index[rows]
    sheet.loc[chosen, "true_class"] = case.truth[sheet.loc[chosen, "row"]]
    sheet.to_csv(case.sheet, index=False)


def test_the_first_call_writes_a_sheet_that_shows_the_instances_and_no_belief(case: SimpleNamespace) -> None:
    printed = call("audit", case.folder, "--sample", 30)
    sheet = pd.read_csv(case.sheet, keep_default_na=False)
    assert list(sheet.columns) == ["row", "id", "given", "title", "true_class"]
    assert len(sheet) == 30
    assert (sheet["true_class"] == "").all()
    assert (sheet["title"] == "text " + sheet["row"].astype(str)).all()
    assert (sheet["id"] == "t" + sheet["row"].astype(str)).all()
    assert "Drawn: 30 of 120 labels" in printed
    assert "one of cat, dog; 'cannot tell'; or 'none'" in printed


def test_a_filled_sheet_gives_the_verdict(case: SimpleNamespace, tmp_path: Path) -> None:
    call("audit", case.folder, "--sample", N)
    fill(case)
    out = tmp_path / "verdict.json"
    printed = call("audit", case.folder, "--precision", 0.9, "--out", out)
    assert f"Wrong: {case.wrong.sum()} of 120" in printed
    assert "Safe: replace labels by the suggestions" in printed
    assert "Precision of 90% or more: where p_wrong is" in printed
    assert "To check" not in printed
    written = json.loads(out.read_text())
    assert written["verdict"]["wrong"]["low"] == written["verdict"]["wrong"]["high"] == case.wrong.sum()
    assert json.loads(call("audit", case.folder, "--precision", 0.9, "--json")) == written


def test_half_a_sheet_counts_and_answers_outlive_it(case: SimpleNamespace) -> None:
    call("audit", case.folder, "--sample", 40)
    fill(case, slice(15))
    printed = call("audit", case.folder)
    assert "Checked: 15 of 120 labels" in printed
    assert "To check: 25 labels" in printed
    case.sheet.unlink()
    again = json.loads(call("audit", case.folder, "--json"))
    assert (again["drawn"], again["open"], again["verdict"]["answered"]) == (40, 25, 15)
    assert (pd.read_csv(case.sheet, keep_default_na=False)["true_class"] != "").sum() == 15


def test_more_labels_join_the_sheet_below_those_that_are_checked(case: SimpleNamespace) -> None:
    call("audit", case.folder, "--sample", 30)
    fill(case)
    before = pd.read_csv(case.sheet)
    printed = call("audit", case.folder, "--sample", 50)
    assert "To check: 20 labels" in printed
    after = pd.read_csv(case.sheet)
    pd.testing.assert_frame_equal(after[:30], before)
    assert after["true_class"][30:].isna().all()
    assert len(Audit.read(case.folder / "audit.jsonl").answers) == 30


def test_columns_that_a_person_added_stay_when_the_sheet_grows(case: SimpleNamespace) -> None:
    call("audit", case.folder, "--sample", 30)
    fill(case)
    sheet = pd.read_csv(case.sheet, dtype=str, keep_default_na=False)
    sheet.insert(3, "who", [f"00{k % 3}" for k in range(30)])
    sheet["note"] = [f'"quoted", {k}\nsecond line' for k in range(30)]
    sheet = sheet.iloc[::-1]  # sorted otherwise by a spreadsheet
    sheet.to_csv(case.sheet, index=False, sep=";")
    call("audit", case.folder, "--sample", 50)
    after = pd.read_csv(case.sheet, dtype=str, keep_default_na=False)
    assert list(after.columns) == list(sheet.columns)
    pd.testing.assert_frame_equal(after[:30], sheet.iloc[::-1].reset_index(drop=True))
    assert (after.loc[30:, ["who", "note", "true_class"]] == "").all(axis=None)
    call("audit", case.folder)
    pd.testing.assert_frame_equal(pd.read_csv(case.sheet, dtype=str, keep_default_na=False), after)


def test_mistakes_give_one_line(
    case: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def complaint(*words: object) -> str:
        return fails(monkeypatch, capsys, "audit", *words)

    assert "--precision is a share between 0 and 1, not 2" in complaint(case.folder, "--precision", 2)
    assert "must end in .csv" in complaint(case.folder, "--sheet", "s.xlsx")
    assert "must end in .json" in complaint(case.folder, "--out", "v.txt")
    assert "There is no folder or file" in complaint(tmp_path / "nowhere")
    assert not list(tmp_path.glob(".*"))
    assert "ask for --json afterwards" in complaint(case.folder, "--page", "--json")
    case.sheet.write_text("mine")
    assert "is there already, but no" in complaint(case.folder)
    assert case.sheet.read_text() == "mine"
    case.sheet.unlink()
    call("audit", case.folder, "--sample", 30)
    assert "30 labels are drawn already; --sample may only grow" in complaint(case.folder, "--sample", 20)
    sheet = pd.read_csv(case.sheet, keep_default_na=False)
    sheet.assign(true_class="cow").to_csv(case.sheet, index=False)
    assert "line 2 of" in (said := complaint(case.folder))
    assert "'cow' is none of the classes (cat, dog)" in said


def paged(monkeypatch: pytest.MonkeyPatch, person: Callable[[Audit, Path], None]) -> list[str]:
    """Let a person answer in place of the server; return the commands that the page shows."""
    shown: list[str] = []

    def served(made: Audit, items: object, path: Path, command: str, *, ready: Callable[[str], None], **_: Any) -> None:
        shown.append(command)
        ready("http://127.0.0.1/secret/")
        person(made, path)
        raise KeyboardInterrupt

    monkeypatch.setattr("truelabel.review.serving.serve_audit", served)
    return shown


def test_the_page_takes_the_place_of_the_sheet_and_ends_with_the_verdict(
    case: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def person(made: Audit, path: Path) -> None:
        row = made.open[0]
        made.answer([row], [case.truth[row]])
        made.write(path)

    shown = paged(monkeypatch, person)
    printed = call("audit", case.folder, "--sample", 30, "--page")
    assert printed.startswith("Audit: http://127.0.0.1/secret/\nCtrl-C ends it; what you answered stays.\n")
    assert "Checked: 1 of 120 labels" in printed
    assert "To check: 29 labels; run the same command again to go on." in printed
    assert shown == [f"truelabel audit {case.folder} --corrected corrected.csv"]
    assert not case.sheet.exists()
    assert "Checked: 2 of 120 labels" in call("audit", case.folder, "--page")
    assert "To check: 28 labels, from the top of" in call("audit", case.folder)
    assert (pd.read_csv(case.sheet, keep_default_na=False)["true_class"] != "").sum() == 2
    assert "Checked: 3 of 120 labels" in call("audit", case.folder, "--page", "--sample", 40)


def test_while_a_page_is_open_nobody_else_changes_the_audit(
    case: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = []

    def person(made: Audit, path: Path) -> None:
        made.answer(made.rows, case.truth[made.rows])
        made.write(path)
        before = path.read_bytes()
        seen.append(call("audit", case.folder, "--corrected", tmp_path / "corrected.csv"))
        with pytest.raises(ValueError, match=r"a page for .* is open already; use that one"):
            call("audit", case.folder, "--page")
        with pytest.raises(ValueError, match="30 labels are drawn, and a page is open for them; end it"):
            call("audit", case.folder, "--sample", 60)
        assert path.read_bytes() == before
        assert not case.sheet.exists()

    paged(monkeypatch, person)
    call("audit", case.folder, "--sample", 30, "--page")
    assert "Checked: 30 of 120 labels" in seen[0]
    assert len(pd.read_csv(tmp_path / "corrected.csv")) == N


def test_help_has_examples() -> None:
    assert call("audit", "--help").count("truelabel audit") >= 3


def test_labels_are_corrected_as_far_as_the_answers_prove_it_safe(
    case: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "corrected.csv"
    call("audit", case.folder, "--sample", 60)
    complaint = fails(monkeypatch, capsys, "audit", case.folder, "--corrected", out)
    assert "no label is checked yet" in complaint
    fill(case)
    printed = call("audit", case.folder, "--corrected", out)
    table = pd.read_csv(out)
    wrong_after = np.mean(table["corrected"] != case.truth)
    assert wrong_after < 0.5 * np.mean(case.wrong)
    sheet = pd.read_csv(case.sheet)
    assert (table.loc[sheet["row"], "corrected"].to_numpy() == sheet["true_class"]).all()
    assert f"Labels: {out}" in printed
