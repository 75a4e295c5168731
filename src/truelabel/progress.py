"""Progress on long work: a bar on a terminal, nothing when the output is piped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from types import TracebackType
from typing import Any, TypeVar

Item = TypeVar("Item")


class Progress:
    """A context in which loops are tracked, one bar each.

    Parameters
    ----------
    show : bool or "auto"
        "auto" shows bars when standard error is a terminal.
    """

    def __init__(self, show: bool | str = "auto") -> None:
        if show not in (True, False, "auto"):
            raise ValueError(f'progress must be True, False or "auto", not {show!r}.')
        self._show = sys.stderr.isatty() if show == "auto" else bool(show)
        self._bars: Any = None

    def __enter__(self) -> Progress:
        if self._show:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bars

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            )
            self._bars = Bars(*columns, console=Console(stderr=True), transient=True)
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    def track(self, items: Iterable[Item], title: str) -> Iterator[Item]:
        """Loop over `items` with a bar under `title`."""
        advance = self.bar(title, len(items) if isinstance(items, Sized) else None)
        for item in items:
            yield item
            advance(title)

    def bar(self, title: str, total: int | None, done: int = 0) -> Callable[[str], None]:
        """Start a bar; calling what is returned moves it on by one, under a new title."""
        bars = self._bars
        if bars is None:
            return lambda title: None
        task = bars.add_task(title, total=total, completed=done)

        def advance(title: str) -> None:
            bars.update(task, advance=1, description=title)

        return advance
