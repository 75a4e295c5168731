"""Decisions applied to the calibrator: on the server, by the command, and what the folder holds then."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

import truelabel as tl
from truelabel.cli.app import app, main
from truelabel.labels.examined import Examined
from truelabel.labels.issues import examine
from truelabel.labels.support import support
from truelabel.review import Decisions
from truelabel.review.learning import Background, suspects
from truelabel.review.nearest import Nearest
from truelabel.review.server import Review, application

TOKEN = "secret-token"
Make = Callable[..., Examined]


def page_of(review: Review) -> TestClient:
    return TestClient(application(review, TOKEN), base_url=f"http://127.0.0.1:8000/{TOKEN}/", follow_redirects=False)


def decide(page: TestClient, row: int, label: int | None) -> dict[str, object]:
    answer = page.post("decide", json={"row": row, "label": label, "tab": "one"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def ended(page: TestClient) -> dict[str, object]:
    """Wait until learning is over and return how it stands."""
    for _ in range(6000):
        told = page.get("apply").json()
        if told["state"] != "running":
            return told
        time.sleep(0.02)
    raise AssertionError(told)


class Refining:
    """Takes the place of `Examined.refined`: waits until it may go on, and believes the trusted labels, no others."""

    def __init__(self) -> None:
        self.may_go_on, self.heard, self.error = threading.Event(), [], None

    def __call__(self, before: Examined, rows: np.ndarray, labels: np.ndarray, **settings: object) -> Examined:
        self.heard.append((rows.tolist(), labels.tolist(), settings))
        assert self.may_go_on.wait(30)
        if self.error is not None:
            raise self.error
        found = before.found
        probs = found.probs.copy()
        probs[rows] = np.eye(probs.shape[1])[labels]
        probs[-4:] = np.eye(probs.shape[1])[(found.labels[-4:] + 1) % probs.shape[1]]  # four that nobody doubted
        p_right = probs[np.arange(len(probs)), found.labels]
        table = found.table.sort_index().assign(p_wrong=1 - p_right).iloc[np.argsort(p_right, kind="stable")]
        learned = replace(found, table=table, probs=probs, transition=0.5 * np.eye(len(found.class_names)))
        return replace(before, found=learned, about=before.about | {"trusted": len(rows)})


@pytest.fixture
def refining(monkeypatch: pytest.MonkeyPatch) -> Iterator[Refining]:
    stand_in = Refining()
    monkeypatch.setattr(Examined, "refined", lambda self, *words, **settings: stand_in(self, *words, **settings))
    yield stand_in
    stand_in.may_go_on.set()


@pytest.fixture
def folder(made_up: Make, tmp_path: Path) -> Path:
    return made_up(40).write(tmp_path / "folder")


@pytest.fixture
def page(folder: Path, refining: Refining) -> TestClient:
    examined = Examined.read(folder)
    return page_of(Review(examined, Decisions.of(examined, folder / "decisions.sqlite"), folder=folder))


def test_it_says_how_it_stands_from_beginning_to_end(page: TestClient, refining: Refining) -> None:
    assert page.get("apply").json() == {"state": "idle", "said": "", "learned": 0}
    first, second, third = page.get("suspects").json()["rows"][:3]
    decide(page, first, 0)
    decide(page, second, 3)
    decide(page, third, None)
    begun = page.post("apply")
    assert begun.status_code == 202
    running = {"state": "running", "said": "Learning from 2 decisions…", "learned": 0}
    assert begun.json() == page.get("apply").json() == running
    refining.may_go_on.set()
    said = "Learned: 22 labels still suspicious, 18 before."
    assert ended(page) == {"state": "done", "said": said, "learned": 1}
    ((rows, labels, settings),) = refining.heard
    assert (rows, labels) == tuple(map(list, zip(*sorted([(first, 0), (second, 3)]), strict=True)))
    assert settings.pop("left_out").tolist() == []
    assert settings == {"device": "auto", "progress": False}


def test_one_at_a_time(page: TestClient, refining: Refining) -> None:
    decide(page, 0, 1)
    assert page.post("apply").status_code == 202
    refused = page.post("apply")
    assert refused.status_code == 409
    assert refused.json()["detail"] == "Decisions are being learned from already; wait until that is done."
    refining.may_go_on.set()
    ended(page)
    assert page.post("apply").status_code == 202
    assert ended(page)["learned"] == 2
    assert len(refining.heard) == 2


def test_without_a_decision_there_is_nothing_to_learn_from(page: TestClient, refining: Refining) -> None:
    decide(page, 0, None)
    refused = page.post("apply")
    assert refused.status_code == 422
    assert refused.json()["detail"] == "No label is decided yet; decide about some labels first."
    assert page.get("apply").json()["state"] == "idle"
    assert refining.heard == []


def test_without_the_token_nothing_begins(page: TestClient, refining: Refining) -> None:
    decide(page, 0, 1)
    assert page.post("http://127.0.0.1:8000/apply").status_code == 403
    assert page.post("apply", headers={"origin": "http://evil.example"}).status_code == 403
    assert refining.heard == []


def test_while_it_learns_one_goes_on_and_then_the_rest_is_ranked_anew(page: TestClient, refining: Refining) -> None:
    before = page.get("suspects").json()
    accepted, kept, skipped, meanwhile = before["rows"][:4]
    decide(page, accepted, before["suggested"][0])
    decide(page, kept, before["given"][1])
    decide(page, skipped, None)
    page.post("apply")
    assert page.get("suspects").json()["rows"] == before["rows"]
    assert page.get("changes").json()["learned"] == 0
    assert decide(page, meanwhile, before["given"][3])["learned"] == 0
    refining.may_go_on.set()
    ended(page)
    assert page.get("changes").json()["learned"] == 1
    after = page.get("suspects").json()
    assert after["learned"] == 1
    assert set(after["rows"]) == set(before["rows"]) | {36, 37, 38, 39}
    at = {row: k for k, row in enumerate(after["rows"])}
    assert after["p_wrong"] == sorted(after["p_wrong"], reverse=True)
    assert after["p_wrong"][at[accepted]] == 1
    assert (at[kept], after["p_wrong"][at[kept]]) == (len(at) - 1, 0)
    assert after["suggested"][at[39]] == (after["given"][at[39]] + 1) % 4
    assert {one["row"]: one["decision"] for one in after["changes"]} == {
        accepted: "accept",
        kept: "keep",
        skipped: "skip",
        meanwhile: "keep",
    }
    assert page.get(f"item/{kept}").json()["likely"][0] == [before["given"][1], 1.0]
    assert decide(page, 39, after["suggested"][at[39]])["decision"] == "accept"


def test_the_folder_is_written_anew_and_begun_with_next_time(
    page: TestClient, folder: Path, refining: Refining
) -> None:
    rows = page.get("suspects").json()["rows"][:2]
    for row in rows:
        decide(page, row, 0)
    old = Examined.read(folder)
    refining.may_go_on.set()
    page.post("apply")
    ended(page)
    new = Examined.read(folder)
    assert new.about == old.about | {"trusted": 2}
    np.testing.assert_array_equal(new.found.transition, 0.5 * np.eye(4))
    np.testing.assert_array_equal(new.found.labels, old.found.labels)
    again = page_of(Review(new, Decisions.of(new, folder / "decisions.sqlite"), most=3))
    listed = again.get("suspects").json()
    assert set(rows) < set(listed["rows"])
    assert len(listed["rows"]) == 2 + 3
    assert len(listed["changes"]) == 2


def test_what_fails_is_said_and_nothing_changes(page: TestClient, folder: Path, refining: Refining) -> None:
    decide(page, 0, 1)
    before, about = page.get("suspects").json(), (folder / "examined.json").read_bytes()
    refining.error = ValueError("the features are gone.")
    refining.may_go_on.set()
    page.post("apply")
    told = ended(page)
    assert told == {"state": "failed", "said": "Nothing was learned: the features are gone.", "learned": 0}
    assert page.get("suspects").json() == before
    assert (folder / "examined.json").read_bytes() == about
    refining.error = None
    page.post("apply")
    assert ended(page)["state"] == "done"


def test_a_folder_that_cannot_be_written_is_said_so(page: TestClient, folder: Path, refining: Refining) -> None:
    decide(page, 0, 1)
    (folder / "predictions.parquet").unlink()
    refining.may_go_on.set()
    page.post("apply")
    told = ended(page)
    assert told["state"] == "failed"
    assert "holds no examined labels to renew" in told["said"]
    assert page.get("suspects").json()["learned"] == 0


def test_work_is_broken_off_when_the_server_ends() -> None:
    work, begun, left = Background(), threading.Event(), []

    def long() -> str:
        try:
            begun.set()
            for _ in iter(int, 1):
                time.sleep(0.001)
        finally:
            left.append(True)
        return "never"

    assert work.start(long, "Working…")
    assert begun.wait(10)
    work.stop()
    assert left == [True]
    assert work.stands == ("failed", "Nothing was learned: the server was stopped.")
    work.stop()


def test_before_anything_is_learned_suspects_are_those_ranked(made_up: Make, tmp_path: Path) -> None:
    examined = made_up(40)
    with Decisions.of(examined, tmp_path / "d.sqlite") as decisions:
        decisions.decide(39, 0, given=0, suggested=0)
        assert suspects(examined, decisions, 0.5, 7).tolist() == examined.found.ranked(0.5)[:7].tolist()


@pytest.mark.parametrize(("view", "kind"), [("b", "columns"), ("a", "unit"), ("b", "whole")])
def test_the_neighbours_shown_are_those_that_support_was_counted_on(
    made_up: Make, tmp_path: Path, view: str, kind: str
) -> None:
    rng = np.random.default_rng(3)
    base = made_up(60)
    views = {"a": rng.normal(size=(60, 3)), "b": rng.normal(size=(60, 3)) * [1, 50, 0.02]}
    said = tl.Predictions(base.predictions.probs, views, labels=base.found.labels, class_names=base.found.class_names)
    judge = SimpleNamespace(report_=SimpleNamespace(views={view: kind}))
    counted = support(said, base.found.suggested, judge)
    table = base.found.table.assign(support=counted[base.found.table.index], id=base.found.table.index)
    read = Examined.read(
        tl.labels.examined(said, replace(base.found, table=table, calibrator=judge)).write(tmp_path / "folder")
    )
    assert read.neighbour_view == (view, kind)
    near = Nearest(read)
    backed = [sum(read.found.labels[list(near.of(row))] == read.found.suggested[row]) for row in range(60)]
    assert backed == read.found.table.sort_index()["support"].tolist()
    assert len({tuple(near.of(row)) for row in range(60)}) > 1


def test_a_view_that_is_not_there_is_not_looked_for(made_up: Make) -> None:
    examined = made_up(12)
    for noted in ({"view": "gone", "scale": "unit"}, {"view": "features", "scale": "huge"}, {"view": ["x"]}, "x", None):
        assert replace(examined, about={"neighbours": noted}).neighbour_view == ("features", "whole")


def test_the_command_does_it_without_a_server(made_up: Make, tmp_path: Path) -> None:
    """Ninety labels in four blobs, of which the first fifth are wrong; nine of these are looked at."""
    folder = made_up(90, suspects=0.2).write(tmp_path / "folder")
    examined = Examined.read(folder)
    with Decisions.of(examined, folder / "decisions.sqlite") as decisions:
        for row in range(9):
            decisions.decide(row, row % 4, given=int(examined.found.labels[row]), suggested=row % 4, id=f"i{row}")
    kept = (folder / "decisions.sqlite").read_bytes()
    result = CliRunner().invoke(app, ["review", str(folder), "--apply"], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout == (
        "Learned: 9 labels still suspicious, 9 before.\n"
        f"Judged anew by 9 trusted labels, with the calibrator: {folder}\n"
    )
    learned = Examined.read(folder)
    assert (learned.about["trusted"], learned.about["seed"]) == (9, 0)
    np.testing.assert_array_equal(learned.found.probs[:9], np.eye(4)[np.arange(9) % 4])
    assert (learned.found.suggested == np.arange(90) % 4).all()
    npc = tl.load(folder / "calibrator.safetensors")
    np.testing.assert_allclose(npc.transition_matrix_, learned.found.transition)
    assert (npc.predict(learned.predictions) == np.arange(90) % 4).mean() > 0.95
    assert (folder / "decisions.sqlite").read_bytes() == kept


def test_what_the_command_cannot_apply_is_said_in_one_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*words: object) -> str:
        monkeypatch.setattr(sys, "argv", ["truelabel", "review", *map(str, words), "--apply"])
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == 1
        return capsys.readouterr().err.strip()

    assert "Nothing is decided yet: there is no" in said(folder)
    Decisions.of(Examined.read(folder), folder / "decisions.sqlite").close()
    assert said(folder).endswith("decisions.sqlite; decide about some labels first.")
    assert "--apply writes a folder anew" in said(folder / "predictions.parquet")
    assert "truelabel review cleaned --apply" in " ".join(CliRunner().invoke(app, ["review", "--help"]).stdout.split())


def test_nothing_is_learned_from_what_has_no_single_label(made_up: Make) -> None:
    examined = made_up(120)
    found = examined.found
    left_out = np.array([3, 40, 41])
    rows = np.setdiff1d(found.ranked()[:10], left_out)
    labels = found.suggested[rows]
    refined = examined.refined(rows, labels, left_out=left_out, progress=False)
    assert (refined.about["trusted"], refined.about["left_out"]) == (len(rows), 3)
    assert refined.found.wrong.total.of == 117
    assert sorted(refined.found.table.index) == list(range(120))
    assert refined.found.table["id"].loc[40] == "i40"
    np.testing.assert_array_equal(refined.found.supported[left_out], found.labels[left_out])
    np.testing.assert_allclose(refined.found.probs.sum(axis=1), 1, atol=1e-5)
    kept = np.setdiff1d(np.arange(120), left_out)
    alone = examine(examined.predictions[kept], trusted=known(rows, labels, 120)[kept], progress=False)
    np.testing.assert_allclose(refined.found.probs[kept], alone.probs, atol=1e-5)
    other = examined.predictions.labels.copy()
    other[left_out] = (other[left_out] + 1) % 4  # whatever their labels are, nothing changes
    said = examined.predictions.replace(labels=other)
    again = replace(examined, predictions=said, found=replace(found, labels=other))
    same = again.refined(rows, labels, left_out=left_out, progress=False)
    np.testing.assert_allclose(same.found.probs[kept], refined.found.probs[kept], atol=1e-5)
    with pytest.raises(ValueError, match="there is no row 120 to leave out"):
        examined.refined(rows, labels, left_out=[120])


def known(rows: np.ndarray, labels: np.ndarray, n: int) -> np.ndarray:
    trusted = np.full(n, -1)
    trusted[rows] = labels
    return trusted


def test_the_page_leaves_out_what_has_no_single_label(page: TestClient, refining: Refining, folder: Path) -> None:
    rows = page.get("suspects").json()["rows"]
    decide(page, rows[0], 0)
    for row, said in zip(rows[1:4], ({"verdict": "none"}, {"verdict": "several"}, {"new_class": "gnu"}), strict=True):
        assert page.post("decide", json={"row": row, "label": None, "tab": "one"} | said).status_code == 200
    decide(page, rows[4], None)
    page.post("apply")
    refining.may_go_on.set()
    assert ended(page)["state"] == "done"
    ((learned, _, settings),) = refining.heard
    assert learned == [rows[0]]
    assert settings["left_out"].tolist() == sorted(rows[1:4])
