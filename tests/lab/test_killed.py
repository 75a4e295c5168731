"""The runner killed with SIGKILL, again and again: nothing is lost and nothing is there twice."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from truelabel.lab import Store, load_grid, run

GRID = """
title = "to be killed"
[[block]]
dataset = "digits"
subset = 80
test_subset = 60
noise = ["sn:0.2", "idn:0.4"]
method = ["ce", "coteaching"]
network = "mlp"
method_settings = { epochs = 8, batch_size = 16 }
calibrator = ["identity", "knn", "npc-paper"]
seed = [0, 1]
"""

# The parent has imported everything and computed nothing, so that its children begin at once and with clean threads.
KILLER = """
import json, os, random, signal, sqlite3, sys, time
import faiss, torch
from truelabel import calibrators, methods, transitions
from truelabel.lab import load_grid, run

folder, kills = sys.argv[1], int(sys.argv[2])
grid = load_grid(f"{folder}/grid.toml")
chance = random.Random(0)

def child(store):
    pid = os.fork()
    if pid == 0:
        found = run(grid, f"{folder}/{store}.sqlite", show=False)
        os._exit(0 if (found.ok, found.failed) == (len(grid.cells), 0) else 1)
    return pid

def recorded():
    try:
        store = sqlite3.connect(f"file:{folder}/killed.sqlite?mode=ro", uri=True)
        return store.execute("SELECT count(*) FROM records").fetchone()[0]
    except sqlite3.OperationalError:
        return 0

began = time.monotonic()
assert os.waitpid(child("whole"), 0)[1] == 0
length = time.monotonic() - began
ends = []
for number in range(1, kills + 1):
    pid = child("killed")
    deadline = time.monotonic() + chance.uniform(0.01, 1.5 * length / kills)
    # However fast the machine has become since, there is something left for every kill.
    while time.monotonic() < deadline and recorded() < number * len(grid.cells) // (kills + 1):
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
ends.append(os.waitstatus_to_exitcode(os.waitpid(child("killed"), 0)[1]))
print(json.dumps(ends))
"""

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def outcomes(path):
    with Store(path, read_only=True) as store:
        return [record.outcome() for record in store.records()]


def test_ten_kills_in_a_row(tmp_path):
    (tmp_path / "grid.toml").write_text(GRID)
    command = [sys.executable, "-c", textwrap.dedent(KILLER), str(tmp_path), "10"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [*[-signal.SIGKILL] * 10, 0]
    whole, killed = outcomes(tmp_path / "whole.sqlite"), outcomes(tmp_path / "killed.sqlite")
    assert len({each["key"] for each in whole}) == len(whole) == 24
    assert killed == whole
    assert sqlite3.connect(tmp_path / "killed.sqlite").execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_driver_leaves_no_workers_and_goes_on(tmp_path, number):
    (tmp_path / "grid.toml").write_text(GRID.replace("[0, 1]", "[0]"))
    store = tmp_path / "lab.sqlite"
    code = "from truelabel.cli import main; main()"
    command = [sys.executable, "-c", code, "lab", "run", str(tmp_path / "grid.toml"), "--store", str(store)]
    command += ["--engine", "processes", "--workers", "2"]
    driver = subprocess.Popen(
        command,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs do not hear it
    )
    line = driver.stderr.readline()  # the first cell has finished
    assert "[1/12]" in line
    workers = children(driver.pid)
    assert len(workers) >= 2
    driver.send_signal(number)
    driver.wait(timeout=60)
    begun = outcomes(store)
    assert 1 <= len(begun) < 12
    deadline = time.monotonic() + 20
    while any(running(pid) for pid in workers):
        assert time.monotonic() < deadline, "workers outlive their driver"
        time.sleep(0.1)
    said = driver.stderr.read()
    if number == signal.SIGINT:
        assert driver.returncode == 130
        assert f"Stopped; run the same command again to go on. What has finished is in {store}." in said
        assert "Traceback" not in said
    found = run(load_grid(tmp_path / "grid.toml"), store, show=False)
    assert (found.ok, found.failed, found.ran) == (12, 0, 12 - len(begun))
    assert all(each in outcomes(store) for each in begun)


def children(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(name))
    return found


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
