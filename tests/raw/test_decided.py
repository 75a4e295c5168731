"""What a folder of results holds once people have decided: their table with final labels, all files of one state."""

import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

import truelabel as tl
from shell import call, fails
from truelabel.labels import Audit, Count, Examined, LabelIssues, WrongLabels, correct_labels, examined
from truelabel.labels.audit import audit
from truelabel.labels.final import FinalLabels, final_labels
from truelabel.labels.renewal import RENEWED
from truelabel.raw.decided import above, renew
from truelabel.raw.own_table import OwnTable
from truelabel.raw.reading import label_names
from truelabel.raw.table import Table
from truelabel.review import Decisions
from truelabel.review.server import Review, application

NAMES = ("cat", "dog")
N = 20
NO_TEXT, NO_LABEL = 3, 7  # rows that are not examined
BELIEVED = (0, 1, 2, 4)  # rows whose label is changed, if nobody decides


def found_in(said: tl.Predictions, suspects: list[int]) -> LabelIssues:
    """What would be found if just these labels were wrong."""
    given = said.labels
    p_wrong = np.where(np.isin(np.arange(len(said)), suspects), 0.9, 0.1)
    probs = np.where(np.arange(2) == given[:, None], 1 - p_wrong[:, None], p_wrong[:, None]).astype(np.float32)
    title = np.array(NAMES, dtype=object)
    table = pd.DataFrame({"id": said.ids, "given": title[given], "suggested": title[probs.argmax(1)]})
    table = table.assign(p_wrong=p_wrong, p_suggested=0.9, uncertainty=0.3, support=5)
    count = Count(1.0, 0.0, 2.0, len(said))
    counts = WrongLabels(count, {name: count for name in NAMES})
    table = table.iloc[np.argsort(-p_wrong, kind="stable")]
    return LabelIssues(table, given, probs, counts, np.eye(2), NAMES, None, probs.argmax(1), "its form")


@pytest.fixture
def case(tmp_path: Path) -> SimpleNamespace:
    """A table of twenty texts with a column of its own, cleaned: four labels are taken for wrong."""
    frame = pd.DataFrame({"note": [f"00{k}" for k in range(N)], "kind": [NAMES[k % 2] for k in range(N)]})
    frame["title"] = [f"text, {k}" for k in range(N)]
    frame.loc[NO_TEXT, "title"] = frame.loc[NO_LABEL, "kind"] = ""
    frame.to_csv(tmp_path / "pets.csv", index=False)
    source = Table(tmp_path / "pets.csv", "kind", text=["title"])
    rows = np.array([k for k in range(N) if k not in (NO_TEXT, NO_LABEL)])
    given = np.array([NAMES.index(source.given[row]) for row in rows])
    x = np.random.default_rng(0).normal(size=(len(rows), 2)) + 4 * given[:, None]
    said = tl.Predictions(np.eye(2)[given] * 0.8 + 0.1, x, labels=given, ids=rows, class_names=NAMES)
    found = found_in(said, [int(np.flatnonzero(rows == row)[0]) for row in BELIEVED])
    about = {"data": source.asked, "correct": "safe", "threshold": "auto", "seed": 0}
    both = examined(said, found, source.shown(rows), **about)
    folder = both.write(tmp_path / "pets-cleaned")
    final = final_labels(found, correct_labels(found), {})
    source.corrected(rows, final).to_csv(folder / "corrected.csv", index=False)
    (folder / "issues.csv").write_text("old")
    (folder / "report.html").write_text("old")
    at = {int(row): k for k, row in enumerate(rows)}
    return SimpleNamespace(folder=folder, frame=frame, examined=both, at=at, out=tmp_path / "final.csv")


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def decide(case: SimpleNamespace, **labels: str | None) -> None:
    """Decide about rows of the table, named `row_0` and so on."""
    found = case.examined.found
    with Decisions.of(case.examined, case.folder / "decisions.sqlite") as decisions:
        for name, label in labels.items():
            row = int(name.removeprefix("row_"))
            k, index = case.at[row], None if label is None else NAMES.index(label)
            decisions.decide(k, index, given=int(found.labels[k]), suggested=int(found.suggested[k]), id=row)


def other(row: int) -> str:
    return NAMES[(row + 1) % 2]


