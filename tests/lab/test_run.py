import errno
import os
import sqlite3
import subprocess

import pytest

from truelabel.lab import Limits, Store, StoreError, engines, run, run_cell
from truelabel.lab.attempt import DiskError
from truelabel.lab.run import Queue

BROKEN = {"method_settings": {"epochs": 2, "batch_size": 32, "learning_rate": 1e30}}


def outcomes(path):
    with Store(path, read_only=True) as store:
        return [record.outcome() for record in store.records()]


def test_a_grid_is_run_once(tiny_grid, tmp_path):
    ran = []

    def work(cell, place):
        ran.append(cell.key)
        return run_cell(cell, place)

    grid, store = tiny_grid(calibrator=["identity", "knn"], seed=[0, 1]), tmp_path / "lab.sqlite"
    first = run(grid, store, show=False, work=work)
    assert (first.ok, first.failed, first.ran) == (4, 0, 4)
    again = run(grid, store, show=False, work=work)
    assert (again.ok, again.failed, again.ran) == (4, 0, 0)
    assert sorted(ran) == sorted(cell.key for cell in grid.cells)
    assert [each["key"] for each in outcomes(store)] == sorted(ran)
    assert (tmp_path / "lab.sqlite.cache").is_dir()


def test_a_cell_that_raises_is_recorded_and_the_rest_go_on(tiny, tiny_grid, tmp_path):
    store = tmp_path / "lab.sqlite"
    grid = tiny_grid(method=["ce", "sce"])
    broken = tiny(**BROKEN)
    grid = type(grid)("some", "", "", (broken, *grid.cells))
    found = run(grid, store, show=False)
    assert (found.ok, found.failed, found.ran) == (2, 1, 3)
    with Store(store, read_only=True) as opened:
        (record,) = opened.records([broken.key])
    assert record.status == "failed"
    assert record.error == "ValueError: The loss became nan in epoch 1; lower learning_rate."
    assert "_epoch" in record.trace


def test_failed_cells_are_retried_on_request_alone(tiny_grid, tmp_path):
    grid, store = tiny_grid(), tmp_path / "lab.sqlite"
    calls = []

    def once(cell, place):
        calls.append(cell)
        if len(calls) == 1:
            raise RuntimeError("not today")
        return run_cell(cell, place)

    assert run(grid, store, show=False, work=once).failed == 1
    assert run(grid, store, show=False, work=once).ran == 0
    found = run(grid, store, show=False, work=once, retry_failed=True)
    assert (found.ok, found.failed, found.ran) == (1, 0, 1)
    assert [each["status"] for each in outcomes(store)] == ["ok"]


def test_a_cell_past_its_limit_is_recorded_and_the_rest_go_on(tiny, tiny_grid, tmp_path):
    endless = tiny(method_settings={"epochs": 1_000_000, "batch_size": 32})
    grid = tiny_grid(method=["ce", "sce"])
    run(grid, tmp_path / "lab.sqlite", show=False)  # the others need no time then
    grid = type(grid)("some", "", "", (endless, *grid.cells))
    found = run(grid, tmp_path / "lab.sqlite", show=False, limits=Limits(0.5))
    assert (found.ok, found.failed) == (2, 1)
    with Store(tmp_path / "lab.sqlite", read_only=True) as opened:
        (record,) = opened.records([endless.key])
    assert (record.status, record.error) == ("timeout", "It took longer than its limit of 0.5 s.")


def test_memory_is_not_limited_in_this_process(tiny_grid, tmp_path):
    with pytest.raises(ValueError, match="local cannot limit a cell's memory; use the engine processes"):
        run(tiny_grid(), tmp_path / "lab.sqlite", show=False, limits=Limits(memory=1))


def test_an_interrupted_run_keeps_what_has_finished(tiny_grid, tmp_path):
    def work(cell, place):
        if cell.noise_seed == 1:
            raise KeyboardInterrupt
        return run_cell(cell, place)

    grid = tiny_grid(seed=[0, 1, 2])
    with pytest.raises(KeyboardInterrupt):
        run(grid, tmp_path / "lab.sqlite", show=False, work=work)
    assert len(outcomes(tmp_path / "lab.sqlite")) == 1
    assert run(grid, tmp_path / "lab.sqlite", show=False).ran == 2


def test_of_cells_that_share_a_classifier_one_goes_first(tiny):
    cells = [tiny(method=method, calibrator=name) for method in ("ce", "sce") for name in ("identity", "knn", "rog")]
    queue = Queue(cells)
    assert queue.left == (2, 4)
    assert [queue.next().method, queue.next().method] == ["ce", "sce"]
    assert not queue.ready
    assert queue
    queue.finished(cells[3])
    assert [(cell.method, cell.calibrator) for cell in queue.ready] == [("sce", "knn"), ("sce", "rog")]
    queue.finished(cells[0])
    assert [cell.method for cell in queue.ready] == ["ce", "ce", "sce", "sce"]
    assert queue.left == (0, 4)


def test_a_second_driver_is_refused(tiny_grid, tmp_path):
    store = tmp_path / "lab.sqlite"

    def work(cell, place):
        with pytest.raises(StoreError, match="Another run is writing to"):
            run(tiny_grid(), store, show=False)
        return run_cell(cell, place)

    assert run(tiny_grid(), store, show=False, work=work).ok == 1


