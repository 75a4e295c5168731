"""What the audit's server tells, records and refuses."""

import copy
import errno
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient

from truelabel.labels import Audit, audit
from truelabel.labels.examined import Examined
from truelabel.labels.items import Items
from truelabel.review import audit_page
from truelabel.review.audit_page import AuditPage
from truelabel.review.audit_server import STATIC, application
from truelabel.review.serving import serve_audit

TOKEN = "secret-token"
ADDRESS = f"http://127.0.0.1:8000/{TOKEN}/"
COMMAND = "truelabel audit cleaned --corrected corrected.csv"
KILLS = 3


def client_of(made: Audit, items: Items, path: Path, **settings: Any) -> TestClient:
    app = application(AuditPage(made, items, path, **settings), COMMAND, TOKEN)
    return TestClient(app, base_url=ADDRESS, follow_redirects=False)


@pytest.fixture
def shown(folders: dict[str, Path]) -> Examined:
    return Examined.read(folders["image"])


@pytest.fixture
def made(shown: Examined) -> Audit:
    return audit(shown.found, sample=12)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def page(made: Audit, shown: Examined, path: Path) -> TestClient:
    return client_of(made, shown.items, path)


def answer(page: TestClient, row: int, code: int, tab: str = "one") -> httpx.Response:
    return page.post("answer", json={"row": row, "answer": code, "tab": tab})


def undo(page: TestClient, tab: str = "one") -> int | None:
    return page.post("undo", json={"tab": tab}).json()["row"]


def all_that_a_page_gets(page: TestClient, rows: list[int]) -> list[bytes]:
    paths = ["", *STATIC, "audit", *(f"item/{row}" for row in rows), *(f"image/{row}/large" for row in rows)]
    got = [page.get(path) for path in paths]
    assert {one.status_code for one in got} == {200}
    return [one.content for one in got] + [answer(page, rows[0], 0).content, page.get("audit").content]


