"""Whatever ends the server, a decision that it has answered is in the file."""

from __future__ import annotations

import multiprocessing
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from truelabel.labels.examined import Examined
from truelabel.review import Decisions, serve

KILLS = 20
TABS = 3


def review_until_it_is_gone(address: str, rows: Iterator[int], answered: dict[int, int], busy: threading.Event) -> None:
    """Decide about one row after another, as quickly as the server answers, and note what it answered."""
    with httpx.Client(base_url=address, timeout=10) as page:
        for row in rows:
            try:
                answer = page.post("decide", json={"row": row, "label": row % 4, "tab": str(row % TABS)})
            except httpx.TransportError:
                return
            assert answer.status_code == 200
            answered[row] = row % 4
            busy.set()


@pytest.fixture(scope="module")
def processes() -> multiprocessing.context.ForkServerContext:
    """Processes that begin with everything imported, so that twenty servers take seconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["truelabel.review.server", "truelabel.labels.examined", "uvicorn", "pandas", "faiss"]
    )
    return context


def test_no_answered_decision_is_ever_missing(
    made_up: Callable[..., Examined], processes: multiprocessing.context.ForkServerContext, tmp_path: Path
) -> None:
    examined = made_up(6000)
    path = tmp_path / "decisions.sqlite"
    rng = random.Random(0)
    rows = [iter(range(tab, len(examined), TABS)) for tab in range(TABS)]
    answered: dict[int, int] = {}
    for _ in range(KILLS):
        heard, told = processes.Pipe(duplex=False)
        server = processes.Process(target=serve, args=(examined, path), kwargs={"browser": False, "ready": told.send})
        server.start()
        assert heard.poll(30)
        address, busy = heard.recv(), threading.Event()
        tabs = [
            threading.Thread(target=review_until_it_is_gone, args=(address, rows[tab], answered, busy))
            for tab in range(TABS)
        ]
        for tab in tabs:
            tab.start()
        assert busy.wait(30)
        tabs[0].join(rng.uniform(0, 0.15))
        server.kill()
        server.join()
        for tab in tabs:
            tab.join()
        with Decisions(path) as kept:
            stands = dict(zip(*(part.tolist() for part in kept.trusted()), strict=True))
        assert answered.items() <= stands.items()
        assert len(stands) <= len(answered) + TABS * KILLS
    assert len(answered) > 2 * KILLS