def test_a_store_that_fills_up_stops_the_run_and_loses_nothing(tiny_grid, tmp_path, monkeypatch):
    grid, store = tiny_grid(seed=[0, 1, 2, 3, 4]), tmp_path / "lab.sqlite"
    create = Store._create

    def cramped(self):
        connection = create(self)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        return connection

    monkeypatch.setattr(Store, "_create", cramped)
    with pytest.raises(StoreError, match="full"):
        run(grid, store, show=False)
    monkeypatch.undo()
    kept = outcomes(store)
    assert 0 < len(kept) < 5
    assert run(grid, store, show=False).ran == 5 - len(kept)
    assert all(each in outcomes(store) for each in kept)
    assert sqlite3.connect(store).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_full_disk_under_the_cache_stops_the_run_and_blames_no_cell(tiny_grid, tmp_path):
    def work(cell, place):
        if cell.noise_seed:
            raise OSError(errno.ENOSPC, "No space left on device")
        return run_cell(cell, place)

    with pytest.raises(DiskError, match=r"The disk cannot be written \(.*No space left.*\); make room in"):
        run(tiny_grid(seed=[0, 1, 2]), tmp_path / "lab.sqlite", show=False, work=work)
    assert [each["status"] for each in outcomes(tmp_path / "lab.sqlite")] == ["ok"]
    assert run(tiny_grid(seed=[0, 1, 2]), tmp_path / "lab.sqlite", show=False).ok == 3


@pytest.fixture
def small_disk(tmp_path):
    """A disk of half a megabyte, where the system lets us have one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", folder]
    try:
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("may not mount a disk")
    except FileNotFoundError:
        pytest.skip("has no mount")
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(path):
    with pytest.raises(OSError, match="No space left"):
        path.write_bytes(bytes(1_000_000))


@pytest.mark.parametrize("what", ["cache", "store"])
def test_a_disk_that_is_really_full(tiny_grid, tmp_path, small_disk, what):
    grid = tiny_grid(seed=[0, 1, 2])
    paths = {"store": tmp_path / "lab.sqlite", "cache": tmp_path / "cache"} | {what: small_disk / what}
    run(grid.only("digits"), tmp_path / "other.sqlite", show=False)
    run(type(grid)("one", "", "", grid.cells[:1]), paths["store"], cache=tmp_path / "cache", show=False)
    filler = small_disk / "filler"
    fill(filler)
    with pytest.raises(OSError, match=r"make room|run again"):
        run(grid, paths["store"], cache=paths["cache"], show=False)
    if what == "cache":
        assert len(outcomes(paths["store"])) == 1
    filler.unlink()
    found = run(grid, paths["store"], cache=tmp_path / "cache", show=False)
    assert (found.ok, found.failed, found.ran) == (3, 0, 2)


def test_a_disk_that_is_really_read_only(tiny_grid, tmp_path, small_disk):
    store = small_disk / "lab.sqlite"
    run(tiny_grid(), store, cache=tmp_path / "cache", show=False)
    before = outcomes(store)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(StoreError, match=r"cannot be written \(.*Read-only file system.*\); make its folder writable"):
        run(tiny_grid(seed=[0, 1]), store, cache=tmp_path / "cache", show=False)
    assert outcomes(store) == before
    with pytest.raises(DiskError, match=r"The disk cannot be written \(.*Read-only file system"):
        run(tiny_grid(seed=[0, 1]), tmp_path / "lab.sqlite", cache=small_disk / "cache", show=False)
    assert outcomes(tmp_path / "lab.sqlite") == []
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    assert run(tiny_grid(seed=[0, 1]), store, cache=tmp_path / "cache", show=False).ran == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_folder_that_cannot_be_written_is_a_clear_error(tiny_grid, tmp_path):
    run(tiny_grid(), tmp_path / "lab.sqlite", show=False)
    before = outcomes(tmp_path / "lab.sqlite")
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(StoreError, match="cannot be"):
            run(tiny_grid(seed=[0, 1]), tmp_path / "lab.sqlite", show=False)
        assert outcomes(tmp_path / "lab.sqlite") == before
    finally:
        tmp_path.chmod(0o755)


def test_off_a_terminal_each_cell_is_a_line(tiny_grid, tmp_path, capsys):
    run(tiny_grid(calibrator=["identity", "knn"]), tmp_path / "lab.sqlite")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("[1/2] digits sn:0.2 ce identity: ")
    assert lines[1].endswith("; 0 s left")


def test_the_live_table(tiny, tiny_grid, tmp_path, monkeypatch):
    import io

    from rich.console import Console

    from truelabel.lab import progress

    out = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=out, force_terminal=True, width=100))
    grid = tiny_grid(method=["ce", "sce"])
    run(type(grid)("some", "", "", (tiny(**BROKEN), *grid.cells)), tmp_path / "lab.sqlite", show=True)
    shown = out.getvalue()
    for text in ("done", "running", "failed", "time left", "digits sn:0.2 sce identity", "lower learning_rate"):
        assert text in shown
    assert progress.clock(3_725) == "1 h 2 min"


def test_engines_by_name():
    assert engines.build("local").slots == 1
    assert engines.build("processes", workers=3).slots == 3
    with pytest.raises(ValueError, match="no engine named 'cloud'"):
        engines.build("cloud")
    with pytest.raises(ValueError, match="workers must be at least 1"):
        engines.build("processes", workers=0)
    with pytest.raises(ValueError, match="has one worker, not 2"):
        engines.build("local", workers=2)
    with pytest.raises(ValueError, match="An address is for the engine ray"):
        engines.build("local", address="auto")


def test_limits_are_positive():
    with pytest.raises(ValueError, match="The limit of seconds must be above 0"):
        Limits(0)