@pytest.mark.parametrize("kind", ["image", "text", "row", "name"])
def test_nothing_that_the_page_gets_depends_on_what_a_model_believes(
    kind: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    shown = Examined.read(folders[kind])
    made = audit(shown.found, sample=12)
    other = copy.deepcopy(made)
    assert other.suggested is not None
    other.suggested = (other.suggested + 1) % 4
    other.p_wrong, other.stratum = 1 - other.p_wrong, other.stratum[::-1].copy()
    rows = made.rows.tolist()
    pages = [client_of(one, shown.items, tmp_path / f"{k}.jsonl") for k, one in enumerate((made, other))]
    if kind != "image":
        assert {page.get(f"image/{rows[0]}/large").status_code for page in pages} == {404}
        kept = [[page.get("audit").content, *(page.get(f"item/{row}").content for row in rows)] for page in pages]
    else:
        kept = [all_that_a_page_gets(page, rows) for page in pages]
    assert kept[0] == kept[1]
    assert set(pages[0].get("audit").json()) == {"kind", "instances", "classes", "rows", "ids", "given", "answers"}
    assert set(pages[0].get(f"item/{rows[0]}").json()) == {"row", "fields"}
    for path in ("suspects", "changes", "export/corrected.csv"):
        assert pages[0].get(path).status_code == 404


def test_before_an_answer_there_is_no_verdict(page: TestClient) -> None:
    assert page.get("verdict").json() == {
        "answered": 0,
        "lines": ["No label is checked yet."],
        "command": COMMAND,
    }


def test_only_what_was_drawn_is_shown_and_answered(page: TestClient, made: Audit) -> None:
    stranger = int(np.setdiff1d(np.arange(len(made)), made.rows)[0])
    for got in (page.get(f"item/{stranger}"), page.get(f"image/{stranger}/large"), answer(page, stranger, 0)):
        assert got.status_code == 404
        assert got.json() == {"detail": f"Instance {stranger} is not one of those to check."}


def test_instances_come_in_the_audits_order_with_their_given_labels(page: TestClient, made: Audit) -> None:
    told = page.get("audit").json()
    assert told["rows"] == made.rows.tolist()
    assert told["given"] == made.given[made.rows].tolist()
    assert told["ids"] == [f"i{row}" for row in made.rows]
    assert told["answers"] == {}


def test_each_answer_is_in_the_file_when_the_page_hears_of_it(page: TestClient, made: Audit, path: Path) -> None:
    standing = {}
    for row, code in zip(made.rows.tolist(), (0, 3, -1, -2), strict=False):
        told = answer(page, row, code)
        assert told.status_code == 200
        standing[row] = code
        assert Audit.read(path).answers == standing
        assert told.json() == {"answers": {str(row): code for row, code in standing.items()}}


def test_the_file_is_what_the_audit_itself_writes(page: TestClient, made: Audit, path: Path, tmp_path: Path) -> None:
    answer(page, int(made.rows[0]), 2)
    assert path.read_bytes() == made.write(tmp_path / "same.jsonl").read_bytes()


@pytest.mark.parametrize("code", [4, -3, 1.5, "cat", None])
def test_what_is_no_answer_is_refused(page: TestClient, made: Audit, path: Path, code: object) -> None:
    assert answer(page, int(made.rows[0]), code).status_code == 422
    assert not path.exists()


def test_an_undone_answer_is_open_again_and_stays_in_the_history(page: TestClient, made: Audit, path: Path) -> None:
    first, second = made.rows[:2].tolist()
    answer(page, first, 1)
    answer(page, second, 2)
    assert [undo(page), undo(page), undo(page)] == [second, first, None]
    answer(page, first, 3)
    kept = Audit.read(path)
    assert kept.history == {first: [1, None, 3], second: [2, None]}
    assert kept.answers == {first: 3}


def test_a_tab_overwrites_and_undoes_nothing_of_another(page: TestClient, made: Audit, path: Path) -> None:
    first, second = made.rows[:2].tolist()
    answer(page, first, 1, "one")
    refused = answer(page, first, 2, "two")
    assert refused.status_code == 409
    assert refused.json()["detail"].startswith("This label was answered in another tab meanwhile")
    answer(page, second, 2, "two")
    assert undo(page, "one") == first
    assert undo(page, "one") is None
    assert Audit.read(path).answers == {second: 2}


def test_what_was_answered_earlier_is_undone_unless_the_sheet_has_it(made: Audit, shown: Examined, path: Path) -> None:
    first, second, third = made.rows[:3].tolist()
    made.answer([third, first, second], [0, 0, 0])
    page = client_of(made, shown.items, path, fixed={second})
    assert [undo(page), undo(page), undo(page)] == [third, first, None]
    assert Audit.read(path).answers == {second: 0}


def test_an_answer_that_cannot_be_written_does_not_stand(
    page: TestClient, made: Audit, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = made.rows[:2].tolist()
    answer(page, first, 1)

    def full(*parts: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(audit_page, "write", full)
        refused = answer(page, second, 2)
        assert refused.status_code == page.post("undo", json={"tab": "one"}).status_code == 507
        assert "No space left on device" in refused.json()["detail"]
    assert page.get("audit").json()["answers"] == {str(first): 1}
    assert answer(page, second, 2).status_code == 200
    assert Audit.read(path).answers == {first: 1, second: 2}


def test_the_verdict_is_in_plain_words_and_names_the_next_command(page: TestClient, made: Audit) -> None:
    truth = np.arange(len(made)) % 4  # as the instances are made
    for row in made.rows[:8].tolist():
        answer(page, row, int(truth[row]))
    answer(page, int(made.rows[8]), -1)
    told = page.get("verdict").json()
    assert told["answered"] == 9
    assert told["command"] == COMMAND
    assert told["lines"][0] == "You checked 9 of 40 labels. For 1 of them you could not tell."
    total = made.verdict().wrong.total
    assert told["lines"][1].startswith(f"About {total.number:.0f} of 40 labels are wrong ({total.share:.1%}): between ")
    assert f"between {total.low:.0f} and {total.high:.0f}, with a probability of 90%" in told["lines"][1]
    assert told["lines"][2].startswith("Corrections are safe" if made.verdict().safe else "It is not proven that")
    undo(page)
    assert page.get("verdict").json()["lines"][0] == "You checked 8 of 40 labels."


def test_corrections_that_are_proven_are_called_safe(shown: Examined, path: Path) -> None:
    made = audit(shown.found, sample=40)
    page = client_of(made, shown.items, path)
    for row in range(40):
        answer(page, row, row % 4)
    wrong = int((made.given != np.arange(40) % 4).sum())
    lines = page.get("verdict").json()["lines"]
    assert lines[1] == f"{wrong} of 40 labels are wrong ({wrong / 40:.1%})."
    assert lines[2].startswith(f"Corrections are safe: if the {wrong} labels")


def test_who_could_tell_of_none_gets_no_number(page: TestClient, made: Audit) -> None:
    for row in made.rows[:3].tolist():
        answer(page, row, -1)
    lines = page.get("verdict").json()["lines"]
    assert lines[0] == "You checked 3 of 40 labels. For 3 of them you could not tell."
    assert lines[1] == "How many labels are wrong stays open, for you could tell of none."


def test_without_the_token_nothing_is_told_and_nothing_recorded(page: TestClient, made: Audit) -> None:
    root = "http://127.0.0.1:8000/wrong/"
    row = int(made.rows[0])
    for path in ("", "audit", "verdict", f"item/{row}"):
        assert page.get(root + path).status_code == 403
    assert page.post(f"{root}answer", json={"row": row, "answer": 0, "tab": "one"}).status_code == 403
    assert page.get("audit").json()["answers"] == {}


def test_no_answered_answer_is_lost_by_a_kill(made_up: Callable[..., Examined], path: Path) -> None:
    shown = made_up(400)
    audit(shown.found, sample=200).write(path)
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["truelabel.review.audit_server", "truelabel.labels.examined", "uvicorn"])
    answered: dict[int, int] = {}
    for kill in range(KILLS):
        heard, told = processes.Pipe(duplex=False)
        server = processes.Process(
            target=serve_audit,
            args=(Audit.read(path), shown.items, path, COMMAND),
            kwargs={"browser": False, "ready": told.send},
        )
        server.start()
        assert heard.poll(30)
        with httpx.Client(base_url=heard.recv(), timeout=10) as page:
            for row in Audit.read(path).open[: 5 + kill].tolist():
                assert page.post("answer", json={"row": row, "answer": row % 4, "tab": "t"}).status_code == 200
                answered[row] = row % 4
            server.kill()  # right after the last answer
        server.join()
        assert Audit.read(path).answers == answered
    assert len(answered) == sum(range(5, 5 + KILLS))
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
