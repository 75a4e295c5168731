"""Examined labels of every kind, made up so that nothing has to be trained, and a server that shows them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest

from review_tabs import Tabs
from truelabel import Predictions
from truelabel.labels.examined import Examined, examined
from truelabel.labels.issues import LabelIssues, titles
from truelabel.labels.wrong import Count, WrongLabels

NAMES = ("cat", "dog", "elk", "fox")
SCRIPT = "<script>document.title = 'broken'</script> & <b>bold</b>"


def found_in(said: Predictions, probs: np.ndarray) -> LabelIssues:
    """What would be found if p(y | x, ŷ, ỹ) were `probs`."""
    n, labels, suggested = len(said), said.labels, probs.argmax(axis=1)
    names = said.class_names or tuple(range(said.n_classes))
    p_wrong = 1 - probs[np.arange(n), labels]
    table = pd.DataFrame(
        {
            "id": np.arange(n) if said.ids is None else said.ids,
            "given": titles(names)[labels],
            "suggested": titles(names)[suggested],
            "p_wrong": p_wrong,
            "p_suggested": probs.max(axis=1),
            "uncertainty": -(probs * np.log(probs)).sum(axis=1),
            "support": pd.array([5] * n, dtype="Int64"),
        }
    ).iloc[np.argsort(-p_wrong, kind="stable")]
    every = {name: Count(1.0, 0.0, 2.0, n) for name in names}
    wrong = WrongLabels(Count(float(p_wrong.sum()), 0.0, float(n), n), every)
    return LabelIssues(table, labels, probs.astype(np.float32), wrong, np.eye(len(names)), names, None)


def made_up(
    n: int, source: dict[str, object] | None = None, *, suspects: float = 0.5, names: object = NAMES
) -> Examined:
    """Examined labels of n instances in four blobs, of which a share is suspicious."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 4
    wrong = np.arange(n) < suspects * n
    labels = np.where(wrong, (truth + 1 + np.arange(n) // 4 % 3) % 4, truth)
    sure = rng.uniform(0.5, 0.9, size=n)[:, None]
    probs = sure * np.eye(4)[truth] + (1 - sure) * rng.dirichlet(np.ones(4), size=n)
    x = (6 * np.eye(4, 8)[truth] + rng.normal(size=(n, 8))).astype(np.float32)
    ids = None if names is None else [f"i{k}" for k in range(n)]
    said = Predictions(0.91 * np.eye(4)[labels] + 0.0225, x, labels=labels, class_names=names, ids=ids)
    return examined(said, found_in(said, probs), source)


def pictures(n: int, path: Path) -> dict[str, object]:
    """An array of n small images, each with a bar whose place tells its class, as a source of items."""
    images = np.random.default_rng(1).integers(0, 60, size=(n, 28, 28), dtype=np.uint8)
    for k in range(4):
        images[k::4, 4 + 5 * k : 8 + 5 * k, 4:24] = 230
    np.save(path, images)
    return {"array": str(path)}


def sentences(n: int, path: Path) -> dict[str, object]:
    """A table of n texts, some of them hostile, as a source of items."""
    texts = [f"{SCRIPT} {k}" if k % 3 == 0 else f"The {NAMES[k % 4]} sat on mat {k}." for k in range(n)]
    pd.DataFrame({"text": texts}).to_csv(path, index=False)
    return {"kind": "text", "table": str(path), "columns": ["text"]}


@pytest.fixture(scope="session", name="made_up")
def _made_up() -> Callable[..., Examined]:
    return made_up


@pytest.fixture(scope="session", name="pictures")
def _pictures() -> Callable[[int, Path], dict[str, object]]:
    return pictures


@pytest.fixture(scope="session", name="serving")
def _serving() -> Callable[..., AbstractContextManager[str]]:
    return serving


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with forty examined labels each: names alone, texts, rows, images."""
    home = tmp_path_factory.mktemp("examined")
    sources = {
        "name": None,
        "text": sentences(40, home / "texts.csv"),
        "row": {"kind": "row", "table": str(home / "texts.csv"), "columns": ["text"]},
        "image": pictures(40, home / "images.npy"),
    }
    return {kind: made_up(40, source).write(home / kind) for kind, source in sources.items()}


@contextmanager
def serving(folder: Path, decisions: Path, *words: str) -> Iterator[str]:
    """Run `truelabel review` as a process of its own and give the page's address."""
    command = [
        sys.executable,
        "-c",
        "from truelabel.cli import main; main()",
        "review",
        str(folder),
        "--no-browser",
        "--decisions",
        str(decisions),
    ]
    with subprocess.Popen([*command, *words], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            yield re.match(r"Review: (\S+)\n", line)[1]
        finally:
            server.send_signal(signal.SIGINT)
            server.stdout.read()


@pytest.fixture
def tabs(browser: Any) -> Iterator[Tabs]:
    """Tabs of which, at the end, none may have complained or asked anybody but this machine."""
    from playwright.sync_api import expect

    expect.set_options(timeout=15_000)  # as the tabs have it: a busy machine takes longer than five seconds
    opened = Tabs(browser)
    yield opened
    for context in opened.contexts:
        context.close()
    assert opened.errors == []
    assert {urlsplit(url).hostname for url in opened.asked} == {"127.0.0.1"}
