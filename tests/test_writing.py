"""Whatever happens while a file is written, it is the old one or the new one."""

import errno
import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import truelabel as tl
from truelabel import parquet, writing
from truelabel.analysis import save_figure
from truelabel.export import load
from truelabel.lab import Cell, Record, export
from truelabel.lab.cache import Cache
from truelabel.labels import examine, examined, write_label_studio, write_table
from truelabel.report import write_report


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def made() -> SimpleNamespace:
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 3
    x = (8 * np.eye(3, 4)[truth] + rng.normal(size=(120, 4))).astype(np.float32)
    noisy = np.where(rng.random(120) < 0.2, (truth + 1) % 3, truth)
    said = tl.Predictions(0.9 * np.eye(3)[noisy] + 0.1 / 3, x, labels=noisy)
    npc = tl.NPC(random_state=0, epochs=1, progress=False).fit(said)
    found = examine(said, calibrator=npc, progress=False)
    return SimpleNamespace(said=said, npc=npc, all=examined(said, found))


def figure() -> Figure:
    made = Figure((1, 1))
    made.subplots().plot([0, 1])
    return made


WRITERS: dict[str, Callable[[SimpleNamespace, Path], object]] = {
    "calibrator": lambda made, to: made.npc.save(to / "npc.safetensors"),
    "predictions": lambda made, to: made.said.to_parquet(to / "said.parquet"),
    "csv": lambda made, to: write_table(made.all.found.table, to / "issues.csv"),
    "parquet": lambda made, to: write_table(made.all.found.table, to / "issues.parquet"),
    "tasks": lambda made, to: write_label_studio([{"data": {"text": "a"}}], to / "tasks.json"),
    "report": lambda made, to: write_report(made.all, to / "report.html", layout="none", progress=False),
    "figure": lambda made, to: save_figure(figure(), to, "figure"),
    "records": lambda made, to: export([Record(Cell(dataset="digits"), "ok", {"before": 0.5})], to / "r.parquet"),
    "text": lambda made, to: writing.write_text(to / "table.md", "| a |"),
    "cache": lambda made, to: Cache(to).arrays("stage", "ab", lambda: ({"x": np.zeros(3)}, {})),
}


class Stopped(BaseException):
    """Stands for whatever ends a program: not an Exception, so that nothing in between takes it for its own."""