def test_the_users_own_table_comes_back_with_every_decision_above_belief(case: SimpleNamespace) -> None:
    decide(case, row_0=NAMES[0], row_1=other(1), row_2=None, row_10=other(10))
    printed = call("review", case.folder, "--corrected", case.out)
    written = read(case.out)
    assert list(written.columns) == ["note", "kind", "given_label", "decision", "reason", "title"]
    pd.testing.assert_frame_equal(written[["note", "title"]], case.frame[["note", "title"]])
    assert written["given_label"].tolist() == case.frame["kind"].tolist()
    changed = np.flatnonzero(written["kind"] != case.frame["kind"]).tolist()
    assert changed == [1, 4, 10]
    assert written.loc[changed, "kind"].tolist() == [other(row) for row in changed]
    decisions = {0: "keep", 1: "accept", 2: "skip", 10: "other"}
    assert written["decision"].tolist() == [decisions.get(row, "") for row in range(N)]
    assert written.loc[0, "reason"] == "a reviewer kept the given label"
    assert written.loc[4, "reason"].startswith("dog has probability 0.900, cat 0.100")
    assert written.loc[[NO_TEXT, NO_LABEL, 12], "reason"].tolist() == ["", "", ""]
    assert f"All 20 labels, 3 of them changed: {case.out}" in printed
    pd.testing.assert_frame_equal(read(case.folder / "corrected.csv"), written)
    assert call("review", case.folder, "--corrected", case.out) == printed  # the file may be replaced: it is ours


def test_without_corrections_only_decisions_change_labels(case: SimpleNamespace) -> None:
    decide(case, row_1=other(1))
    call("review", case.folder, "--corrected", case.out, "--correct", "none")
    assert np.flatnonzero(read(case.out)["kind"] != case.frame["kind"]).tolist() == [1]


