"""The grid of the review page: many suspects of one pair, given → suggested, decided together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pandas as pd
import pytest

from review_tabs import Page, Tabs, kept, press, row_of, violations
from truelabel.labels.examined import Examined

sync_api = pytest.importorskip("playwright.sync_api")
Serving = Callable[..., AbstractContextManager[str]]
SUSPECTS = 80


@pytest.fixture(scope="module")
def folder(
    made_up: Callable[..., Examined],
    pictures: Callable[[int, Path], dict[str, object]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    home = tmp_path_factory.mktemp("grid")
    return made_up(2 * SUSPECTS, pictures(2 * SUSPECTS, home / "images.npy")).write(home / "examined")


@pytest.fixture
def opened(folder: Path, serving: Serving, tabs: Tabs, tmp_path: Path) -> Iterator[tuple[Page, Path, str]]:
    with serving(folder, tmp_path / "d.sqlite") as address:
        page = tabs.open(address)
        yield page, tmp_path / "d.sqlite", address
        for context in tabs.contexts:
            context.close()


@pytest.fixture(scope="module")
def pairs(folder: Path) -> pd.Series:
    """How many suspects each pair has, the pair with the most first."""
    found = Examined.read(folder).found
    table = found.table.loc[found.ranked()]
    return (table["given"] + " → " + table["suggested"]).value_counts()


def tiles(page: Page) -> int:
    return page.locator("#tiles .tile").count()


def test_a_pair_is_filtered_with_its_count(opened: tuple[Page, Path, str], folder: Path, pairs: pd.Series) -> None:
    page, _, _ = opened
    listed = page.locator("#pair option").all_inner_texts()
    assert sorted(listed[1:]) == sorted(f"{pair} ({count})" for pair, count in pairs.items())
    counts = [int(text.split("(")[1][:-1]) for text in listed[1:]]
    assert counts == sorted(counts, reverse=True)
    page.select_option("#pair", label=listed[3])
    pair = listed[3].split(" (")[0]
    sync_api.expect(page.locator("#place")).to_have_text(f"1 of {pairs[pair]}")
    for _ in range(3):
        assert f"{page.inner_text('#given')} → {page.inner_text('#suggested')}" == pair
        press(page, "k")


def test_all_that_are_shown_are_accepted_and_undone_by_keyboard_alone(
    opened: tuple[Page, Path, str], folder: Path
) -> None:
    page, path, _ = opened
    found = Examined.read(folder).found
    page.keyboard.press("g")
    page.wait_for_selector("#tiles .tile")
    pair = page.inner_text("#grid-title")
    given, suggested = pair.split(" → ")
    n = tiles(page)
    assert page.inner_text("#grid-count") == f"{n} of {n} to do."
    assert n > 3
    assert violations(page) == []
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    assert page.inner_text("#accept-all b") == pair
    assert page.inner_text("#accept-all").startswith(f"Accept all {n - 1}: ")
    assert violations(page) == []
    page.keyboard.press("a")
    sync_api.expect(page.locator("#grid-said")).to_have_text(f"Accepted {n - 1}: {pair} · 1 left out for later")
    decided = kept(path)
    assert len(decided) == n - 1
    for row, said in decided.items():
        assert said == ("accept", suggested)
        assert found.table.loc[row, "given"] == given
        assert found.table.loc[row, "suggested"] == suggested
    sync_api.expect(page.locator("#grid-title")).not_to_have_text(pair)
    assert page.inner_text("#progress") == f"{n - 1} of {SUSPECTS} decided"
    page.keyboard.press("u")
    sync_api.expect(page.locator("#grid-said")).to_have_text(f"Undone: {n - 1}")
    sync_api.expect(page.locator("#grid-title")).to_have_text(pair)
    assert kept(path) == {}
    assert tiles(page) == n - 1  # what was left out stays for later
    page.keyboard.press("ArrowRight")
    page.keyboard.press("o")
    page.wait_for_selector("#item:not([hidden])[data-row] #stage > *")
    row = row_of(page)
    assert f"{page.inner_text('#given')} → {page.inner_text('#suggested')}" == pair
    assert press(page, "k") != row
    assert kept(path) == {row: ("keep", given)}


def test_pair_after_pair_is_accepted_until_only_what_was_left_out_is_to_do(opened: tuple[Page, Path, str]) -> None:
    page, path, _ = opened
    page.click("#grid-button")
    page.wait_for_selector("#tiles .tile")
    page.click("#tiles li:nth-child(1) .tile")
    for _ in range(SUSPECTS):
        if page.inner_text("#grid-title") == "Nothing more here":
            break
        before = page.inner_text("#progress")
        page.keyboard.press("a")
        sync_api.expect(page.locator("#progress")).not_to_have_text(before)
        page.wait_for_function(
            "() => document.querySelector('#tiles .tile') || document.getElementById('grid-actions').hidden"
        )
    assert len(kept(path)) == SUSPECTS - 1
    assert "What you left out is still to do" in page.inner_text("#grid-count")
    page.click("#one-by-one")
    page.select_option("#pair", "")
    page.wait_for_selector("#item:not([hidden])")
    assert row_of(page) not in kept(path)
    page.keyboard.press("a")
    page.wait_for_selector("#finished:not([hidden])")
    assert page.inner_text("#finished-title") == "All done"


def test_two_people_get_different_tiles_and_none_is_overwritten(opened: tuple[Page, Path, str], tabs: Tabs) -> None:
    page, path, address = opened
    page.keyboard.press("g")
    page.wait_for_selector("#tiles .tile")
    other = tabs.open(address)
    other.keyboard.press("g")
    other.wait_for_selector("#grid:not([hidden])")
    rows = "[...document.querySelectorAll('#tiles .caption')].map(one => one.textContent)"
    mine = set(page.evaluate(rows))
    other.select_option("#pair", page.input_value("#pair"))
    sync_api.expect(other.locator("#grid-count")).to_contain_text("Other people have all of them on show.")
    assert not mine & set(other.evaluate(rows))
    other.click("#grid-button")
    sync_api.expect(other.locator("#said")).to_have_text("Somebody else has this one open, too")
    assert other.inner_text("#caption") in mine
    press(other, "k")
    tile = page.locator("#tiles .tile[aria-disabled]")
    sync_api.expect(tile).to_have_count(1, timeout=15_000)
    page.keyboard.press("a")
    sync_api.expect(page.locator("#grid-said")).to_contain_text(f"Accepted {len(mine) - 1}: ")
    assert sorted(word for word, _ in kept(path).values()) == ["accept"] * (len(mine) - 1) + ["keep"]


def test_the_grid_has_room_on_a_phone(opened: tuple[Page, Path, str], tabs: Tabs) -> None:
    _, path, address = opened
    phone = tabs.open(address, viewport={"width": 360, "height": 640}, has_touch=True)
    phone.tap("#grid-button")
    phone.wait_for_selector("#tiles .tile")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    box = phone.locator("#accept-all").bounding_box()
    assert box["y"] + box["height"] <= 640
    assert violations(phone) == []
    phone.tap("#tiles li:nth-child(2) .tile")
    n = tiles(phone)
    phone.tap("#accept-all")
    sync_api.expect(phone.locator("#grid-said")).to_contain_text(f"Accepted {n - 1}")
    assert len(kept(path)) == n - 1
    phone.tap("#filter-button")
    phone.select_option("#show", "decided")
    phone.wait_for_selector("#item:not([hidden])")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("kind", ["text", "row", "name"])
def test_tiles_of_other_kinds_show_what_there_is_to_read_as_text(
    kind: str, folders: dict[str, Path], serving: Serving, tabs: Tabs, tmp_path: Path
) -> None:
    with serving(folders[kind], tmp_path / "d.sqlite") as address:
        page = tabs.open(address)
        page.keyboard.press("g")
        page.wait_for_selector("#tiles .tile")
        assert page.inner_text("#tiles .tile .brief") != ""
        assert page.locator("main script, #tiles b").count() == 0
        assert violations(page) == []
        page.close()