def steps(monkeypatch: pytest.MonkeyPatch, fail_at: int | None, error: BaseException) -> list[str]:
    """Count the steps of writing (open for writing, flush, rename) and fail at one of them."""
    taken: list[str] = []

    def counted(name: str, function: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object, **options: object) -> object:
            taken.append(name)
            if len(taken) - 1 == fail_at:
                raise error
            return function(*given, **options)

        return call

    monkeypatch.setattr(os, "fsync", counted("flush", os.fsync))
    monkeypatch.setattr(Path, "replace", counted("rename", Path.replace))
    monkeypatch.setattr(Path, "write_bytes", counted("write", Path.write_bytes))
    monkeypatch.setattr(Path, "write_text", counted("write", Path.write_text))
    return taken


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), Stopped()], ids=["full", "ended"])
@pytest.mark.parametrize("name", WRITERS)
def test_a_fault_at_any_step_leaves_the_old_file_and_nothing_beside_it(
    name: str, error: BaseException, made: SimpleNamespace, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        taken = steps(patched, None, error)
        WRITERS[name](made, tmp_path)
    files = [file for file in contents(tmp_path) if not file.endswith(".lock")]
    sizes = [(tmp_path / file).stat().st_size for file in files]
    for at in range(len(taken)):
        for file in files:
            (tmp_path / file).write_bytes(b"old")
        with pytest.MonkeyPatch.context() as patched:
            steps(patched, at, error)
            with pytest.raises((OSError, Stopped)):
                WRITERS[name](made, tmp_path)
        left = [file for file in contents(tmp_path) if not file.endswith(".lock")]
        assert left == files
        for file, size in zip(files, sizes, strict=True):
            found = (tmp_path / file).read_bytes()
            assert found == b"old" or len(found) == pytest.approx(size, rel=0.01)


def test_two_processes_that_write_to_one_path_do_not_meet(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    both = threading.Barrier(2)

    def write(text: str) -> None:
        with writing.whole(target) as partial:
            both.wait()
            partial.write_text(text)
            both.wait()

    threads = [threading.Thread(target=write, args=(text,)) for text in ("one" * 1000, "two" * 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_text() in ("one" * 1000, "two" * 1000)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_all_files_have_the_permissions_that_a_new_file_has_or_those_of_the_old_one(
    made: SimpleNamespace, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    made.npc.save(tmp_path / "npc.safetensors")
    write_table(pd.DataFrame({"id": [1]}), tmp_path / "t.csv")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {stat.S_IMODE(plain.stat().st_mode)}
    (tmp_path / "t.csv").chmod(0o600)
    write_table(pd.DataFrame({"id": [2]}), tmp_path / "t.csv")
    assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == 0o600


def test_a_file_that_is_being_read_may_be_written_to(made: SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / "said.parquet"
    made.said.to_parquet(path)
    pieces = parquet.stream(path, 50)
    first = next(pieces)
    made.said[:10].to_parquet(path)
    rest = list(pieces)
    assert len(first) + sum(map(len, rest)) == 120
    np.testing.assert_array_equal(rest[-1].probs, made.said.probs[100:])


def test_a_link_is_followed_and_a_device_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    writing.write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    seen: list[str] = []
    reader = threading.Thread(target=lambda: seen.append((tmp_path / "pipe").read_text()))
    reader.start()
    writing.write_text(tmp_path / "pipe", "through")
    reader.join()
    assert seen == ["through"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_where_a_command_may_write_is_asked_before_its_work(
    made: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*nodir to write x\.csv to; make it first"):
        writing.check_target(tmp_path / "nodir" / "x.csv")
    with pytest.raises(IsADirectoryError, match="is a folder; name a file"):
        writing.check_target(tmp_path)
    made.said.to_parquet(tmp_path / "train.parquet")
    (tmp_path / "link.parquet").symlink_to(tmp_path / "train.parquet")
    for same in ("train.parquet", "link.parquet"):
        with pytest.raises(FileExistsError, match="is what is read; name another file"):
            writing.check_target(tmp_path / same, reads=[None, tmp_path / "train.parquet"])
    with pytest.raises(FileExistsError, match="no result of truelabel that may be replaced"):
        writing.check_target(tmp_path / "train.parquet")
    assert writing.check_target(tmp_path / "train.parquet", overwrite=True) == tmp_path / "train.parquet"
    monkeypatch.setattr(writing.shutil, "disk_usage", lambda folder: SimpleNamespace(free=4096))
    with pytest.raises(OSError, match=r"is full \(4,096 bytes are free\); make room first"):
        writing.check_target(tmp_path / "new.csv")


def test_what_a_command_wrote_may_be_replaced_and_nothing_else(made: SimpleNamespace, tmp_path: Path) -> None:
    for name in ("calibrator", "csv", "parquet", "report", "records"):
        WRITERS[name](made, tmp_path)
    for path in tmp_path.iterdir():
        assert writing.check_target(path) == path
    others = {
        "a.csv": b"name,label\n1,2\n",
        "a.html": b"<html>mine</html>",
        "a.json": b"[]",
        "a.npy": b"\x93NUMPY",
        "a.safetensors": b"\xff" * 30,
        "a.parquet": b"PAR1",
        "a.md": b"notes",
    }
    for name, content in others.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileExistsError, match="is there already"):
            writing.check_target(tmp_path / name)
    (tmp_path / "empty.md").write_bytes(b"")
    writing.check_target(tmp_path / "empty.md")


def test_a_calibrator_that_is_replaced_loads(made: SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / "npc.safetensors"
    made.npc.save(path)
    made.npc.save(path)
    np.testing.assert_array_equal(load(path).calibrate(made.said), made.npc.calibrate(made.said))


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    def ended() -> None:
        with writing.whole_folder(tmp_path / "new") as made:
            (made / "a").write_text("a")
            raise Stopped

    with pytest.raises(Stopped):
        ended()
    assert list(tmp_path.iterdir()) == []
    with writing.whole_folder(tmp_path / "new") as made:
        (made / "a").write_text("a")
    assert contents(tmp_path) == {"new/a": b"a"}


def test_json_keeps_letters_as_they_are(tmp_path: Path) -> None:
    writing.write_json(tmp_path / "a.json", {"é": 1})
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == {"é": 1}
    assert "é" in (tmp_path / "a.json").read_text("utf-8")
