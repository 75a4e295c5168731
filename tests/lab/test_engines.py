"""The same records whatever the engine, and what becomes of cells that take their process with them."""

import importlib.util
import os
import signal
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import pytest

from truelabel.lab import Limits, Record, Store, load_grid, run
from truelabel.lab.attempt import DiskError
from truelabel.lab.engines import Job
from truelabel.lab.engines.processes import Processes

HAS_RAY = importlib.util.find_spec("ray") is not None
RAY = pytest.param("ray", marks=pytest.mark.skipif(not HAS_RAY, reason="needs the extra ray"))


@pytest.fixture(scope="module")
def ray_cluster():
    """One cluster for all tests here: it takes seconds to start."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


@pytest.fixture(params=["processes", RAY])
def engine(request):
    if request.param == "ray":
        request.getfixturevalue("ray_cluster")
    return request.param


def outcomes(path):
    with Store(path, read_only=True) as store:
        return [record.outcome() for record in store.records()]


@pytest.fixture(scope="module")
def smoke():
    """The grid smoke with one seed, one noise and few epochs: every method, every calibrator."""
    grid = load_grid("smoke")
    cells = tuple(
        replace(cell, method_settings=cell.settings("method") | {"epochs": 3})
        for cell in grid.cells
        if cell.noise_seed == 0 and cell.noise == "idn"
    )
    assert len(cells) == 13
    assert {cell.calibrator for cell in cells} == {"identity", "knn", "npc-paper", "npc"}
    return replace(grid, cells=cells)


@pytest.fixture(scope="module")
def by_hand(smoke, tmp_path_factory):
    """The records of the local engine, to compare others with."""
    folder = tmp_path_factory.mktemp("local")
    assert run(smoke, folder / "lab.sqlite", show=False).ok == len(smoke.cells)
    return outcomes(folder / "lab.sqlite")


def test_every_engine_writes_the_same_records(engine, smoke, by_hand, tmp_path):
    assert run(smoke, tmp_path / "lab.sqlite", engine=engine, workers=2, show=False).ok == len(smoke.cells)
    assert outcomes(tmp_path / "lab.sqlite") == by_hand
    # A cell that shares a classifier never trains its own.
    assert len(list((tmp_path / "lab.sqlite.cache" / "classifiers").rglob("trained.json"))) == 4


def test_a_cell_costs_no_other_whatever_it_does(engine, tiny_grid, tmp_path):
    def work(cell, place):  # goes to the workers by value
        import ctypes

        if cell.method == "sce":
            os.kill(os.getpid(), signal.SIGKILL)
        if cell.method == "gce":
            raise RuntimeError("not mine")
        if cell.method == "tvr":
            while True:
                time.sleep(0.01)
        if cell.method == "rel":
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            ctypes.PyDLL(None).sleep(600)  # hears no signal and keeps the interpreter to itself
        if cell.method == "forward":
            bytearray(4 * 2**30)
        return Record(cell, "ok", {"before": 0.5, "after": 0.5})

    grid = tiny_grid(method=["sce", "ce", "rel", "gce", "tvr", "forward", "labelsmoothing"])
    limits = Limits(2, memory=2, grace=0.5)
    began = time.monotonic()
    found = run(grid, tmp_path / "lab.sqlite", engine=engine, workers=2, show=False, work=work, limits=limits)
    assert time.monotonic() - began < 300
    assert (found.ok, found.failed, found.ran) == (2, 5, 7)
    with Store(tmp_path / "lab.sqlite", read_only=True) as store:
        records = store.records()
    status = {record.cell.method: record.status for record in records if not record.ok}
    assert status == {"sce": "died", "gce": "failed", "tvr": "timeout", "rel": "timeout", "forward": "memory"}
    (stuck,) = (record for record in records if record.cell.method == "rel")
    assert stuck.error == "It took longer than its limit of 2 s and was ended with its process."
    assert "in work" in stuck.trace


def test_a_worker_that_ran_out_of_memory_is_replaced(tiny_grid, tmp_path):
    def work(cell, place):
        if cell.method == "sce":
            bytearray(4 * 2**30)
        return Record(cell, "ok", {"before": 0.5, "after": float(os.getpid())})

    grid = tiny_grid(method=["ce", "sce", "gce", "labelsmoothing"])
    run(grid, tmp_path / "lab.sqlite", engine="processes", workers=1, show=False, work=work, limits=Limits(memory=2))
    with Store(tmp_path / "lab.sqlite", read_only=True) as store:
        found = {record.cell.method: record for record in store.records()}
    assert found["sce"].status == "memory"
    process = {method: found[method].result["after"] for method in ("ce", "gce", "labelsmoothing")}
    assert process["ce"] != process["gce"] == process["labelsmoothing"]


def test_after_a_death_suspects_run_alone_and_then_all_run_again(tiny, place):
    futures = {}

    class Pool:
        def submit(self, attempt, cell, *_, **__):
            futures[cell.noise_seed] = Future()
            return futures[cell.noise_seed]

        def shutdown(self, **_):
            futures.clear()

    engine = Processes(2)
    engine._make = Pool
    jobs = [Job(tiny(noise_seed=seed), place) for seed in range(5)]
    done = [Record(job.cell, "ok") for job in jobs]
    engine.submit(jobs[0])
    engine.submit(jobs[1])
    futures[0].set_exception(BrokenProcessPool())
    assert engine.wait(0) is None
    engine.submit(jobs[2])
    assert engine.wait(0) is None
    assert [*futures] == [0]
    futures[0].set_result(done[0])
    assert engine.wait(0) == (jobs[0], done[0])
    engine.submit(jobs[3])
    assert engine.wait(0) is None
    assert [*futures] == [0, 1]
    futures[1].set_exception(BrokenProcessPool())
    job, record = engine.wait(0)
    assert (job, record.cell, record.status) == (jobs[1], jobs[1].cell, "died")
    engine.submit(jobs[4])  # which must not keep those waiting that were held
    assert engine.wait(0) is None
    assert sorted(futures) == [2, 3, 4]


def test_a_full_disk_in_a_worker_stops_the_run(engine, tiny_grid, tmp_path):
    def work(cell, place):
        raise OSError(28, "No space left on device")

    with pytest.raises(DiskError, match="make room"):
        run(tiny_grid(), tmp_path / "lab.sqlite", engine=engine, workers=1, show=False, work=work)
    assert outcomes(tmp_path / "lab.sqlite") == []


def test_without_ray_its_engine_says_what_to_install(tiny_grid, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"install it with pip install 'truelabel\[ray\]'"):
        run(tiny_grid(), tmp_path / "lab.sqlite", engine="ray", show=False)
