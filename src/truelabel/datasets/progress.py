"""A progress bar for downloads."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn


class Bar:
    """What pooch asks of a progress bar (`total`, `update`, `reset`, `close`), drawn by rich."""

    def __init__(self, title: str) -> None:
        self.total = 0
        columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task(title, total=None)

    def update(self, size: int) -> None:
        """Move on by `size` bytes."""
        self._progress.start()
        self._progress.update(self._task, total=self.total or None, advance=size)

    def reset(self) -> None:
        """Go back to the beginning."""
        self._progress.reset(self._task)

    def close(self) -> None:
        """Leave the bar as it stands."""
        self._progress.stop()
