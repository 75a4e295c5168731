"""Several people at the review page at once, each in a browser of their own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from review_tabs import Page, Tabs, press, row_of, started, violations
from truelabel.labels.examined import Examined
from truelabel.review import Decisions

sync_api = pytest.importorskip("playwright.sync_api")


@pytest.fixture(scope="module")
def server(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    path = tmp_path_factory.mktemp("reviewers") / "d.sqlite"
    with started(folders["image"], path, "--host", "0.0.0.0") as (_, address):
        yield address.replace("localhost", "127.0.0.1"), path


@pytest.fixture
def page(server: tuple[str, Path]) -> tuple[str, Path]:
    """The page's address, and its file, from which all decisions are taken out."""
    with sqlite3.connect(server[1]) as file:
        file.executescript("DELETE FROM held; DELETE FROM log")
    return server


@pytest.fixture
def ranked(folders: dict[str, Path]) -> list[int]:
    return [int(row) for row in Examined.read(folders["image"]).found.ranked()]


def named(tabs: Tabs, address: str, name: str, **settings: Any) -> Page:
    """Open the page in a browser of its own, and give a name where it asks for one."""
    page = tabs.open(address, **settings)
    page.wait_for_selector("#name[open]")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    sync_api.expect(page.locator("#who")).to_have_text(name)
    return page


def table(path: Path) -> pd.DataFrame:
    with Decisions(path) as decided:
        return decided.table()


def test_people_get_different_suspects_until_all_are_decided(
    page: tuple[str, Path], tabs: Tabs, ranked: list[int]
) -> None:
    address, path = page
    people = {name: named(tabs, address, name) for name in ("Anna", "Ben", "Çağla")}
    assert [row_of(one) for one in people.values()] == ranked[:3]
    for turn in range(20):
        one = list(people.values())[turn % 3]
        sync_api.expect(one.locator("#finished")).to_be_hidden()
        shown = one.get_attribute("#item", "data-row")
        one.keyboard.press("k")
        one.wait_for_function(
            "row => document.getElementById('item').dataset.row !== row || !document.getElementById('finished').hidden",
            arg=shown,
        )
    decided = table(path)
    assert sorted(decided.index) == sorted(ranked)
    assert decided["reviewer"].value_counts().to_dict() == {"Anna": 7, "Ben": 7, "Çağla": 6}
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT COUNT(*) FROM log").fetchone() == (20,)  # nobody decided what another had


def test_the_last_suspect_is_shown_to_all_and_a_conflict_is_settled_by_keyboard(
    page: tuple[str, Path], tabs: Tabs, ranked: list[int]
) -> None:
    address, path = page
    anna = named(tabs, address, "Anna")
    ben = named(tabs, address, "Ben")
    assert press(ben, "ArrowLeft") == ranked[0]
    sync_api.expect(ben.locator("#said")).to_have_text("Somebody else has this one open, too")
    assert press(anna, "k") == ranked[1]
    ben.keyboard.press("a")
    ben.wait_for_selector("#conflict[open]")
    kept = anna.inner_text("#said").lower()
    assert ben.inner_text("#conflict-theirs") == f"Anna: {kept}"
    assert violations(ben) == []
    assert table(path)["reviewer"].tolist() == ["Anna"]
    ben.keyboard.press("a")
    ben.keyboard.press("Escape")
    ben.wait_for_selector(f"#item[data-row='{ranked[2]}']")
    sync_api.expect(ben.locator("#said")).to_have_text(f"Left as it is: {kept}")
    assert table(path).loc[ranked[0], "decision"] == "keep"
    press(ben, "ArrowLeft", "ArrowLeft")
    assert ben.inner_text("#standing").startswith(f"Anna: {kept} · ")
    press(ben, "a")  # now it was to be seen when the suspect came on show
    assert table(path).loc[ranked[0], ["decision", "reviewer"]].tolist() == ["accept", "Ben"]


def test_what_another_person_decides_shows_while_one_looks(
    page: tuple[str, Path], tabs: Tabs, ranked: list[int]
) -> None:
    address, path = page
    anna = named(tabs, address, "Anna")
    ben = named(tabs, address, "Ben", viewport={"width": 360, "height": 640})
    assert press(anna, "ArrowRight") == ranked[1] == row_of(ben)
    press(anna, "s")
    sync_api.expect(ben.locator("#standing")).to_contain_text("Anna: skipped", timeout=15_000)
    sync_api.expect(ben.locator("#progress")).to_have_text("0 of 20 decided, 1 skipped")
    ben.click("#keep")
    ben.wait_for_selector("#conflict[open]")
    assert ben.locator("#conflict").bounding_box()["width"] <= 360
    assert ben.inner_text("#conflict-theirs") == "Anna: skipped"
    ben.click("#conflict-replace")
    ben.wait_for_selector(f"#item:not([data-row='{ranked[1]}'])")
    assert table(path).loc[ranked[1], ["decision", "reviewer"]].tolist() == ["keep", "Ben"]
    anna.keyboard.press("u")
    sync_api.expect(anna.locator("#said")).to_contain_text("Undone; it stands as: kept")
    assert table(path).loc[ranked[1], "decision"] == "keep"


def test_a_name_is_asked_for_once_and_can_be_changed(page: tuple[str, Path], tabs: Tabs) -> None:
    address, path = page
    anna = named(tabs, address, "Anna")
    again = tabs.open(address, anna.context)
    sync_api.expect(again.locator("#who")).to_have_text("Anna")
    assert not again.is_visible("#name")
    assert violations(again) == []
    again.click("#who")
    assert violations(again) == []
    again.keyboard.press("Escape")
    sync_api.expect(again.locator("#who")).to_have_text("Anna")
    again.click("#who")
    again.keyboard.press("Control+a")
    again.keyboard.type("Dora <b>")
    again.keyboard.press("Enter")
    sync_api.expect(again.locator("#who")).to_have_text("Dora <b>")
    press(again, "k")
    assert table(path)["reviewer"].tolist() == ["Dora <b>"]
    again.reload()
    sync_api.expect(again.locator("#who")).to_have_text("Dora <b>")


def test_whatever_two_people_saw_as_saved_survives_a_kill(
    folders: dict[str, Path], browser: Any, tmp_path: Path
) -> None:
    path, tabs = tmp_path / "d.sqlite", Tabs(browser)
    saved: set[int] = set()
    with started(folders["image"], path, "--reviewer", "Anna") as (server, address):
        people = [tabs.open(address), tabs.open(address)]
        for turn in range(6):
            one = people[turn % 2]
            before = row_of(one)
            press(one, "k")
            saved.add(before)
        lost = [row_of(one) for one in people]
        server.kill()
        server.wait()
        for one in people:
            one.keyboard.press("k")
            sync_api.expect(one.locator("#trouble")).to_contain_text("Not saved")
        assert [row_of(one) for one in people] == lost
    assert set(table(path).index) == saved
    assert not saved & set(lost)
    with started(folders["image"], path, "--reviewer", "Ben") as (_, address):
        people = [tabs.open(address), tabs.open(address)]
        assert people[0].inner_text("#progress") == "6 of 20 decided"
        assert not {row_of(one) for one in people} & saved
        assert row_of(people[0]) != row_of(people[1])
        for one in people:
            saved.add(row_of(one))
            press(one, "k")
    decided = table(path)
    assert set(decided.index) == saved
    assert decided["reviewer"].tolist() == ["Anna"] * 6 + ["Ben"] * 2
    for context in tabs.contexts:
        context.close()
