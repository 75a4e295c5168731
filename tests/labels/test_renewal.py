"""A folder that is written anew: whatever ends the program, all of it is old or all of it is new."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import truelabel as tl
from truelabel.labels import Count, Examined, LabelIssues, WrongLabels, examined
from truelabel.labels.issues import table_of
from truelabel.labels.renewal import LONG_AGO, RENEWED, UNFINISHED, finish, renewing

KILLS = 6
N = 40


class Killed(BaseException):
    """Stands for a signal that ends the program on the spot."""


def version(number: int, n: int = N) -> Examined:
    """Examined labels, all of which tell which version they are."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 3
    said = tl.Predictions(rng.dirichlet(np.ones(3), n), rng.normal(size=(n, 2)), labels=labels)
    probs = np.random.default_rng(number).dirichlet(np.ones(3), n).astype(np.float32)
    counts = {k: Count(float(number), 0.0, 9.0, n) for k in range(3)}
    wrong = WrongLabels(Count(3.0 * number, 0.0, 27.0, n), counts)
    found = LabelIssues(
        table_of(said, probs, (0, 1, 2), None), labels, probs, wrong, number * np.eye(3), (0, 1, 2), None
    )
    return examined(said, found, version=number)


def version_in(folder: Path) -> int:
    """The version in a folder, of which every file has to be."""
    read = Examined.read(folder)
    number = int(read.about["version"])
    whole = version(number, len(read))
    np.testing.assert_array_equal(read.found.probs, whole.found.probs)
    np.testing.assert_array_equal(read.found.transition, whole.found.transition)
    np.testing.assert_array_equal(read.found.table.index, whole.found.table.index)
    np.testing.assert_allclose(read.found.table["p_wrong"], whole.found.table["p_wrong"])
    assert read.found.wrong.total.number == 3 * number
    return number


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return version(1).write(tmp_path / "folder")


def test_a_renewed_folder_has_what_is_new_and_keeps_what_else_is_in_it(folder: Path) -> None:
    (folder / "decisions.sqlite").write_bytes(b"decided")
    said = (folder / "predictions.parquet").stat()
    names = sorted(os.listdir(folder))
    version(2).renew(folder)
    assert version_in(folder) == 2
    assert sorted(os.listdir(folder)) == names
    assert (folder / "decisions.sqlite").read_bytes() == b"decided"
    assert (folder / "predictions.parquet").stat().st_mtime_ns == said.st_mtime_ns


def test_the_calibrator_goes_with_it(folder: Path, found: LabelIssues) -> None:
    one = version(2)
    replace(one, found=replace(one.found, calibrator=found.calibrator)).renew(folder)
    assert tl.load(folder / "calibrator.safetensors").n_classes_ == 3
    assert version_in(folder) == 2


def test_only_a_folder_of_examined_labels_is_renewed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no examined labels to renew"):
        version(1).renew(tmp_path)


@pytest.mark.parametrize("moved", range(5))
def test_a_kill_at_any_step_leaves_a_whole_version(folder: Path, moved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step 0 is the one that counts; before it all is old, and after it all is new, though files are still moved."""
    steps = [0]

    def until(step):
        def stepped(*words):
            if words[1].parent != folder:
                return step(*words)  # a file that is written aside
            steps[0] += 1
            if steps[0] > moved:
                raise Killed
            return step(*words)

        return stepped

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", until(Path.rename))
        patched.setattr(Path, "replace", until(Path.replace))
        patched.setattr(shutil, "rmtree", lambda *words, **settings: None)
        if moved < 4:
            with pytest.raises(Killed):
                version(2).renew(folder)
        else:
            version(2).renew(folder)
    assert version_in(folder) == (1 if moved == 0 else 2)
    assert (folder / RENEWED).exists() == (0 < moved < 4)
    version(3).renew(folder)
    assert version_in(folder) == 3
    assert not (folder / RENEWED).exists()


def test_what_fails_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, *words: object, **settings: object) -> int:
        raise OSError(28, "No space left on device")

    names = sorted(os.listdir(folder))
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        with pytest.raises(OSError, match="No space left"):
            version(2).renew(folder)
    assert version_in(folder) == 1
    assert sorted(os.listdir(folder)) == names


def test_what_was_begun_long_ago_is_cleared_away(folder: Path) -> None:
    old, new = folder / f"{UNFINISHED}old", folder / f"{UNFINISHED}new"
    for left in (old, new):
        left.mkdir()
    os.utime(old, (time.time() - 2 * LONG_AGO,) * 2)
    with renewing(folder) as made:
        (made / "more.txt").write_text("more")
    finish(folder)
    assert (folder / "more.txt").read_text() == "more"
    assert (old.exists(), new.exists()) == (False, True)


def renew_for_ever(folder: Path) -> None:
    """Renew a folder again and again, until something ends the process."""
    versions = [version(number, 3000) for number in (1, 2)]
    print("begun", flush=True)
    for _ in iter(int, 1):
        for one in versions:
            one.renew(folder)


def test_sigkill_at_any_moment_leaves_a_whole_version(tmp_path: Path) -> None:
    folder = version(1, 3000).write(tmp_path / "folder")
    rng = random.Random(0)
    for _ in range(KILLS):
        with subprocess.Popen([sys.executable, __file__, folder], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            time.sleep(rng.uniform(0, 0.15))
            process.kill()
        assert version_in(folder) in (1, 2)


if __name__ == "__main__":
    renew_for_ever(Path(sys.argv[1]))
