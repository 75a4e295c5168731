"""What the review server tells, records and refuses."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

from truelabel.labels.examined import Examined
from truelabel.labels.items import ImageFiles
from truelabel.review import Decisions
from truelabel.review.guard import Guard
from truelabel.review.server import STATIC, Review, application

TOKEN = "secret-token"
NAMES = ("cat", "dog", "elk", "fox")
Make = Callable[..., Examined]
ADDRESS = f"http://127.0.0.1:8000/{TOKEN}/"


def client_of(examined: Examined, path: Path, host: str = "127.0.0.1") -> TestClient:
    review = Review(examined, Decisions.of(examined, path))
    return TestClient(application(review, TOKEN, host), base_url=ADDRESS, follow_redirects=False)


@pytest.fixture
def page(folders: dict[str, Path], tmp_path: Path) -> TestClient:
    return client_of(Examined.read(folders["image"]), tmp_path / "d.sqlite")


def decide(page: TestClient, row: int, label: int | None, tab: str = "one") -> dict[str, object]:
    answer = page.post("decide", json={"row": row, "label": label, "tab": tab})
    assert answer.status_code == 200, answer.text
    return answer.json()


EVERYTHING = ("", "review.js", "review.css", "icon.svg", "suspects", "item/0", "image/0/large", "export/decisions.csv")


@pytest.mark.parametrize("path", EVERYTHING)
@pytest.mark.parametrize("prefix", ["/", "/wrong/", "/secret-tokem/", "/SECRET-TOKEN/", "//secret-token/", "/t%C3%A9/"])
def test_without_the_token_nothing_is_told(page: TestClient, prefix: str, path: str) -> None:
    answer = page.get(f"http://127.0.0.1:8000{prefix}{path}")
    assert answer.status_code == 403
    assert answer.text.startswith("Open the whole address")
    assert page.get(path).status_code == 200


def test_without_the_token_nothing_is_recorded(page: TestClient) -> None:
    said = {"row": 0, "label": 1, "tab": "one"}
    assert page.post("http://127.0.0.1:8000/decide", json=said).status_code == 403
    assert page.get("changes").json()["changes"] == []


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "", "[", "10.0.0.7"],
)
def test_other_hosts_names_are_refused(page: TestClient, host: str) -> None:
    for answer in (page.get("suspects", headers={"host": host}), page.get("", headers={"host": host})):
        assert answer.status_code == 403
        assert answer.text == "This server answers to its own address alone."


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:9999", "[::1]:8000", "LOCALHOST"])
def test_the_machines_own_names_are_taken(page: TestClient, host: str) -> None:
    assert page.get("suspects", headers={"host": host}).status_code == 200


def test_two_host_headers_are_refused(page: TestClient) -> None:
    request = page.build_request("GET", "suspects")
    request.headers = type(request.headers)([("host", "127.0.0.1:8000"), ("host", "127.0.0.1:8000")])
    assert page.send(request).status_code == 403


def test_listening_everywhere_takes_addresses_but_no_foreign_names() -> None:
    everywhere = Guard(None, TOKEN, "0.0.0.0")
    assert everywhere._is_ours("192.168.1.5:8000")
    assert not everywhere._is_ours("evil.example:8000")
    assert Guard(None, TOKEN, "box.lan")._is_ours("box.lan:8000")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1:8000"])
def test_other_pages_are_refused(page: TestClient, origin: str) -> None:
    said = {"row": 0, "label": 1, "tab": "one"}
    answer = page.post("decide", json=said, headers={"origin": origin})
    assert answer.status_code == 403
    assert answer.text == "This server answers to its own page alone."
    assert page.get("changes").json()["version"] == 0
    assert page.post("decide", json=said, headers={"origin": "http://127.0.0.1:8000"}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "image/../../../../etc/passwd/large",
        "image/..%2f..%2fetc%2fpasswd/large",
        "image/-1/large",
        "image/40/large",
        "image/0x1/large",
        "image/1.0/large",
        "image/99999999999999999999999/large",
        "item/40",
        "item/-1",
        "review.py",
        "static/review.js",
        "..%2fserver.py",
    ],
)
def test_only_rows_that_there_are_can_be_named(page: TestClient, path: str) -> None:
    answer = page.get(f"{ADDRESS}{path}")
    assert answer.status_code in (403, 404)
    assert "root:" not in answer.text


def test_only_two_sizes_of_image_are_made(page: TestClient) -> None:
    assert page.get("image/0/huge").status_code == 422


def test_an_id_that_leads_out_of_the_folder_shows_nothing(made_up: Make, tmp_path: Path) -> None:
    from PIL import Image

    (tmp_path / "images").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "outside.png")
    Image.new("RGB", (8, 8)).save(tmp_path / "images" / "inside.png")
    examined = made_up(12)
    names = ["../outside.png", str(tmp_path / "outside.png"), "inside.png", *"abcdefghi"]
    shown = Examined(examined.predictions, examined.found, ImageFiles(tmp_path / "images", names))
    page = client_of(shown, tmp_path / "d.sqlite")
    assert [page.get(f"image/{row}/large").status_code for row in range(4)] == [404, 404, 200, 404]


def test_large_requests_are_refused(page: TestClient) -> None:
    said = {"row": 0, "label": 1, "tab": "one", "more": "x" * 70_000}
    assert page.post("decide", json=said).status_code == 413

    def pieces():
        yield from (b" " * 1024 for _ in range(70))

    streamed = page.post("decide", content=pieces(), headers={"content-type": "application/json"})
    assert streamed.status_code == 413
    assert page.get("changes").json()["version"] == 0
    assert page.post("decide", json=said | {"more": "x" * 60_000}).status_code == 200


@pytest.mark.parametrize("path", [*EVERYTHING, "nothing-here"])
def test_every_answer_is_kept_nowhere_and_loads_nothing_from_elsewhere(page: TestClient, path: str) -> None:
    headers = page.get(path).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy.pop("default-src") == "'none'"
    assert set(policy.values()) == {"'self'", "'none'"}
    assert policy["script-src"] == policy["img-src"] == "'self'"
    assert "access-control-allow-origin" not in headers


def test_the_page_itself_names_nothing_elsewhere(page: TestClient) -> None:
    assert page.get(f"http://127.0.0.1:8000/{TOKEN}").headers["location"] == f"/{TOKEN}/"
    for path in ("", *STATIC):
        if path == "icon.svg":  # which names the namespace of SVG
            continue
        text = page.get(path).text
        assert "http://" not in text
        assert "https://" not in text
        assert "innerHTML" not in text
        assert "insertAdjacentHTML" not in text


def test_texts_come_as_they_are_in_json_alone(folders: dict[str, Path], tmp_path: Path) -> None:
    page = client_of(Examined.read(folders["text"]), tmp_path / "d.sqlite")
    answer = page.get("item/0")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["fields"] == [["text", "<script>document.title = 'broken'</script> & <b>bold</b> 0"]]


def test_suspects_are_listed_the_most_suspicious_first(page: TestClient, folders: dict[str, Path]) -> None:
    found = Examined.read(folders["image"]).found
    told = page.get("suspects").json()
    assert told["rows"] == found.table.index[:20].tolist()
    assert told["ids"] == found.table["id"].tolist()[:20]
    assert [NAMES[k] for k in told["given"]] == found.table["given"].tolist()[:20]
    assert [NAMES[k] for k in told["suggested"]] == found.table["suggested"].tolist()[:20]
    np.testing.assert_allclose(told["p_wrong"], found.table["p_wrong"][:20], atol=1e-4)
    assert told["kind"] == "image"
    assert told["changes"] == []


def test_an_item_comes_with_its_nearest_neighbours(page: TestClient, folders: dict[str, Path]) -> None:
    examined = Examined.read(folders["image"])
    x = examined.predictions.views["features"]
    distance = np.linalg.norm(x - x[7], axis=1)
    told = page.get("item/7").json()
    assert [near["row"] for near in told["neighbours"]] == np.argsort(distance)[1:11].tolist()
    assert [near["label"] for near in told["neighbours"]] == examined.found.labels[np.argsort(distance)[1:11]].tolist()
    order = np.argsort(-examined.found.probs[7])
    assert [label for label, _ in told["likely"]] == order.tolist()
    np.testing.assert_allclose([p for _, p in told["likely"]], examined.found.probs[7][order], atol=1e-4)


def test_without_features_there_are_no_neighbours(made_up: Make, tmp_path: Path) -> None:
    examined = made_up(12)
    examined.predictions.views.clear()
    assert client_of(examined, tmp_path / "d.sqlite").get("item/7").json()["neighbours"] == []


def test_images_are_images(page: TestClient) -> None:
    from PIL import Image

    for size, side in (("large", 640), ("small", 112)):
        answer = page.get(f"image/3/{size}")
        assert answer.headers["content-type"] == "image/png"
        assert Image.open(io.BytesIO(answer.content)).size == (side, side)


def test_a_decision_is_in_the_file_when_it_is_answered(page: TestClient, tmp_path: Path) -> None:
    given, suggested = (page.get("suspects").json()[name][0] for name in ("given", "suggested"))
    row = page.get("suspects").json()["rows"][0]
    answer = decide(page, row, suggested)
    assert answer["decision"] == "accept"
    with Decisions(tmp_path / "d.sqlite") as kept:
        (line,) = kept.table().itertuples(index=False)
    assert (line.id, line.given, line.suggested) == (f"i{row}", NAMES[given], NAMES[suggested])
    assert (line.decision, line.label) == ("accept", NAMES[suggested])


def test_two_tabs_see_each_others_decisions_and_undo_their_own(page: TestClient) -> None:
    decide(page, 3, 1, "one")
    answer = page.post("decide", json={"row": 4, "label": 2, "tab": "two", "since": 0}).json()
    assert [(one["row"], one["tab"]) for one in answer["changes"]] == [(3, "one"), (4, "two")]
    page.post("decide", json={"row": 3, "label": 0, "tab": "two", "seen": 1})
    undone = page.post("undo", json={"tab": "one", "since": answer["version"]}).json()
    assert undone["row"] == 3
    assert [(one["row"], one["label"], one["tab"]) for one in undone["changes"]] == [(3, 0, "two")]
    assert page.post("undo", json={"tab": "one"}).json()["row"] is None


def test_a_conflict_is_shown_and_not_recorded(page: TestClient) -> None:
    decide(page, 3, 1, "one")
    said = {"row": 3, "label": 2, "tab": "two", "reviewer": "Ben", "next": [4]}
    answer = page.post("decide", json=said).json()
    assert (answer["conflict"]["label"], answer["conflict"]["seq"]) == (1, 1)
    assert "decision" not in answer
    assert [(one["row"], one["label"]) for one in answer["changes"]] == [(3, 1)]
    again = page.post("decide", json=said | {"seen": 1}).json()
    assert again["changes"][0]["reviewer"] == "Ben"
    assert "conflict" not in again


def test_each_tab_gets_an_instance_of_its_own_next(page: TestClient) -> None:
    def show(tab: str, rows: list[int], **more: object) -> object:
        return page.post("show", json={"tab": tab, "rows": rows} | more).json()["next"]

    assert show("one", [5, 6, 7]) == 5
    assert show("two", [5, 6, 7]) == 6
    answer = page.post("decide", json={"row": 5, "label": 1, "tab": "one", "next": [6, 7, 8]})
    assert answer.json()["next"] == 7
    assert show("three", [5, 6, 7, 9], undecided=True) == 9
    assert show("three", [5]) == 5
    assert show("four", [5, 6, 7]) is None


def test_a_grid_is_held_decided_and_undone_as_one(folders: dict[str, Path], tmp_path: Path) -> None:
    page = client_of(Examined.read(folders["text"]), tmp_path / "d.sqlite")
    told = page.get("suspects").json()
    rows = told["rows"][:6]
    mine = page.post("tiles", json={"tab": "one", "rows": rows, "most": 3}).json()
    assert mine["rows"] == rows[:3]
    assert all(
        brief in page.get(f"item/{row}").json()["fields"][0][1]
        for row, brief in zip(rows, mine["briefs"], strict=False)
    )
    theirs = page.post("tiles", json={"tab": "two", "rows": rows, "most": 60}).json()
    assert theirs["rows"] == rows[3:]
    label = told["suggested"][0]
    said = {"tab": "one", "rows": rows[:3], "seen": [0, 0, 0], "label": label}
    decide(page, rows[1], 0, "two")
    answer = page.post("decide-all", json=said).json()
    assert (answer["decided"], answer["conflicts"]) == ([rows[0], rows[2]], [rows[1]])
    assert {one["row"]: one["label"] for one in answer["changes"]} == {rows[0]: label, rows[1]: 0, rows[2]: label}
    assert page.post("undo", json={"tab": "one"}).json()["rows"] == [rows[0], rows[2]]
    for wrong in ({"seen": [0]}, {"rows": [rows[0]] * 3}, {"label": 9}, {"rows": [], "seen": []}, {"label": None}):
        assert page.post("decide-all", json=said | wrong).status_code == 422
    assert page.post("decide-all", json=said | {"rows": [0, 1, 40]}).status_code == 404
    assert page.post("tiles", json={"tab": "one", "rows": [40]}).status_code == 404
    assert page.post("tiles", json={"tab": "one", "rows": [1], "most": 61}).status_code == 422


def test_only_who_sits_at_this_machine_has_the_name_of_the_command(folders: dict[str, Path], tmp_path: Path) -> None:
    examined = Examined.read(folders["name"])
    review = Review(examined, Decisions.of(examined, tmp_path / "d.sqlite"), reviewer="Anna")
    for client, host, name, shared in (
        ("127.0.0.1", "127.0.0.1", "Anna", False),
        ("192.168.1.7", "0.0.0.0", "", True),
        ("127.0.0.1", "0.0.0.0", "Anna", True),
    ):
        page = TestClient(application(review, TOKEN, host), base_url=ADDRESS, client=(client, 50_000))
        told = page.get("suspects").json()
        assert (told["reviewer"], told["shared"]) == (name, shared)


@pytest.mark.parametrize(
    "said",
    [
        {"row": 0, "label": 1, "tab": "one", "verdict": "none"},
        {"row": 0, "label": None, "tab": "one", "verdict": "perhaps"},
        {"row": 0, "label": None, "tab": "one", "new_class": "dog"},
        {"row": 0, "label": None, "tab": "one", "new_class": "../x"},
        {"row": 0, "label": 1, "tab": "one", "reviewer": "x" * 61},
        {"row": 0, "label": 1, "tab": "one", "reviewer": "two\nlines"},
        {"row": 0, "label": 1, "tab": "one", "next": [1] * 501},
        {"row": 0, "label": 1, "tab": "one", "seen": -1},
        {"row": 0, "label": 9, "tab": "one"},
        {"row": 0, "label": -1, "tab": "one"},
        {"row": 0, "label": "cat", "tab": "one"},
        {"row": 0, "tab": "one"},
        {"row": 0, "label": 1, "tab": "x" * 65},
        {"row": 0, "label": 1},
        {"row": 10**30, "label": 1, "tab": "one"},
        [],
    ],
)
def test_what_is_no_decision_is_refused(page: TestClient, said: object) -> None:
    assert page.post("decide", json=said).status_code == 422
    assert page.get("changes").json()["version"] == 0


def test_a_row_there_is_not_is_refused(page: TestClient) -> None:
    assert page.post("decide", json={"row": 40, "label": 1, "tab": "one"}).status_code == 404


def test_a_decision_that_cannot_be_written_is_not_said_to_be(page: TestClient, tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "d.sqlite") as file:
        file.execute("CREATE TRIGGER full BEFORE INSERT ON log BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    answer = page.post("decide", json={"row": 0, "label": 1, "tab": "one"})
    assert answer.status_code == 507
    assert "disk full" in answer.json()["detail"]
    assert page.get("changes").json()["version"] == 0


def test_exports_hold_what_was_decided(page: TestClient) -> None:
    decide(page, 5, 2)
    decide(page, 6, None)
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        answer = page.get(f"export/decisions.{ending}")
        assert answer.headers["content-disposition"] == f'attachment; filename="decisions.{ending}"'
        table = read(io.BytesIO(answer.content))
        assert list(table.columns) == ["id", "given", "suggested", "decision", "label", "when", "reviewer"]
        assert table["id"].tolist() == ["i5", "i6"]
        assert table["label"].iloc[0] == "elk"
        assert pd.isna(table["label"].iloc[1])
        labels = read(io.BytesIO(page.get(f"export/corrected.{ending}").content))
        assert len(labels) == 40
        assert labels["corrected"].iloc[5] == "elk"
        rest = labels.drop(index=5)
        assert (rest["corrected"] == rest["given"]).all()
    assert page.get("export/decisions.exe").status_code == 422


def test_there_is_no_api_page(page: TestClient) -> None:
    for path in ("docs", "redoc", "openapi.json"):
        assert page.get(path).status_code == 404
    assert json.loads(page.get("docs").text) == {"detail": "Not Found"}


@pytest.mark.parametrize(
    "body",
    [
        '{"row": NaN, "label": 1, "tab": "one"}',
        '{"row": 1e400, "label": 1, "tab": "one"}',
        '{"row": 0, "label": -Infinity, "tab": "one"}',
        '{"row": 0, "label": 1, "tab": "\\ud800"}',
        '{"row": 0, "label": 1, "tab": "\\u0000"}',
        '{"row": 0, "label": 1, "tab": "one", "\\udfff": NaN}' + " ",
        "[" * 5_000,
        '{"row": ' + "9" * 5_000 + ', "label": 1, "tab": "one"}',
        "\x00",
        "NaN",
    ],
)
def test_odd_json_is_refused_or_taken_for_what_it_is(page: TestClient, body: str) -> None:
    answer = page.post("decide", content=body.encode(), headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 400, 422)
    answer.json()
    assert decide(page, 1, 2)["row"] == 1


def test_after_a_locked_file_decisions_are_kept_again(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One failure within a transaction used to make every later decision fail until the restart."""
    import sqlite3

    from truelabel.review import decision_file

    monkeypatch.setattr(decision_file, "PATIENCE", 0.05)
    kept = Decisions.of(Examined.read(folders["image"]), tmp_path / "d.sqlite")
    real = kept._read

    def locked(query: str, *values: object) -> list[object]:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(kept, "_read", locked)
    with pytest.raises(sqlite3.OperationalError):
        kept.changes()
    monkeypatch.setattr(kept, "_read", real)
    other = sqlite3.connect(tmp_path / "d.sqlite")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        kept.decide(0, 1, given=0, suggested=1)
    other.execute("ROLLBACK")
    kept.decide(0, 1, given=0, suggested=1)
    assert len(kept.changes()[1]) == 1
