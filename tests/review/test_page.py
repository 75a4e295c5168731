"""The review page in a browser, as a person uses it."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from review_tabs import Tabs, kept, press, row_of, violations
from truelabel.labels.examined import Examined
from truelabel.review import Decisions

sync_api = pytest.importorskip("playwright.sync_api")
pytest.importorskip("axe_playwright_python.sync_playwright")

Serving = Callable[..., AbstractContextManager[str]]
Page = Any
SCRIPT = "<script>document.title = 'broken'</script> & <b>bold</b>"
FOCUS = """() => {
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
  const name = document.activeElement.closest("[id]")?.id ?? "";
  return [name, outlineStyle === "none" ? 0 : parseFloat(outlineWidth)];
}"""
DECIDE = """async (count) => {
  const item = document.getElementById("item");
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const taken = [];
  for (let k = 0; k < count; k += 1) {
    const before = item.dataset.row;
    const began = performance.now();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ak"[k % 2], bubbles: true }));
    const shown = () => item.dataset.row !== before && document.querySelector("#stage img")?.complete;
    while (!shown()) await painted();
    await painted();
    taken.push(performance.now() - began);
    await new Promise((done) => setTimeout(done, 250));
  }
  return taken;
}"""


@pytest.fixture(scope="module")
def images(folders: dict[str, Path], serving: Serving, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page with images, and its file, which each test begins without."""
    path = tmp_path_factory.mktemp("images") / "d.sqlite"
    with serving(folders["image"], path) as address:
        yield address, path


@pytest.fixture
def page(images: tuple[str, Path], tabs: Tabs) -> Page:
    """A tab with all suspects to do: what earlier tests decided is undone."""
    address, path = images
    with Decisions(path) as decided:
        for tab in {one.tab for one in decided.changes()[1]} - {None}:
            while decided.undo(tab) is not None:
                pass
        with decided._writing() as file:
            file.execute("DELETE FROM held")
        assert len(decided) == 0
    return tabs.open(address)


@pytest.fixture
def ranked(folders: dict[str, Path]) -> pd.DataFrame:
    return Examined.read(folders["image"]).found.table


def test_every_key_does_what_the_help_says(page: Page, images: tuple[str, Path], ranked: pd.DataFrame) -> None:
    _, path = images
    rows = ranked.index.tolist()
    first = ranked.iloc[0]
    assert row_of(page) == rows[0]
    assert page.inner_text("#given") == first["given"]
    assert page.inner_text("#suggested") == first["suggested"]
    assert press(page, "a") == rows[1]
    assert press(page, "k") == rows[2]
    assert press(page, "s") == rows[3]
    other = next(
        name for name in ("cat", "dog", "elk", "fox") if name not in set(ranked.iloc[3][["given", "suggested"]])
    )
    page.keyboard.press("o")
    page.keyboard.press("Enter")
    assert page.is_visible("#choose")
    page.keyboard.type(other[:2])
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#item[data-row='{rows[4]}']")
    page.keyboard.press("o")
    page.keyboard.press("Escape")
    assert not page.is_visible("#choose")
    page.keyboard.press("o")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#item[data-row='{rows[5]}']")
    second = page.inner_text("#likely li:nth-child(2) .label")
    assert press(page, "2") == rows[6]
    assert kept(path) | {rows[4]: 0} == {
        rows[0]: ("accept", first["suggested"]),
        rows[1]: ("keep", ranked.iloc[1]["given"]),
        rows[2]: ("skip", None),
        rows[3]: ("other", other),
        rows[4]: 0,
        rows[5]: (kept(path)[rows[5]][0], second),
    }
    assert kept(path)[rows[4]][1] == "dog"
    assert press(page, "u") == rows[5]
    assert rows[5] not in kept(path)
    assert press(page, "ArrowRight", "ArrowRight") == rows[7]
    assert press(page, "ArrowLeft") == rows[6]
    assert rows[6] not in kept(path)
    page.keyboard.press("f")
    assert page.evaluate("document.activeElement.id") == "show"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("a")
    page.keyboard.press("Escape")
    assert not page.is_visible("#help")
    assert row_of(page) == rows[6]
    assert page.inner_text("#progress") == "4 of 20 decided, 1 skipped"


