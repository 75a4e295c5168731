"""The driver: runs the cells of a grid that the store has not, and writes what comes of them."""

from __future__ import annotations

import os
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from truelabel.lab import engines
from truelabel.lab.attempt import UNLIMITED, Limits, Work
from truelabel.lab.cell import Cell
from truelabel.lab.engines import Engine, Job
from truelabel.lab.experiment import run_cell
from truelabel.lab.progress import Board
from truelabel.lab.stages import Place
from truelabel.lab.store import Store, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from truelabel.lab.grid import Grid

POLL = 0.5  # seconds from one look at the engine to the next


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Attributes
    ----------
    ok, failed : int
        Cells that have figures, and cells that have an error, old and new.
    ran : int
        Cells that this run ran.
    """

    ok: int
    failed: int
    ran: int


def run(
    grid: Grid,
    store: str | os.PathLike[str],
    *,
    cache: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    device: str = "auto",
    weights: str | os.PathLike[str] | None = None,
    engine: str | Engine = "local",
    workers: int | None = None,
    address: str | None = None,
    records: str | os.PathLike[str] | None = None,
    retry_failed: bool = False,
    limits: Limits = UNLIMITED,
    show: bool | str = "auto",
    work: Work = run_cell,
) -> Outcome:
    """Run the cells of a grid that the store has no record of.

    It may be stopped at any time, and started again to go on: a cell is in the store when it has finished, and a
    training that was interrupted goes on from its last checkpoint.

    Parameters
    ----------
    grid : Grid
        What to run.
    store : path
        The store's file.
    cache : path, optional
        Folder of the shared stages; by default beside the store, with the ending .cache.
    root : path, optional
        Folder with the data, in torchvision's layout.
    device : str, default "auto"
        The best there is where "auto".
    weights : path, optional
        A file of ImageNet weights, for cells with a pretrained network.
    engine : {"local", "processes", "ray"} or Engine, default "local"
        Where cells run.
    workers, address : optional
        Of the engine, as in `engines.build`.
    records : path, optional
        A .parquet file of records to begin with, which `export` wrote.
    retry_failed : bool, default False
        Whether to run cells again that have failed.
    limits : Limits
        What a cell may take.
    show : bool or "auto", default "auto"
        Whether to show a live table; "auto" shows it on a terminal, and a line a cell elsewhere.
    work : function
        Runs a cell; there to be replaced by a test.

    Examples
    --------
    >>> import tempfile
    >>> from truelabel import lab
    >>> grid = lab.load_grid("smoke").only("sn:0.2 ce identity")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lab.run(grid, f"{folder}/lab.sqlite", show=False)
    Outcome(ok=3, failed=0, ran=3)
    """
    data, start = (None if path is None else Path(path).absolute() for path in (root, weights))
    place = Place(Path(cache or f"{os.fspath(store)}.cache").absolute(), data, device, start)
    with _alone(store), Store(store) as opened:
        if records is not None:
            opened.read(records)
        statuses = opened.statuses()
        known = {cell.key: statuses.get(cell.key) for cell in grid.cells}
        left = [cell for cell in grid.cells if known[cell.key] is None or (retry_failed and known[cell.key] != "ok")]
        queue = Queue(left)
        counts = Counter("ok" if status == "ok" else "failed" for status in known.values() if status is not None)
        counts["failed"] -= sum(known[cell.key] is not None for cell in left)
        if left:
            made = engine if isinstance(engine, Engine) else engines.build(engine, workers=workers, address=address)
            with made, Board(grid, counts, queue, made.slots, show) as board:
                _drive(made, queue, opened, board, lambda cell: Job(cell, place, limits, work))
        return Outcome(counts["ok"], counts["failed"], len(left))


def _drive(engine: Engine, queue: Queue, store: Store, board: Board, job: Callable[[Cell], Job]) -> None:
    running: dict[str, Cell] = {}
    while queue or running:
        while queue.ready and len(running) < engine.slots:
            cell = queue.next()
            running[cell.key] = cell
            engine.submit(job(cell))
            board.started(cell)
        found = engine.wait(POLL)
        if found is None:
            board.refresh()
            continue
        record = found[1]
        store.add(record)
        cell = running.pop(record.key)
        queue.finished(cell)
        board.finished(record)


class Queue:
    """Cells in the order they are to begin: of those that share a classifier, one first, the others after it.

    Two workers are then never at the same training, of which one could only wait.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.ready: deque[Cell] = deque()
        self._behind: dict[str, list[Cell]] = defaultdict(list)
        self.leaders: set[str] = set()
        for cell in cells:
            if cell.classifier_key in self._behind:
                self._behind[cell.classifier_key].append(cell)
            else:
                self._behind[cell.classifier_key] = []
                self.ready.append(cell)
                self.leaders.add(cell.key)

    def next(self) -> Cell:
        """Return the next cell."""
        return self.ready.popleft()

    def finished(self, cell: Cell) -> None:
        """Let those begin that waited for a cell's classifier, before any new one is trained."""
        self.ready.extendleft(reversed(self._behind.pop(cell.classifier_key, [])))

    @property
    def left(self) -> tuple[int, int]:
        """How many cells have yet to begin that train a classifier, and how many that find one."""
        leaders = sum(cell.key in self.leaders for cell in self.ready)
        return leaders, len(self.ready) - leaders + sum(map(len, self._behind.values()))

    def __bool__(self) -> bool:
        return bool(self.ready) or any(self._behind.values())


@contextmanager
def _alone(store: str | os.PathLike[str]) -> Iterator[None]:
    """Keep a second driver from the same store."""
    from filelock import FileLock, Timeout

    if os.fspath(store) == ":memory:":
        yield
        return
    path = Path(f"{os.fspath(store)}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=1)
        lock.acquire()
    except Timeout:
        raise StoreError(f"Another run is writing to {store}; wait for it, or name another store.") from None
    except OSError as error:
        raise StoreError(
            f"The store {store} cannot be written ({error}); make its folder writable, or name another file."
        ) from None
    try:
        yield
    finally:
        lock.release()