def test_the_users_file_may_have_changed_since_but_not_the_folders(
    case: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    decide(case, row_1=other(1))
    source = case.folder.parent / "pets.csv"
    case.frame.assign(kind="dog").to_csv(source, index=False)
    call("review", case.folder, "--corrected", case.out)
    assert read(case.out)["given_label"].tolist() == case.frame["kind"].tolist()
    read(case.folder / "corrected.csv").iloc[::-1].to_csv(case.folder / "corrected.csv", index=False)
    complaint = fails(monkeypatch, capsys, "review", case.folder, "--corrected", case.out)
    assert "corrected.csv is not as truelabel wrote it (its rows are not those that were examined)" in complaint
    assert fails(monkeypatch, capsys, "review", case.folder, "--corrected", source).count("no result of truelabel") == 1


def test_labels_checked_in_an_audit_count_as_decided(case: SimpleNamespace) -> None:
    made = audit(case.examined.found, sample=len(case.at), random_state=0)
    made.answer([case.at[0], case.at[1], case.at[4]], [0, 1, -1])  # both as given; not to be told
    made.write(case.folder / "audit.jsonl")
    decide(case, row_1=other(1), row_0=None)
    call("review", case.folder, "--corrected", case.out)
    written = read(case.out)
    assert written.loc[[0, 1, 4], "kind"].tolist() == [NAMES[0], other(1), NAMES[0]]
    assert written.loc[[0, 1, 4], "decision"].tolist() == ["checked", "accept", "cannot tell"]


def test_an_audit_gives_the_users_own_table_and_a_reviewer_has_the_last_word(case: SimpleNamespace) -> None:
    call("audit", case.folder, "--sample", 5)
    made = Audit.read(case.folder / "audit.jsonl")
    row_of = {k: row for row, k in case.at.items()}
    checked = sorted(row_of[int(k)] for k in made.rows)
    sheet = read(case.folder / "audit.csv")
    sheet["true_class"] = [other(row_of[int(k)]) for k in sheet["row"]]
    sheet.to_csv(case.folder / "audit.csv", index=False)
    kept = checked[0]
    decide(case, **{f"row_{kept}": NAMES[kept % 2]})
    call("audit", case.folder, "--corrected", case.out)
    written = read(case.out)
    assert list(written.columns) == ["note", "kind", "given_label", "decision", "reason", "title"]
    assert len(written) == N
    assert written.loc[checked[1:], "kind"].tolist() == [other(row) for row in checked[1:]]
    assert written.loc[kept, ["kind", "decision"]].tolist() == [NAMES[kept % 2], "keep"]


def test_report_issues_and_corrected_file_are_renewed_together(case: SimpleNamespace) -> None:
    learned = replace(case.examined, found=found_in(case.examined.predictions, [case.at[19]]))
    renew(case.folder, learned, {case.at[4]: ("keep", 0)})
    assert pd.read_csv(case.folder / "issues.csv")["id"].iloc[0] == 19
    assert "Labels of pets" in (case.folder / "report.html").read_text(encoding="utf-8")
    written = read(case.folder / "corrected.csv")
    assert np.flatnonzero(written["kind"] != case.frame["kind"]).tolist() == [19]
    assert written.loc[4, "decision"] == "keep"
    assert Examined.read(case.folder).found.ranked().tolist() == [case.at[19]]


def test_if_the_report_cannot_be_written_nothing_is_renewed(
    case: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*words: object, **settings: object) -> None:
        raise OSError(28, "No space left on device")

    before = {path.name: path.read_bytes() for path in case.folder.iterdir()}
    monkeypatch.setattr("truelabel.report.write_report", full)
    learned = replace(case.examined, found=found_in(case.examined.predictions, [case.at[19]]))
    with pytest.raises(OSError, match="No space left"):
        renew(case.folder, learned, {})
    assert {path.name: path.read_bytes() for path in case.folder.iterdir()} == before


def test_what_is_not_there_is_not_made(case: SimpleNamespace) -> None:
    for name in ("issues.csv", "report.html", "corrected.csv"):
        (case.folder / name).unlink()
    names = {path.name for path in case.folder.iterdir()}
    renew(case.folder, case.examined, {})
    assert {path.name for path in case.folder.iterdir()} == names
    assert not (case.folder / RENEWED).exists()


@pytest.fixture
def photos(tmp_path: Path) -> SimpleNamespace:
    """Six image files in the folders of two classes, cleaned: the first two are taken for misplaced."""
    names = [f"{NAMES[k % 2]}/{k}.png" for k in range(6)]
    for name in names:
        (tmp_path / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "photos" / name).write_text(name)
    given = np.arange(6) % 2
    ids = np.array(names, dtype=object)
    said = tl.Predictions(np.eye(2)[given] * 0.8 + 0.1, np.eye(2)[given], labels=given, ids=ids, class_names=NAMES)
    source = {"kind": "image", "folder": str(tmp_path / "photos")}
    about = {"data": {"images": "photos"}, "correct": "safe", "threshold": "auto"}
    both = examined(said, found_in(said, [0, 1]), source, **about)
    folder = both.write(tmp_path / "photos-cleaned")
    (folder / "corrected.csv").write_text("old")
    with Decisions.of(both, folder / "decisions.sqlite") as decisions:
        decisions.decide(0, 0, given=0, suggested=1, id=names[0])
        decisions.decide(5, 0, given=1, suggested=1, id=names[5])
    return SimpleNamespace(folder=folder, tree=tmp_path / "final", source=tmp_path / "photos")


def test_images_are_copied_by_their_final_labels(photos: SimpleNamespace) -> None:
    printed = call("review", photos.folder, "--copy-to", photos.tree)
    made = {file.relative_to(photos.tree).as_posix(): file.read_text() for file in photos.tree.rglob("*.png")}
    kept = {f"{NAMES[k % 2]}/{k}.png" for k in (0, 2, 3, 4)}
    assert made == {name: name for name in kept} | {"cat/1.png": "dog/1.png", "cat/5.png": "dog/5.png"}
    assert f"6 images by final label, 2 of them in another folder: {photos.tree}" in printed
    listed = read(photos.folder / "corrected.csv").set_index("file")
    assert listed["corrected"].to_dict() == {
        f"{NAMES[k % 2]}/{k}.png": NAMES[k % 2 * (k not in (1, 5))] for k in range(6)
    }
    assert listed["decision"].to_dict() == {"cat/0.png": "keep", "dog/5.png": "other"} | {
        name: "" for name in listed.index if name not in ("cat/0.png", "dog/5.png")
    }


def test_images_without_a_label_are_left_out_and_a_new_class_has_a_folder(photos: SimpleNamespace) -> None:
    with Decisions(photos.folder / "decisions.sqlite") as decisions:
        decisions.decide(2, None, given=0, suggested=0, verdict="several", id="cat/2.png")
        decisions.decide(3, None, given=1, suggested=1, new_class="ferret", id="dog/3.png")
    printed = call("review", photos.folder, "--copy-to", photos.tree)
    made = {file.relative_to(photos.tree).as_posix() for file in photos.tree.rglob("*.png")}
    assert made == {"cat/0.png", "cat/1.png", "ferret/3.png", "cat/4.png", "cat/5.png"}
    assert f"5 images by final label, 3 of them in another folder: {photos.tree}" in printed
    assert "1 image without a label is not among them." in printed
    listed = read(photos.folder / "corrected.csv").set_index("file")["corrected"]
    assert (listed["cat/2.png"], listed["dog/3.png"]) == ("", "ferret")


def test_a_tree_that_cannot_be_made_is_refused(
    photos: SimpleNamespace, case: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def complaint(*words: object) -> str:
        return fails(monkeypatch, capsys, "review", *words)

    decide(case, row_1=other(1))
    assert "only image files are copied" in complaint(case.folder, "--copy-to", photos.tree)
    assert "where it would pass for a class" in complaint(photos.folder, "--copy-to", photos.source / "new")
    assert "makes a new folder" in complaint(photos.folder, "--copy-to", photos.folder)
    (photos.source / "cat/2.png").unlink()
    assert "There is no image cat/2.png in" in complaint(photos.folder, "--copy-to", photos.tree)
    assert not photos.tree.exists()


def judge(case: SimpleNamespace, row: int, **said: str) -> None:
    """Say of a row of the table why it has no label, or which new class it is of."""
    k, found = case.at[row], case.examined.found
    with Decisions.of(case.examined, case.folder / "decisions.sqlite") as decisions:
        decisions.decide(k, None, given=int(found.labels[k]), suggested=int(found.suggested[k]), id=row, **said)


def test_what_has_no_single_label_is_empty_in_the_users_table_and_a_new_class_is_named(case: SimpleNamespace) -> None:
    judge(case, 0, verdict="none")
    judge(case, 5, verdict="ambiguous")
    judge(case, 6, verdict="several")
    judge(case, 8, new_class="guinea pig")
    call("review", case.folder, "--corrected", case.out)
    written = read(case.out)
    rows = [0, 5, 6, 8]
    assert written.loc[rows, "kind"].tolist() == ["", "", "", "guinea pig"]
    assert written.loc[rows, "given_label"].tolist() == case.frame.loc[rows, "kind"].tolist()
    assert written.loc[rows, "decision"].tolist() == ["none", "ambiguous", "several", "new class"]
    assert "so it has no label" in written.loc[0, "reason"]
    assert Table(case.out, "kind").given[0] is None  # read again, it has no label to learn from
    assert written.loc[1, "kind"] == other(1)


def test_a_reviewers_verdict_stands_above_an_audit_and_a_skipped_label_below() -> None:
    audited = {0: ("checked", 1), 1: ("checked", 1), 2: ("none", None)}
    decided = {0: ("none", None), 1: ("skip", None), 2: ("skip", None), 3: ("skip", None)}
    assert above(audited, decided) == {
        0: ("none", None),
        1: ("checked", 1),
        2: ("none", None),
        3: ("skip", None),
    }


@pytest.mark.parametrize(
    ("values", "new", "expected"),
    [
        (pd.Series([1, 2, 1]), "7", pd.Series([pd.NA, 7, 1], dtype="Int64")),
        (pd.Series([1, 2, 1]), "sofa", pd.Series([None, "sofa", "1"], dtype=object)),
        (pd.Series([True, False, True]), "sofa", pd.Series([None, "sofa", "True"], dtype=object)),
        (pd.Series([1.0, 2.0, 1.0]), "", pd.Series([np.nan, 2.0, 1.0])),
        (pd.Series([True, False, True]), "", pd.Series([pd.NA, False, True], dtype="boolean")),
        (pd.Series(["1", "2", "1"], dtype="category"), "sofa", pd.Series([None, "sofa", "1"])),
    ],
)
def test_a_column_of_any_type_holds_new_classes_and_no_label(
    values: pd.Series, new: str, expected: pd.Series, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"kind": values, "x": [1, 2, 3]})
    given = np.array(label_names(values), dtype=object)
    names = np.array(["", new or given[1], given[2]], dtype=object)
    empty = np.array([""] * 3, dtype=object)
    final = FinalLabels(np.array([-1, -1, 0]), names, given, empty, empty)
    written = OwnTable(frame, "kind", np.arange(3)).corrected(final)
    assert [None if pd.isna(one) else one for one in written["kind"]] == [
        None if pd.isna(one) else one for one in expected
    ]
    written.to_parquet(tmp_path / "t.parquet")
    assert pd.read_parquet(tmp_path / "t.parquet")["given_label"].tolist() == values.tolist()


def test_the_pages_export_is_what_the_command_writes_whatever_was_decided_meanwhile(case: SimpleNamespace) -> None:
    with Decisions.of(case.examined, case.folder / "decisions.sqlite") as decisions:
        review = Review(case.examined, decisions, folder=case.folder)
        page = TestClient(application(review, "t"), base_url="http://127.0.0.1/t/")
        before = page.get("export/corrected.csv").text
        assert list(pd.read_csv(io.StringIO(before)).columns) == [
            *("note", "kind", "given_label", "decision", "reason", "title")
        ]
        k = case.at[5]
        given = int(case.examined.found.labels[k])
        for said in ({"label": 1 - given}, {"label": None, "verdict": "none"}, {"label": given}):
            answer = page.post("decide", json={"row": k, "tab": "one"} | said)
            assert answer.status_code == 200
            call("review", case.folder, "--corrected", case.out, "--overwrite")
            now = page.get("export/corrected.csv").text
            assert now == case.out.read_text()
            assert now != before
            before = now
        parquet = pd.read_parquet(io.BytesIO(page.get("export/corrected.parquet").content))
        assert parquet["kind"].tolist() == read(case.out)["kind"].tolist()
