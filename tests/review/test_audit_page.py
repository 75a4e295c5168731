"""The audit's page in a browser, as a person uses it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree
from typing import Any
from urllib.parse import urlsplit

import pytest

from truelabel.labels import Audit

sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

Page = Any
NAMES = ("cat", "dog", "elk", "fox")
GETS = r"(review\.css|audit\.css|\w+\.js|icon\.svg|audit|verdict|(item|image)/\d+(/large)?)?"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run `truelabel audit --page` as a process of its own and give the page's address."""
    command = [sys.executable, "-c", "from truelabel.cli import main; main()", "audit", str(folder), "--page"]
    words = [*command, "--no-browser", "--sample", "12"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield re.match(r"Audit: (\S+)\n", server.stdout.readline())[1]
        finally:
            server.send_signal(signal.SIGINT)
            server.stdout.read()


def opened(browser: Any, address: str, **settings: Any) -> tuple[Page, list[str], list[str]]:
    page = browser.new_context(**{"viewport": {"width": 1280, "height": 860}} | settings).new_page()
    page.set_default_timeout(15_000)
    errors: list[str] = []
    asked: list[str] = []
    page.on("console", lambda said: errors.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("#item[data-row] #stage > *")
    return page, errors, asked


def row_of(page: Page) -> int:
    return int(page.get_attribute("#item", "data-row"))


def press(page: Page, *keys: str) -> int:
    """Press keys, the last of which leads to another label; return the label on show."""
    before = row_of(page)
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_selector(f"#item:not([data-row='{before}'])")
    return row_of(page)


def violations(page: Page) -> list[str]:
    """What axe-core finds wrong with a page, contrast included."""
    found = axe.Axe().run(page).response
    return [f"{rule['id']}: {node['html']} {node['any']}" for rule in found["violations"] for node in rule["nodes"]]


def test_an_audit_is_answered_by_keyboard_alone_and_gone_on_with_on_a_phone(
    folders: dict[str, Path], browser: Any, tmp_path: Path
) -> None:
    folder = copytree(folders["image"], tmp_path / "examined")
    design = folder / "audit.jsonl"

    def stands() -> dict[int, int]:
        return Audit.read(design).answers

    with served(folder) as address:
        page, errors, asked = opened(browser, address)
        made = Audit.read(design)
        rows, given = made.rows.tolist(), made.given
        assert row_of(page) == rows[0]
        assert page.inner_text("#given") == NAMES[given[rows[0]]]
        assert page.inner_text("#caption") == f"i{rows[0]}"
        assert page.inner_text("#progress") == "0 of 12 checked"
        assert page.locator("#suggested, #p-wrong, #neighbours").count() == 0
        assert press(page, "k") == rows[1]
        assert press(page, "o", "f", "o", "Enter") == rows[2]
        assert press(page, "n") == rows[3]
        assert press(page, "c") == rows[4]
        assert press(page, "2") == rows[5]
        expected = {rows[0]: int(given[rows[0]]), rows[1]: 3, rows[2]: -2, rows[3]: -1, rows[4]: 1}
        assert stands() == expected
        assert page.inner_text("#progress") == "5 of 12 checked"
        assert press(page, "u") == rows[4]
        assert page.inner_text("#said") == "Undone"
        assert stands() == {row: expected[row] for row in rows[:4]}
        assert press(page, "k") == rows[5]
        page.keyboard.press("v")
        page.wait_for_selector("#so-far code")
        assert page.inner_text("#so-far .verdict p:first-child").startswith("You checked 5 of 40 labels.")
        page.keyboard.press("k")
        page.keyboard.press("Escape")
        assert len(stands()) == 5
        page.route("**/answer", lambda route: route.abort())
        page.keyboard.press("k")
        page.wait_for_selector("#trouble:not([hidden])")
        assert page.inner_text("#trouble").startswith("Not saved: the server does not answer.")
        assert row_of(page) == rows[5]
        paths = [urlsplit(url).path.split("/", 2)[2] for url in asked]
        assert all(re.fullmatch(rf"{GETS}|answer|undo", path) for path in paths), paths
        assert [text for text in errors if "net::ERR_FAILED" not in text] == []
        page.context.close()

        page, errors, _ = opened(browser, address, viewport={"width": 360, "height": 640}, has_touch=True)
        assert row_of(page) == rows[5]
        assert page.inner_text("#progress") == "5 of 12 checked"
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        for button in ("#keep", "#other", "#none", "#unclear", "#undo"):
            box = page.locator(button).bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 360
            assert box["y"] + box["height"] <= 640
            assert box["height"] >= 40
        image = page.locator("#stage img").bounding_box()
        assert image["y"] + image["height"] <= page.locator("#actions").bounding_box()["y"]
        assert violations(page) == []
        page.tap("#keep")
        page.wait_for_selector(f"#item[data-row='{rows[6]}']")
        for row in rows[6:-1]:
            assert row_of(page) == row
            press(page, "k")
        page.keyboard.press("k")
        page.wait_for_selector("#finished code")
        assert page.inner_text("#finished h2") == "All checked"
        assert page.inner_text("#finished code") == f"truelabel audit {folder} --corrected corrected.csv"
        assert "of 40 labels are wrong" in page.inner_text("#finished .verdict")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert violations(page) == []
        assert len(stands()) == 12
        page.keyboard.press("u")
        page.wait_for_selector("#item:not([hidden])")
        assert row_of(page) == rows[-1]
        assert len(stands()) == 11
        assert errors == []
        page.context.close()
