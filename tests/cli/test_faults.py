"""A fault at every step of every command that writes: each file is old or new, and the next run works."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import truelabel as tl
from faults import FAULTS, Disk, contents
from shell import call
from truelabel.cli.app import app
from truelabel.labels import Examined
from truelabel.review import Decisions

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the faults are those of a POSIX system")


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Predictions, votes, a calibrator and examined labels."""
    where = tmp_path_factory.mktemp("given")
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 3
    noisy = np.where(rng.random(120) < 0.2, (truth + 1) % 3, truth)
    x = (6 * np.eye(3, 4)[truth] + rng.normal(size=(120, 4))).astype(np.float32)
    tl.Predictions(0.9 * np.eye(3)[noisy] + 0.1 / 3, x, labels=noisy).to_parquet(where / "train.parquet")
    call("fit", where / "train.parquet", "--out", where / "npc.safetensors", "--epochs", 1)
    words = ["issues", where / "train.parquet", "--calibrator", where / "npc.safetensors", "--out", where / "i.csv"]
    call(*words, "--save", where / "examined")
    with Decisions.of(Examined.read(where / "examined"), where / "examined" / "decisions.sqlite") as decided:
        decided.decide(3, 2, given=0, suggested=1, tab="one")
    votes = {"instance": np.repeat(np.arange(40), 2), "annotator": np.tile(["a", "b"], 40), "label": noisy[:80]}
    pd.DataFrame(votes).to_csv(where / "votes.csv", index=False)
    return SimpleNamespace(where=where)


Words = list[str]
COMMANDS: dict[str, Words] = {
    "fit": ["fit", "{}/train.parquet", "--out", "{to}/npc.safetensors", "--epochs", "1", "--overwrite"],
    "apply, parquet": ["apply", "{}/npc.safetensors", "{}/train.parquet", "--out", "{to}/c.parquet", "--overwrite"],
    "apply, csv": ["apply", "{}/npc.safetensors", "{}/train.parquet", "--out", "{to}/c.csv", "--overwrite"],
    "apply, npy": ["apply", "{}/npc.safetensors", "{}/train.parquet", "--out", "{to}/c.npy", "--overwrite"],
    "issues": [
        *("issues", "{}/train.parquet", "--calibrator", "{}/npc.safetensors", "--out", "{to}/i.csv"),
        *("--save", "{to}/examined", "--overwrite"),
    ],
    "correct, csv": [
        *("correct", "{}/train.parquet", "--calibrator", "{}/npc.safetensors", "--out", "{to}/k.csv", "--overwrite"),
    ],
    "correct, npy": [
        *("correct", "{}/train.parquet", "--calibrator", "{}/npc.safetensors", "--out", "{to}/k.npy", "--overwrite"),
    ],
    "consensus": [
        *("consensus", "{}/votes.csv", "--out", "{to}/c.csv", "--annotators", "{to}/a.csv", "--overwrite"),
    ],
    "report": ["report", "{}/examined", "--map", "none", "--out", "{to}/r.html", "--overwrite"],
    "audit": ["audit", "{to}/examined", "--sample", "10"],
    "review": [
        *("review", "{}/examined", "--export", "{to}/d.csv", "--corrected", "{to}/e.parquet", "--overwrite"),
    ],
    "analyse": [
        *("analyse", "confusion", "{}/npc.safetensors", "{}/train.parquet", "--truth", "labels"),
        *("--out", "{to}/figures"),
    ],
}

CHEAP = ("apply, parquet", "apply, csv", "apply, npy", "correct, csv")  # every fault at every step; else in turn
EVERY = {"issues": 3, "analyse": 5}  # which steps of those that have many
NEW = ("issues", "audit")  # write to a folder that must be new, or go on with what is there


def run(name: str, given: SimpleNamespace, to: Path) -> object:
    """Run a command, and return what it ended with."""
    words = [word.replace("{to}", str(to)).replace("{}", str(given.where)) for word in COMMANDS[name]]
    try:
        return CliRunner().invoke(app, words).exception
    except BaseException as error:
        return error


def prepared(name: str, given: SimpleNamespace, to: Path) -> Path:
    to.mkdir()
    if name == "audit":
        Examined.read(given.where / "examined").write(to / "examined")
    return to


def same(found: bytes, expected: bytes) -> bool:
    """Whether two files are whole and alike; some hold the time at which they were made."""
    return found == expected or abs(len(found) - len(expected)) < 0.01 * len(expected) + 8


@pytest.mark.parametrize("name", COMMANDS)
def test_a_fault_at_any_step_leaves_each_file_old_or_new(name: str, given: SimpleNamespace, tmp_path: Path) -> None:
    first = prepared(name, given, tmp_path / "first")
    before = contents(first)
    with pytest.MonkeyPatch.context() as patched:
        steps = Disk(patched)
        assert run(name, given, first) is None
    after = contents(first)
    assert set(after) - set(before)
    assert steps.steps >= 3
    kinds, tried = list(FAULTS), 0
    for at in range(0, steps.steps, EVERY.get(name, 1)):
        for fault in kinds if name in CHEAP else (kinds[at % len(kinds)],):
            to = tmp_path / f"{fault}{at}"
            old: dict[str, bytes] = before
            if at % 2 and name not in NEW:  # every other time there is an older result
                shutil.copytree(first, to)
                old = after
            else:
                prepared(name, given, to)
            with pytest.MonkeyPatch.context() as patched:
                disk = Disk(patched, fault, at)
                error = run(name, given, to)
            if disk.steps <= at:  # a folder had to be made the first time
                continue
            tried += 1
            left = contents(to)
            assert set(old) <= set(left) | _moved_as_one(left)
            for file, content in left.items():
                known = after.get(file, after.get(_home(file)))
                assert known is None or same(content, known), f"{file} is half written after {fault} at step {at}"
            if fault != "killed":
                assert not list(to.rglob("*.partial*"))
            assert error is not None or set(left) >= set(after)
            if name in NEW:
                if any(file.startswith("examined/") for file in left):
                    Examined.read(to / "examined")
            else:
                assert run(name, given, to) is None
                assert set(after) <= set(contents(to))
    print(f"{name}: {tried} faults in {steps.steps} steps")  # shown by -rP


def _home(file: str) -> str:
    """Return where a file belongs that was moved with others as one folder, and not to its place yet."""
    return str(Path(file).parent.parent / Path(file).name)


def _moved_as_one(left: dict[str, bytes]) -> set[str]:
    return {_home(file) for file in left}