def test_what_has_no_single_label_is_said_by_keyboard_alone(
    page: Page, images: tuple[str, Path], tabs: Tabs, ranked: pd.DataFrame
) -> None:
    rows, path = ranked.index.tolist(), images[1]
    assert press(page, "n", "c", "m") == rows[3]
    page.keyboard.press("w")
    sync_api.expect(page.locator("#choose-title")).to_have_text("What is the new class called?")
    page.keyboard.press("Enter")
    assert page.is_visible("#choose")
    page.keyboard.type("Sofa  bed")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#item[data-row='{rows[4]}']")
    assert page.inner_text("#said") == "New class Sofa bed"
    page.keyboard.press("w")
    page.keyboard.type("so")
    assert page.locator("#options li").all_inner_texts() == ["sonew class", "Sofa bed"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#item[data-row='{rows[5]}']")
    page.keyboard.press("w")
    page.keyboard.type("CAT")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#item[data-row='{rows[6]}']")
    decided = kept(path)
    assert [decided[row] for row in rows[:5]] == [
        ("none", None),
        ("ambiguous", None),
        ("several", None),
        ("new class", "Sofa bed"),
        ("new class", "Sofa bed"),
    ]
    assert decided[rows[5]][1] == "cat"
    assert page.inner_text("#progress") == "6 of 20 decided"
    page.keyboard.press("w")
    page.keyboard.type("a/b")
    page.keyboard.press("Enter")
    sync_api.expect(page.locator("#trouble")).to_contain_text("Not saved. A class cannot be called 'a/b'")
    tabs.errors.clear()  # the browser noted that the server refused
    assert len(kept(path)) == 6
    assert press(page, "ArrowLeft", "ArrowLeft", "ArrowLeft") == rows[3]
    assert page.inner_text("#standing").startswith("New class Sofa bed · ")
    assert press(page, "ArrowLeft") == rows[2]
    assert page.inner_text("#standing").startswith("Several classes · ")
    assert violations(page) == []


def test_the_keys_are_listed_on_the_page(page: Page) -> None:
    listed = page.locator("#keys .for-one kbd").all_inner_texts()
    assert listed == ["A", "K", "O", "1", "5", "N", "W", "C", "M", "S", "U", "←", "→", "F", "G", "?"]
    assert page.is_visible("#keys .for-one")
    assert not page.is_visible("#keys .for-many")
    page.keyboard.press("?")
    explained = page.locator("#help dt kbd").all_inner_texts()
    assert sorted(explained) == sorted(listed)


def test_buttons_do_the_same(page: Page, images: tuple[str, Path], ranked: pd.DataFrame) -> None:
    rows = ranked.index.tolist()
    for k, button in enumerate(("#accept", "#keep", "#skip", "#likely li:nth-child(1) button", "#forth")):
        page.click(button)
        page.wait_for_selector(f"#item[data-row='{rows[k + 1]}']")
    page.click("#undo")
    page.wait_for_selector(f"#item[data-row='{rows[3]}']")
    page.click("#other")
    page.click("#options li:nth-child(4)")
    page.wait_for_selector(f"#item[data-row='{rows[4]}']")
    decided = kept(images[1])
    assert [decided[row][0] for row in rows[:3]] == ["accept", "keep", "skip"]
    assert decided[rows[3]][1] == "fox"


def test_the_next_suspect_waits_for_the_disk(page: Page, images: tuple[str, Path], ranked: pd.DataFrame) -> None:
    held: list[Any] = []
    page.route("**/decide", lambda route: held.append(route))
    page.keyboard.press("a")
    page.wait_for_timeout(300)
    page.keyboard.press("k")
    page.wait_for_timeout(50)
    assert len(held) == 1
    assert row_of(page) == ranked.index[0]
    assert kept(images[1]) == {}
    held[0].continue_()
    page.wait_for_selector(f"#item[data-row='{ranked.index[1]}']")
    assert set(kept(images[1])) == {ranked.index[0]}


def test_one_goes_on_where_one_left_off(page: Page, images: tuple[str, Path], tabs: Tabs, ranked: pd.DataFrame) -> None:
    last = press(page, "a", "s", "k")
    page.reload()
    page.wait_for_selector("#item[data-row] #stage > *")
    assert row_of(page) == last == ranked.index[3]
    page.close()
    again = tabs.open(images[0])
    assert row_of(again) == last
    assert again.inner_text("#progress") == "2 of 20 decided, 1 skipped"


def test_two_tabs_show_each_others_decisions(
    page: Page, images: tuple[str, Path], tabs: Tabs, ranked: pd.DataFrame
) -> None:
    rows, path = ranked.index.tolist(), images[1]
    other = tabs.open(images[0], page.context)
    assert row_of(other) == rows[1]  # the first one is on show in the other tab
    assert press(other, "ArrowLeft") == rows[0]
    assert press(other, "k") == rows[1]
    page.wait_for_selector("#standing:not([hidden])")
    assert page.inner_text("#standing").startswith(f"In another tab, or earlier: kept {ranked.iloc[0]['given']}")
    assert row_of(page) == rows[0]
    page.keyboard.press("a")
    page.wait_for_selector("#conflict[open]")
    page.keyboard.press("c")
    page.wait_for_selector(f"#item[data-row='{rows[2]}']")
    assert kept(path) == {rows[0]: ("accept", ranked.iloc[0]["suggested"])}
    other.keyboard.press("u")
    other.wait_for_selector(f"#item[data-row='{rows[0]}']")
    other.wait_for_selector("#standing:not([hidden])")
    assert other.inner_text("#said") == f"Undone; it stands as: accepted {ranked.iloc[0]['suggested']}"
    assert kept(path) == {rows[0]: ("accept", ranked.iloc[0]["suggested"])}
    other.keyboard.press("u")
    sync_api.expect(other.locator("#said")).to_have_text("Nothing to undo in this tab")
    assert press(page, "u") == rows[0]
    assert kept(path) == {}


def test_filters_choose_by_class_confidence_and_state(page: Page, ranked: pd.DataFrame) -> None:
    def shows(text: str) -> None:
        sync_api.expect(page.locator("#place")).to_have_text(text)

    suspects = ranked.head(20)
    shows("1 of 20")
    page.select_option("#class", label=page.locator("#class option", has_text="elk").inner_text())
    about_elk = suspects[(suspects["given"] == "elk") | (suspects["suggested"] == "elk")]
    shows(f"1 of {len(about_elk)}")
    assert row_of(page) == about_elk.index[0]
    page.select_option("#band", "0.7 0.9")
    both = about_elk[about_elk["p_wrong"].between(0.7, 0.9)]
    assert 0 < len(both) < len(about_elk)
    shows(f"1 of {len(both)}")
    page.wait_for_selector(f"#item[data-row='{both.index[0]}']")
    page.select_option("#class", "")
    page.select_option("#band", "0 1.1")
    page.wait_for_selector(f"#item[data-row='{both.index[0]}']")
    skipped = row_of(page)
    press(page, "s")
    page.select_option("#show", "skipped")
    page.wait_for_selector(f"#item[data-row='{skipped}']")
    shows("1 of 1")
    page.select_option("#show", "decided")
    sync_api.expect(page.locator("#finished-title")).to_have_text("Nothing more here")
    page.click("text=Go on with the rest")
    shows("1 of 19")


def test_the_end_says_what_was_done_and_leads_on(page: Page, tabs: Tabs) -> None:
    press(page, *"a" * 10, *"k" * 8, "s")
    page.keyboard.press("a")
    page.wait_for_selector("#finished:not([hidden])")
    assert page.inner_text("#finished-title") == "All done"
    assert page.inner_text("#finished-text").endswith("8 kept, 0 given another label, 1 skipped, 0 to do.")
    page.keyboard.press("a")
    with page.expect_download() as got:
        page.click("text=Decisions (CSV)")
    assert len(pd.read_csv(got.value.path())) == 20
    page.click("#export")
    with page.expect_download() as got:
        page.click("#files a[href='export/corrected.parquet']")
    assert len(pd.read_parquet(got.value.path())) == 40
    page.keyboard.press("u")
    page.wait_for_selector("#item:not([hidden])")


def test_keyboard_alone_reaches_everything_and_shows_where_it_is(page: Page, ranked: pd.DataFrame) -> None:
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(FOCUS)
        if not name:
            break
        assert outline >= 2, name
        reached.append(name)
    wanted = {
        *("pair", "grid-button", "who", "none", "new-class", "ambiguous", "several"),
        "show",
        "class",
        "band",
        "export",
        "help-button",
        "accept",
        "keep",
        "other",
        "skip",
        "undo",
        "back",
        "forth",
    }
    assert wanted | {"likely"} <= set(reached)
    page.focus("#keep")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#item[data-row='{ranked.index[1]}']")
    assert page.evaluate("document.activeElement.id") == "keep"
    page.focus("#export")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "export/decisions.csv"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "export"


def test_a_narrow_screen_has_room_for_all(images: tuple[str, Path], page: Page, tabs: Tabs) -> None:
    page.close()
    phone = tabs.open(images[0], viewport={"width": 360, "height": 640}, has_touch=True)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    for button in ("#accept", "#keep", "#other", "#skip", "#undo"):
        box = phone.locator(button).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        assert box["y"] + box["height"] <= 640
        assert box["height"] >= 40
    image = phone.locator("#stage img").bounding_box()
    assert image["width"] >= 150
    assert image["y"] + image["height"] <= phone.locator("#actions").bounding_box()["y"] + 40
    before = row_of(phone)
    phone.tap("#accept")
    phone.wait_for_selector(f"#item:not([data-row='{before}'])")
    phone.tap("#other")
    assert phone.locator("#choose").bounding_box()["width"] <= 360
    phone.keyboard.press("Escape")
    assert not phone.is_visible("#none")
    phone.tap("#more")
    for button in ("#none", "#new-class", "#ambiguous", "#several", "#skip", "#undo"):
        box = phone.locator(button).bounding_box()
        assert box["x"] + box["width"] <= 360
        assert box["y"] + box["height"] <= 640
    assert violations(phone) == []
    before = row_of(phone)
    phone.tap("#several")
    phone.wait_for_selector(f"#item:not([data-row='{before}'])")
    assert not phone.is_visible("#none")
    assert kept(images[1])[before] == ("several", None)
    for dialog in ("#help-button", "#who"):
        phone.tap(dialog)
        assert phone.locator("dialog[open]").bounding_box()["width"] <= 360
        assert violations(phone) == []
        phone.keyboard.press("Escape")
    phone.tap("#filter-button")
    assert phone.is_visible("#pair")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("kind", ["text", "row"])
def test_hostile_text_is_text(
    kind: str, folders: dict[str, Path], serving: Serving, tabs: Tabs, tmp_path: Path
) -> None:
    with serving(folders[kind], tmp_path / "d.sqlite") as address:
        page = tabs.open(address)
        for _ in range(12):
            if row_of(page) % 3 == 0:
                break
            press(page, "ArrowRight")
        row = row_of(page)
        assert page.inner_text("#stage p" if kind == "text" else "#stage td") == f"{SCRIPT} {row}"
        assert page.locator("main script, main #stage b, #neighbours b").count() == 0
        assert page.title() == "Review · truelabel"
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert violations(page) == []
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_is_hard_to_read(scheme: str, width: int, page: Page, images: tuple[str, Path], tabs: Tabs) -> None:
    press(page, "a")
    page.close()
    shown = tabs.open(images[0], color_scheme=scheme, viewport={"width": width, "height": 860}, reduced_motion="reduce")
    press(shown, "k")
    press(shown, "ArrowLeft")
    assert shown.is_visible("#standing")
    assert violations(shown) == []
    if width == 1280:
        shown.keyboard.press("o")
        shown.keyboard.type("f")
        assert violations(shown) == []
        shown.keyboard.press("Escape")
        shown.keyboard.press("?")
        assert violations(shown) == []
        shown.keyboard.press("Escape")
        shown.click("#export")
        assert violations(shown) == []


def test_a_server_that_is_gone_is_said_so_and_nothing_seems_saved(
    folders: dict[str, Path], serving: Serving, browser: Any, tmp_path: Path
) -> None:
    tabs = Tabs(browser)
    with serving(folders["name"], tmp_path / "d.sqlite") as address:
        page = tabs.open(address)
        press(page, "k")
        before = row_of(page)
    page.keyboard.press("a")
    page.wait_for_selector("#trouble:not([hidden])")
    assert page.inner_text("#trouble").startswith("Not saved: the server does not answer.")
    assert row_of(page) == before
    assert len(kept(tmp_path / "d.sqlite")) == 1
    tabs.contexts[0].close()


def boxes(page: Page) -> list[dict[str, float]]:
    return [page.locator(part).bounding_box() for part in ("header", "#stage", "#accept")]


def apply_by_keyboard(page: Page) -> None:
    page.focus("#export")
    page.keyboard.press("Enter")
    for _ in range(5):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "apply"
    page.keyboard.press("Enter")
    assert not page.is_visible("#files")
    assert page.evaluate("document.activeElement.id") == "export"


def test_decisions_are_applied_while_one_goes_on_and_every_tab_ranks_the_rest_anew(
    made_up: Callable[..., Examined],
    pictures: Callable[[int, Path], dict[str, object]],
    serving: Serving,
    tabs: Tabs,
    tmp_path: Path,
) -> None:
    folder = made_up(40, pictures(40, tmp_path / "images.npy"), suspects=0.3).write(tmp_path / "examined")
    rows = Examined.read(folder).found.ranked().tolist()
    with serving(folder, tmp_path / "d.sqlite") as address:
        page = tabs.open(address)
        other = tabs.open(address, page.context)
        page.bring_to_front()
        apply_by_keyboard(page)
        assert page.inner_text("#learning") == "No label is decided yet; decide about some labels first."
        assert press(page, "a", "a", "a", "k") == rows[5]  # rows[1] is on show in the other tab
        places = boxes(page)
        apply_by_keyboard(page)
        sync_api.expect(page.locator("#learning")).to_have_text("Learning from 4 decisions…")
        sync_api.expect(other.locator("#learning")).to_have_text("Learning from 4 decisions…")
        assert page.get_attribute("#apply", "aria-disabled") == "true"
        assert boxes(page) == places
        assert press(page, "a") == rows[6]
        suggested = page.inner_text("#suggested")
        for tab in (page, other):
            sync_api.expect(tab.locator("#learning")).to_contain_text("still suspicious, 8 before.", timeout=240_000)
        learned = Examined.read(folder)
        decided = {rows[0], *rows[2:6]}
        left = set(learned.found.ranked().tolist()) - {rows[0], *rows[2:5]}
        assert page.inner_text("#learning").startswith(f"Learned: {len(left)} label")
        assert learned.about["trusted"] == 4
        listed = len(left | decided | {rows[6]})
        assert page.inner_text("#progress") == f"5 of {listed} decided"
        assert (row_of(page), page.inner_text("#suggested")) == (rows[6], suggested)
        assert boxes(page) == places
        assert row_of(other) == rows[1]
        assert other.inner_text("#progress").startswith("5 of ")
        assert violations(page) == []
        order = [row for row in learned.found.table.index if row in left - decided - {rows[1], rows[6]}]
        assert press(page, "k") == order[0]
        page.select_option("#show", "decided")
        sync_api.expect(page.locator("#place")).to_contain_text(" of 6")
        page.close()
        other.close()


@pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="measures time: run it by itself, without -n")
def test_ten_thousand_suspects_stay_fluid(
    made_up: Callable[..., Examined],
    pictures: Callable[[int, Path], dict[str, object]],
    serving: Serving,
    tabs: Tabs,
    tmp_path: Path,
) -> None:
    taken: dict[int, list[float]] = {10_000: [], 100: []}
    with ExitStack() as served:
        pages = {}
        for suspects in taken:
            folder = tmp_path / str(suspects)
            folder.mkdir()
            examined = made_up(2 * suspects, pictures(2 * suspects, folder / "images.npy"))
            assert len(examined.found.ranked()) == suspects
            address = served.enter_context(serving(examined.write(folder / "examined"), folder / "d.sqlite"))
            pages[suspects] = tabs.open(address)
            assert pages[suspects].inner_text("#place") == f"1 of {suspects:,}"
        for _ in range(3):  # by turns: what else the machine does slows both
            for suspects, page in pages.items():
                page.bring_to_front()
                taken[suspects].append(statistics.median(page.evaluate(DECIDE, 10)))
        for suspects, page in pages.items():
            page.close()
            assert len(kept(tmp_path / str(suspects) / "d.sqlite")) == 30
    assert min(taken[10_000]) < max(100.0, 1.5 * min(taken[100])), taken
