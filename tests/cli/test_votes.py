"""Labels of several annotators through `truelabel issues`, `clean`, `report`, `review` and `audit`."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import truelabel as tl
from shell import call, fails
from truelabel.labels import Examined, Votes, correct_labels
from truelabel.review import Decisions

N = 120
PEOPLE = ["ann", "bob", "cleo", "dan"]
NAMES = np.array(["cat", "dog"])


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Two blobs, each point labelled by three of four annotators, in all forms that votes come in."""
    where = tmp_path_factory.mktemp("crowd")
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=N)
    x = (rng.normal(size=(N, 4)) + 4 * truth[:, None]).round(3).astype(np.float32)
    right = rng.random((N, 4)) < [0.6, 0.6, 0.7, 0.95]
    matrix = np.where(right, truth[:, None], 1 - truth[:, None])
    matrix[rng.random((N, 4)).argsort(axis=1) >= 3] = -1
    ids = [f"i{k}" for k in range(N)]
    rows, columns = np.nonzero(matrix >= 0)
    long = {"image": np.array(ids)[rows], "worker": np.array(PEOPLE)[columns], "kind": NAMES[matrix[rows, columns]]}
    pd.DataFrame(long).to_csv(where / "votes.csv", index=False)
    table = pd.DataFrame(x, columns=["a", "b", "c", "d"]).assign(image=ids)
    for j, name in enumerate(PEOPLE):
        table[name] = np.where(matrix[:, j] >= 0, NAMES[matrix[:, j]], "")
    table.to_csv(where / "table.csv", index=False)
    votes = Votes(matrix, annotators=PEOPLE, class_names=NAMES)
    tl.Predictions(np.full((N, 2), 0.5), x, class_names=NAMES, ids=ids).to_parquet(where / "p.parquet")
    return SimpleNamespace(where=where, truth=truth, majority=votes.majority(), votes=votes)


@pytest.fixture(scope="module")
def saved(crowd: SimpleNamespace) -> str:
    """What `truelabel issues` prints about them; the rest is in files."""
    return call(
        *("issues", crowd.where / "p.parquet", "--votes", crowd.where / "votes.csv"),
        *("--votes-columns", "image,worker,kind", "--out", crowd.where / "i.csv", "--save", crowd.where / "saved"),
    )


def test_issues_judges_labels_by_votes_and_annotators_by_each_other(crowd: SimpleNamespace, saved: str) -> None:
    table = pd.read_csv(crowd.where / "i.csv").set_index("id")
    majority = NAMES[crowd.majority]
    assert table.loc[[f"i{k}" for k in range(N)], "given"].tolist() == majority.tolist()
    suggested = table.loc[[f"i{k}" for k in range(N)], "suggested"].to_numpy()
    assert np.mean(suggested == NAMES[crowd.truth]) > np.mean(crowd.majority == crowd.truth) + 0.05
    assert {"votes", "disagreement", "ambiguity", "needs_vote", "best_annotator"} <= set(table.columns)
    people = pd.read_csv(crowd.where / "i-annotators.csv").set_index("annotator")
    assert people["quality"].idxmax() == "dan"
    assert "Annotators: 4; lowest quality: " in saved
    assert str(crowd.where / "i-annotators.csv") in saved


def test_report_shows_the_annotators(crowd: SimpleNamespace, saved: str, tmp_path: Path) -> None:
    assert saved
    call("report", crowd.where / "saved", "--out", tmp_path / "r.html", "--map", "none")
    page = (tmp_path / "r.html").read_text()
    assert "Who labelled, and how well" in page
    assert "Mistakes that most annotators share do not show in their votes" in page
    assert "360 labels of 4 annotators for 120 instances" in page
    words = ["--votes", crowd.where / "votes.csv", "--votes-columns", "image,worker,kind", "--map", "none", "--json"]
    shown = json.loads(call("report", crowd.where / "p.parquet", *words, "--out", tmp_path / "d.html"))
    assert shown["wrong"]["number"] == pytest.approx(Examined.read(crowd.where / "saved").found.wrong.total.number)
    assert "Who labelled, and how well" in (tmp_path / "d.html").read_text()


