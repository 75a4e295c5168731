"""The report in a browser: quiet, self-contained, readable, usable by keyboard, on a phone and on paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truelabel.labels import Examined, Votes, consensus
from truelabel.report import write_report

KINDS = ("image", "text", "row", "name")
Open = Callable[..., Any]


def with_copies(examined: Examined) -> Examined:
    """Return the same with the last five instances copies of the first, two of them with another label."""
    x = np.array(examined.predictions.features)
    x[-5:] = x[:5]
    return replace(examined, predictions=examined.predictions.replace(features=x))


@pytest.fixture(scope="module")
def reports(
    make: Callable[..., Examined],
    sources: dict[str, dict[str, Any]],
    hostile: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:
    """A report for each kind of instance, and one with many classes of long names and the truth beside."""
    where = tmp_path_factory.mktemp("reports")
    noted = {"memorisation": 0.9, "agreement": 1.0, "changed": 0.2, "disagreement": 0.2, "weights": {"vote": 1.0}}
    names = (f"cat {hostile}", "dog", "elk")
    made = {
        kind: write_report(
            with_copies(make(names=names, source=sources[kind], report=noted, note=hostile)),
            where / f"{kind}.html",
            title=hostile,
            layout="pca",
            progress=False,
        )
        for kind in KINDS
    }
    examined = with_copies(make(names=names, source=sources["image"]))
    votes = np.stack([np.arange(60) % 3, np.arange(60) // 2 % 3], axis=1)
    people = consensus(Votes(votes, annotators=["averylongnameofsomebodywholabelled" * 3, hostile], class_names=names))
    made["voted"] = write_report(
        replace(examined, found=replace(examined.found, consensus=people)),
        where / "voted.html",
        layout="pca",
        progress=False,
    )
    many = tuple(f"averylongclassnamewithoutanyspacetobreakat{k}" for k in range(30))
    truth = [k % 30 for k in range(900)]
    made["many"] = write_report(
        make(900, many, ids=["x" * 200 + str(k) for k in range(900)]),
        where / "many.html",
        truth=truth,
        layout="pca",
        progress=False,
    )
    return made


@pytest.fixture
def opened(browser: Any, reports: dict[str, Path]) -> Iterator[Open]:
    """Open a report; what the console says and every request is kept, and must come to nothing."""
    contexts, noise, requests = [], [], []

    def open_report(kind: str, width: int = 1280, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: noise.append(message.text))
        page.on("pageerror", lambda error: noise.append(str(error)))
        page.on("dialog", lambda dialog: (noise.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(reports[kind].as_uri())
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert noise == []
    assert requests
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert {url for url in requests if url.startswith("file:")} <= {path.as_uri() for path in reports.values()}


@pytest.mark.parametrize("kind", [*KINDS, "many", "voted"])
def test_a_phone_shows_it_without_scrolling_sideways(kind: str, opened: Open) -> None:
    page = opened(kind, width=360)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    wide = page.evaluate(
        "[...document.querySelectorAll('main > section > *')].filter(e => e.getBoundingClientRect().right > 361).length"
    )
    assert wide == 0


@pytest.mark.parametrize(
    ("kind", "scheme", "width"),
    [("image", "light", 1280), ("row", "dark", 1280), ("text", "light", 360), ("voted", "dark", 360)],
)
def test_axe_finds_no_fault(kind: str, scheme: str, width: int, opened: Open) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page = opened(kind, width=width, scheme=scheme)
    page.locator("#atlas").focus()
    page.keyboard.press("ArrowRight")
    for details in page.locator("summary").all():
        details.click()
    result = axe.Axe().run(page, options={"resultTypes": ["violations", "passes"]}).response
    assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in result["violations"]] == []
    assert "color-contrast" in {rule["id"] for rule in result["passes"]}


def test_it_is_dark_when_the_system_is_and_as_the_reader_wishes(opened: Open) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    white = "rgb(255, 255, 255)"
    page = opened("name", scheme="dark")
    dark = page.evaluate(ground)
    assert dark != white
    page.locator("#theme").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(f"{ground} === '{white}'")
    page.reload()
    page.wait_for_function(f"{ground} === '{white}'")
    assert page.locator("#theme").inner_text() == "Theme: light"
    page.locator("#theme").click()
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"{ground} === '{dark}'")
    page.locator("#theme").click()
    page.wait_for_function(f"{ground} === '{white}'")


def test_the_map_is_read_by_keyboard_and_by_pointing(opened: Open) -> None:
    page = opened("text")
    said = page.locator("#instance")
    assert "No instance is chosen." in said.inner_text()
    page.locator("input[name=by]").last.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "atlas"
    page.keyboard.press("ArrowRight")
    # Instance 0 is the most suspicious, 5 the next: the posterior is a little surer of every later one.
    first = said.inner_text()
    page.keyboard.press("ArrowRight")
    second = said.inner_text()
    assert {"labelled", "suggested"} <= set(first.split())
    assert first != second
    page.keyboard.press("Home")
    assert said.inner_text() == first
    page.keyboard.press("End")
    assert "which seems right" in said.inner_text()
    circle = page.locator("#atlas circle").nth(-2)
    assert circle.get_attribute("class").endswith(" x")
    circle.scroll_into_view_if_needed()
    box = circle.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert said.inner_text() == first
    page.locator("#atlas").press("Escape")
    assert "No instance is chosen." in said.inner_text()


def test_the_map_is_coloured_as_asked_and_shows_classes_alone(opened: Open) -> None:
    page = opened("image")
    suspect = page.locator("#atlas circle.x").first
    colour = "e => getComputedStyle(e).fill"
    by_given = suspect.evaluate(colour)
    page.get_by_label("suggested label", exact=True).check()
    assert suspect.evaluate(colour) != by_given
    page.locator(".classes-key button").nth(1).click()
    dimmed = page.locator("#atlas circle.dim").count()
    assert dimmed == 40
    page.get_by_label("probability of being wrong").check()
    assert page.locator("#atlas circle.dim").count() == 0
    assert page.locator(".doubt-key").is_visible()
    assert not page.locator(".classes-key").is_visible()


def test_pointing_at_an_image_shows_it(opened: Open) -> None:
    page = opened("image")
    page.locator("#atlas").focus()
    page.keyboard.press("ArrowRight")
    drawn = page.evaluate(
        "[...document.querySelector('#instance canvas').getContext('2d').getImageData(40, 40, 60, 60).data]"
    )
    assert page.locator("#instance canvas").is_visible()
    assert len(set(drawn[::4])) > 10


def test_the_gallery_shows_more_and_one_class_alone(opened: Open, hostile: str) -> None:
    page = opened("many")
    cards = page.locator("#gallery > li")
    assert cards.count() == 100
    assert cards.filter(visible=True).count() == 18
    page.locator("#more").press("Enter")
    assert cards.filter(visible=True).count() == 100
    assert not page.locator("#more").is_visible()
    page = opened("text")
    page.locator("#only").select_option(f"cat {hostile}")
    assert page.locator("#gallery > li:visible").count() == 4
    assert page.locator("#shown").inner_text() == "4 labels shown"
    assert hostile in page.locator("h1").inner_text()


def test_paper_is_white_and_has_every_label(opened: Open) -> None:
    page = opened("many", scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#gallery > li").filter(visible=True).count() == 100
    for control in ("nav", "#theme", "#more", "#only"):
        assert not page.locator(control).is_visible()
    assert len(page.pdf(format="A4")) > 10_000


def test_without_scripts_everything_but_the_controls_is_there(browser: Any, reports: dict[str, Path]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(reports["image"].as_uri())
    assert page.locator("#gallery > li").filter(visible=True).count() == 12
    assert page.locator("#atlas").is_visible()
    for control in ("#theme", "#more", "#only", "#instance"):
        assert not page.locator(control).is_visible()
    context.close()
