"""Examined labels made by hand, so that what the report must say is known."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truelabel import Predictions
from truelabel.labels import Count, Examined, LabelIssues, WrongLabels, items_of
from truelabel.labels.issues import table_of

HOSTILE = '"><img src=x onerror=alert(1)></script><script>alert(2)</script>&amp;'


def examined_by_hand(
    n: int = 60,
    names: tuple[str, ...] = ("cat", "dog", "elk"),
    source: dict[str, Any] | None = None,
    ids: list[str] | None = None,
    features: bool = True,
    **about: Any,
) -> Examined:
    """Return n instances of which every fifth has the wrong label; the classifier repeats all labels, 90 % sure.

    The posterior holds the true class to be 95 % probable where the label is wrong and 97 % where it is right.
    """
    c = len(names)
    truth = np.arange(n) % c
    given = np.where(np.arange(n) % 5 == 0, (truth + 1) % c, truth)
    wrong = given != truth
    sure = np.where(wrong, 0.95, 0.97) + np.arange(n) * 1e-7
    probs = np.full((n, c), 1.0) * ((1 - sure) / (c - 1))[:, None]
    probs[np.arange(n), truth] = sure
    x = np.random.default_rng(0).normal(size=(n, 6)) + 5 * np.eye(c, 6)[truth] if c <= 6 else np.eye(c)[truth]
    said = Predictions(
        np.eye(c)[given] * (0.9 - 0.1 / (c - 1)) + 0.1 / (c - 1),
        x if features else None,
        labels=given,
        class_names=names,
        ids=[f"i{k}" for k in range(n)] if ids is None else ids,
    )
    counts = {
        name: Count(float(wrong[given == k].sum()), 0.0, float((given == k).sum()), int((given == k).sum()))
        for k, name in enumerate(names)
    }
    total = Count(float(wrong.sum()), wrong.sum() - 2.0, wrong.sum() + 3.0, n)
    transition = np.full((c, c), 0.2 / (c - 1))
    np.fill_diagonal(transition, 0.8)
    found = LabelIssues(
        table_of(said, probs.astype(np.float32), names, None),
        given,
        probs.astype(np.float32),
        WrongLabels(total, counts),
        transition,
        names,
        None,
    )
    return Examined(said, found, items_of(source or {}, said.ids), about)


class Elements(HTMLParser):
    """The elements of a page, as a browser would find them, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._within: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.words.append(" ")
        if tag in ("style", "script"):
            self._within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._within and self._within[-1] == tag:
            self._within.pop()

    def handle_data(self, data: str) -> None:
        if not self._within:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="session")
def make() -> Callable[..., Examined]:
    return examined_by_hand


@pytest.fixture(scope="session")
def elements() -> type[Elements]:
    return Elements


@pytest.fixture(scope="session")
def hostile() -> str:
    """Text that would run, were it not escaped."""
    return HOSTILE


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """60 instances as images, texts, rows and names only, some of them hostile."""
    import pandas as pd

    where = tmp_path_factory.mktemp("instances")
    rng = np.random.default_rng(0)
    np.save(where / "images.npy", rng.integers(256, size=(60, 8, 8), dtype=np.uint8))
    texts = [f"text {k} {HOSTILE}" if k % 5 == 0 else f"text {k}" for k in range(60)]
    frame = pd.DataFrame({"message": texts, HOSTILE: texts, "length": rng.normal(size=60)})
    frame.to_csv(where / "table.csv", index=False)
    table = str(where / "table.csv")
    return {
        "image": {"array": str(where / "images.npy")},
        "text": {"kind": "text", "table": table, "columns": ["message"]},
        "row": {"table": table},
        "name": {},
    }


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """Write a report and return the page."""
    from truelabel.report import write_report

    def write(examined: Examined, **options: Any) -> str:
        path = write_report(examined, tmp_path / "report.html", **({"layout": "pca"} | options), progress=False)
        return path.read_text(encoding="utf-8")

    return write
