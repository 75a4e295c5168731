"""The review page in browsers: `from review_tabs import Tabs, kept, press, row_of, violations`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truelabel.review import Decisions

Page = Any


class Tabs:
    """Opens tabs, and notes what none of them may do."""

    def __init__(self, browser: Any) -> None:
        self.browser, self.contexts, self.errors, self.asked = browser, [], [], []

    def context(self, **settings: Any) -> Any:
        context = self.browser.new_context(**{"viewport": {"width": 1280, "height": 860}} | settings)
        context.set_default_timeout(15_000)
        self.contexts.append(context)
        return context

    def open(self, address: str, context: Any = None, **settings: Any) -> Page:
        page = (context or self.context(**settings)).new_page()
        page.on("console", lambda said: self.errors.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(address)
        page.wait_for_selector("#item[data-row] #stage > *")
        return page


def row_of(page: Page) -> int:
    return int(page.get_attribute("#item", "data-row"))


def press(page: Page, *keys: str) -> int:
    """Press keys one after the other, each of which leads to another suspect; return the suspect on show."""
    for key in keys:
        before = row_of(page)
        page.keyboard.press(key)
        page.wait_for_selector(f"#item:not([data-row='{before}'])")
    return row_of(page)


def kept(path: Path) -> dict[int, tuple[str, Any]]:
    with Decisions(path) as decided:
        table = decided.table()
    return {row: (line["decision"], line["label"]) for row, line in table.iterrows()}


def violations(page: Page) -> list[str]:
    """What axe-core finds wrong with a page, contrast included."""
    from axe_playwright_python import sync_playwright as axe

    found = axe.Axe().run(page).response
    checked = {rule["id"] for rule in found["passes"] + found["violations"]}
    assert "color-contrast" in checked
    return [f"{rule['id']}: {node['html']} {node['any']}" for rule in found["violations"] for node in rule["nodes"]]


@contextmanager
def started(folder: Path, decisions: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `truelabel review` as a process of its own, which a test may kill; give it and the page's address."""
    command = [sys.executable, "-c", "from truelabel.cli import main; main()", "review", str(folder), "--no-browser"]
    words = (*command, "--decisions", str(decisions), *words)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server, re.match(r"Review: (\S+)\n", server.stdout.readline())[1]
        finally:
            server.kill()