def test_a_review_of_them_is_learned_from_and_corrected(crowd: SimpleNamespace, saved: str, tmp_path: Path) -> None:
    assert saved
    examined = Examined.read(crowd.where / "saved")
    row = int(examined.found.ranked()[0])
    with Decisions.of(examined, crowd.where / "saved" / "decisions.sqlite") as decisions:
        given, suggested = int(examined.found.labels[row]), int(examined.found.suggested[row])
        decisions.decide(row, given, given=given, suggested=suggested)
    printed = call("review", crowd.where / "saved", "--apply", "--corrected", tmp_path / "c.csv")
    assert "Judged anew by 1 trusted labels" in printed
    after = Examined.read(crowd.where / "saved").found
    assert after.consensus is not None
    assert after.suggested[row] == examined.found.labels[row]
    corrected = pd.read_csv(tmp_path / "c.csv").set_index("id")
    assert corrected.loc[f"i{row}", "corrected"] == NAMES[crowd.majority[row]]
    assert "Drawn: 5 of 120 labels" in call("audit", crowd.where / "saved", "--sample", 5)


def test_clean_takes_a_column_per_annotator(crowd: SimpleNamespace, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [word for name in PEOPLE for word in ("--label", name)]
    printed = call("clean", crowd.where / "table.csv", "--id", "image", *words, "--out", out)
    assert "Judged with: 360 votes of 4 annotators" in printed
    assert "Judged by: 4 columns (a, b, c, d)" in printed
    table = pd.read_csv(out / "corrected.csv", keep_default_na=False)
    given = pd.read_csv(crowd.where / "table.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(table[given.columns], given)
    assert list(table.columns)[-4:] == ["label", "given_label", "decision", "reason"]
    right = NAMES[crowd.truth]
    assert (table["label"] == right).sum() > (table["given_label"] == right).sum()
    examined = Examined.read(out)
    assert examined.found.consensus.annotator_table.set_index("annotator")["quality"].idxmax() == "dan"
    changed = correct_labels(examined.found).changes
    assert len(changed) == (table["label"] != table["given_label"]).sum() > 0
    assert tl.load(out / "calibrator.safetensors").predict(examined.predictions).shape == (N,)
    assert "Who labelled, and how well" in (out / "report.html").read_text()


def test_clean_takes_votes_beside_the_labels(crowd: SimpleNamespace, tmp_path: Path) -> None:
    table = pd.read_csv(crowd.where / "table.csv").drop(columns=PEOPLE).assign(kind=NAMES[crowd.truth])
    table.loc[:9, "kind"] = NAMES[1 - crowd.truth[:10]]
    table.to_csv(tmp_path / "t.csv", index=False)
    votes = ["--votes", crowd.where / "votes.csv", "--votes-columns", "image,worker,kind"]
    call("clean", tmp_path / "t.csv", "--id", "image", "--label", "kind", *votes, "--out", tmp_path / "out")
    corrected = pd.read_csv(tmp_path / "out" / "corrected.csv")
    assert corrected["given_label"].tolist() == table["kind"].tolist()
    assert (corrected["kind"][:10] == NAMES[crowd.truth[:10]]).sum() >= 8


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["issues", "p.parquet", "--counts"], "say what --votes holds; name that file, too"),
        (["issues", "p.parquet", "--votes", "v.txt"], "v.txt holds votes in none of the forms"),
        (["issues", "p.parquet", "--votes", "gone.csv"], "there is no file gone.csv"),
        (["issues", "p.parquet", "--annotators", "a.csv"], "--annotators says where those of --votes go"),
        (["issues", "p.parquet", "--votes", "votes.csv"], "votes.csv"),
        (["report", "saved", "--votes", "votes.csv"], "saved was examined already"),
        (["clean", "table.csv", "--label", "ann", "--label", "ann"], "named twice; name each annotator's once"),
        (["clean", "table.csv", "--label", "ann", "--label", "who"], "has no column 'who'"),
        (
            ["clean", "table.csv", "--label", "ann", "--label", "bob", "--votes", "votes.csv"],
            "in several columns already",
        ),
    ],
)
def test_mistakes_give_one_line(
    words: list[str],
    complaint: str,
    crowd: SimpleNamespace,
    saved: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(crowd.where)
    assert complaint in fails(monkeypatch, capsys, *words)
    assert not Path("issues.csv").exists()
    assert not Path("table-cleaned").exists()
