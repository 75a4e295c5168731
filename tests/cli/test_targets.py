"""Where commands write: never over what they read, nor over what they did not write, and not in part."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import truelabel as tl
from shell import call, fails


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("targets")
    rng = np.random.default_rng(0)
    truth = np.arange(200) % 2
    noisy = np.where(rng.random(200) < 0.25, 1 - truth, truth)
    said = tl.Predictions(np.eye(2)[noisy] * 0.9 + 0.05, rng.normal(size=(200, 3)) + 5 * truth[:, None], labels=noisy)
    said.to_parquet(where / "train.parquet")
    call("fit", where / "train.parquet", "--out", where / "npc.safetensors", "--epochs", 1)
    call("issues", where / "train.parquet", "--out", where / "i.csv", "--save", where / "examined")
    return where


COMMANDS = {
    "fit": ["fit", "{}/train.parquet"],
    "apply": ["apply", "{}/npc.safetensors", "{}/train.parquet"],
    "issues": ["issues", "{}/train.parquet", "--calibrator", "{}/npc.safetensors"],
    "correct": ["correct", "{}/train.parquet", "--calibrator", "{}/npc.safetensors"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_writes_over_what_it_reads(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "train.parquet").read_bytes()
    words = [word.format(folder) for word in COMMANDS[name]]
    said = fails(monkeypatch, capsys, *words, "--out", folder / "train.parquet")
    assert "train.parquet is what is read; name another file, or replace it with --overwrite." in said
    assert (folder / "train.parquet").read_bytes() == before


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_writes_over_another_file_unless_it_is_told_to(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.format(folder) for word in COMMANDS[name]]
    ending = "safetensors" if name == "fit" else "csv"
    mine = tmp_path / f"mine.{ending}"
    mine.write_bytes(b"ten years of work\n")
    assert "no result of truelabel that may be replaced" in fails(monkeypatch, capsys, *words, "--out", mine)
    assert mine.read_bytes() == b"ten years of work\n"
    call(*words, "--out", mine, "--overwrite")
    call(*words, "--out", mine)
    assert mine.stat().st_size > 100


def test_apply_over_its_input_keeps_every_row_where_that_is_asked_for(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "data.parquet"
    copy.write_bytes((folder / "train.parquet").read_bytes())
    call("apply", folder / "npc.safetensors", copy, "--out", copy, "--overwrite")
    assert len(pd.read_parquet(copy)) == 200


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_that_is_missing_is_named_before_the_work(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def worked(*given: object, **options: object) -> None:
        raise AssertionError("the work was begun")

    monkeypatch.setattr(tl.Predictions, "from_parquet", worked)
    monkeypatch.setattr(tl.NPC, "fit", worked)
    words = [word.format(folder) for word in COMMANDS[name]]
    said = fails(
        monkeypatch, capsys, *words, "--out", folder / "nodir" / ("x.safetensors" if name == "fit" else "x.csv")
    )
    assert "There is no folder" in said
    assert "make it first" in said


def test_an_empty_file_is_refused_and_not_passed_over(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.read_parquet(folder / "train.parquet").head(0).to_parquet(tmp_path / "empty.parquet")
    words = ["apply", folder / "npc.safetensors", tmp_path / "empty.parquet", "--out", tmp_path / "out.parquet"]
    assert "empty.parquet has no rows; pass a file with at least one instance." in fails(monkeypatch, capsys, *words)
    assert not (tmp_path / "out.parquet").exists()


def test_reports_and_reviews_keep_to_it_too(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.html"
    mine.write_text("<html>mine</html>")
    words = ["report", folder / "examined", "--map", "none", "--out", mine]
    assert "no result of truelabel" in fails(monkeypatch, capsys, *words)
    assert mine.read_text() == "<html>mine</html>"
    call(*words, "--overwrite")
    call(*words)
    (tmp_path / "mine.csv").write_text("a,b\n")
    words = ["review", folder / "examined", "--export", tmp_path / "mine.csv"]
    assert "no result of truelabel" in fails(monkeypatch, capsys, *words)
