"""Whatever ends the server, a decision that it has answered is in the file."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from itertools import cycle, pairwise
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


def both_decide(
    address: str, who: str, rows: Iterator[int], seen: dict[int, set[int]], answered: set[tuple[int, str]]
) -> None:
    """Decide about rows that somebody else decides about, too; change most decisions of theirs that are shown."""
    with httpx.Client(base_url=address, timeout=10) as page:
        for row in rows:
            said = {"row": row, "label": row % 4, "tab": who, "reviewer": who}
            try:
                answer = page.post("decide", json=said).json()
                if "conflict" in answer:
                    stands = answer["conflict"]["seq"]
                    seen.setdefault(row, set()).add(stands)
                    if stands % 4 == 0:
                        continue
                    answer = page.post("decide", json=said | {"seen": stands}).json()
            except httpx.TransportError:
                return
            if "decision" in answer:
                answered.add((row, who))


def test_nothing_of_one_reviewer_is_overwritten_unseen_by_another(
    made_up: Callable[..., Examined], processes: multiprocessing.context.ForkServerContext, tmp_path: Path
) -> None:
    examined = made_up(40)
    path = tmp_path / "decisions.sqlite"
    rng = random.Random(0)
    names = ("Anna", "Ben")
    rows = {who: cycle(range(len(examined))) for who in names}
    seen: dict[str, dict[int, set[int]]] = {who: {} for who in names}
    answered: set[tuple[int, str]] = set()
    for _ in range(KILLS // 2):
        here, there = processes.Pipe(duplex=False)
        server = processes.Process(target=serve, args=(examined, path), kwargs={"browser": False, "ready": there.send})
        server.start()
        assert here.poll(30)
        address = here.recv()
        people = [
            threading.Thread(target=both_decide, args=(address, who, rows[who], seen[who], answered)) for who in names
        ]
        for person in people:
            person.start()
        people[0].join(rng.uniform(0.2, 0.5))
        server.kill()
        server.join()
        for person in people:
            person.join()
    with sqlite3.connect(path) as file:
        log = file.execute("SELECT row, seq, tab, reviewer FROM log ORDER BY row, seq").fetchall()
    assert answered <= {(row, tab) for row, _, tab, _ in log}
    overwritten = [(one, other) for one, other in pairwise(log) if one[0] == other[0] and one[2] != other[2]]
    assert len(overwritten) > KILLS
    for (row, seq, _, _), (_, _, tab, reviewer) in overwritten:
        assert seq in seen[tab][row]
        assert reviewer == tab
