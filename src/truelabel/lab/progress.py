"""What a run shows while it is going on."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Self

from truelabel.lab.cell import Cell
from truelabel.lab.record import Record

if TYPE_CHECKING:
    from truelabel.lab.grid import Grid
    from truelabel.lab.run import Queue


class Board:
    """A live table on a terminal, a line for each finished cell elsewhere.

    Parameters
    ----------
    grid : Grid
        What is run.
    counts : Counter
        Cells that are "ok" and "failed" already; it is kept up to date.
    queue : Queue
        What has yet to begin.
    slots : int
        Cells at a time.
    show : bool or "auto"
        "auto" shows the table when standard error is a terminal, and else lines; False shows nothing.
    """

    def __init__(self, grid: Grid, counts: Counter[str], queue: Queue, slots: int, show: bool | str) -> None:
        if show not in (True, False, "auto"):
            raise ValueError(f'show must be True, False or "auto", not {show!r}.')
        self._grid, self._counts, self._queue, self._slots = grid, counts, queue, slots
        self._table = sys.stderr.isatty() if show == "auto" else bool(show)
        self._lines = show == "auto" and not self._table
        self._running: dict[str, tuple[Cell, float]] = {}
        self._spent: dict[bool, list[float]] = {True: [], False: []}
        self._last: list[str] = []
        self._live: Any = None

    def __enter__(self) -> Self:
        if self._table:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), get_renderable=self._render, refresh_per_second=2)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, cell: Cell) -> None:
        """Note that a cell has begun."""
        self._running[cell.key] = cell, time.monotonic()

    def finished(self, record: Record) -> None:
        """Note what became of a cell."""
        cell, began = self._running.pop(record.key)
        self._counts["ok" if record.ok else "failed"] += 1
        self._spent[record.key in self._queue.leaders].append(time.monotonic() - began)
        line = f"{cell.title}: {_said(record)}"
        self._last = [*self._last[-4:], line]
        if self._lines:
            done = self._counts["ok"] + self._counts["failed"]
            print(f"[{done}/{len(self._grid.cells)}] {line}; {self._left()} left", file=sys.stderr, flush=True)

    def refresh(self) -> None:
        """Look at the clock."""
        if self._live is not None:
            self._live.refresh()

    def seconds_left(self) -> float | None:
        """Return an estimate of the time left, from what cells took so far; None before any has finished."""
        leaders, followers = self._queue.left
        for cell, _ in self._running.values():
            if cell.key in self._queue.leaders:
                leaders += 1
            else:
                followers += 1
        every = [spent for kind in self._spent.values() for spent in kind]
        if not every:
            return None
        mean = {kind: sum(spent or every) / len(spent or every) for kind, spent in self._spent.items()}
        total = leaders * mean[True] + followers * mean[False]
        now = time.monotonic()
        under_way = sum(min(now - began, mean[key in self._queue.leaders]) for key, (_, began) in self._running.items())
        return max(0.0, total - under_way) / self._slots

    def _left(self) -> str:
        seconds = self.seconds_left()
        return "unknown" if seconds is None else clock(seconds)

    def _render(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        counts = Table(title=f"{self._grid.name}: {self._grid.title}", title_justify="left")
        for name in ("cells", "done", "running", "failed", "time left"):
            counts.add_column(name, justify="right")
        counts.add_row(
            str(len(self._grid.cells)),
            str(self._counts["ok"]),
            str(len(self._running)),
            str(self._counts["failed"]),
            self._left(),
        )
        now = time.monotonic()
        running = [f"▸ {cell.title} ({clock(now - began)})" for cell, began in self._running.values()]
        return Group(counts, Text("\n".join([*self._last, *running])))


def _said(record: Record) -> str:
    if not record.ok:
        return f"{record.status} ({record.error})"
    return f"{record.result['before']:.1%} → {record.result['after']:.1%}"


def clock(seconds: float) -> str:
    """Return a length of time as people say it.

    Examples
    --------
    >>> from truelabel.lab.progress import clock
    >>> clock(42), clock(754), clock(8040)
    ('42 s', '12 min 34 s', '2 h 14 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
