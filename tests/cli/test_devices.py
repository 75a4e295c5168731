"""A device that is not there, and memory that does not suffice, are one line at every command."""

from pathlib import Path

import numpy as np
import pytest
import torch
import typer

import truelabel as tl
from shell import call, fails
from truelabel.cli.app import app


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("devices")
    rng = np.random.default_rng(0)
    truth = np.arange(100) % 2
    x = rng.normal(size=(100, 3)) + 5 * truth[:, None]
    said = tl.Predictions(np.eye(2)[truth] * 0.9 + 0.05, x, labels=truth)
    said.to_parquet(where / "train.parquet")
    call("fit", where / "train.parquet", "--out", where / "npc.safetensors", "--epochs", 1)
    (where / "table.csv").write_text(
        "grams,fruit\n" + "".join(f"{g:.3f},{t}\n" for g, t in zip(x[:, 0], truth, strict=True))
    )
    (where / "votes.csv").write_text(
        "instance,annotator,label\n" + "".join(f"{i},a,{t}\n" for i, t in enumerate(truth))
    )
    np.save(where / "x.npy", x)
    return where


COMMANDS = {
    "fit": ["{}/train.parquet", "--out", "{}/new.safetensors"],
    "apply": ["{}/npc.safetensors", "{}/train.parquet", "--out", "{}/new.csv"],
    "evaluate": ["{}/npc.safetensors", "{}/train.parquet"],
    "issues": ["{}/train.parquet", "--out", "{}/new.csv"],
    "correct": ["{}/train.parquet", "--out", "{}/new.csv"],
    "consensus": ["{}/votes.csv", "--features", "{}/x.npy", "--out", "{}/new.csv", "--annotators", "{}/new2.csv"],
    "report": ["{}/train.parquet", "--out", "{}/new.html"],
    "clean": ["{}/table.csv", "--label", "fruit", "--out", "{}/new"],
    "train": ["--subset", "100", "--epochs", "1", "--out", "{}/new"],
}


def test_every_command_with_a_device_is_here() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    having = {name for name, command in commands.items() if "--device" in {o for p in command.params for o in p.opts}}
    assert having - set(COMMANDS) == {"audit", "review"}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
@pytest.mark.parametrize("name", COMMANDS)
def test_cuda_that_is_not_there_is_one_line(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.format(folder) for word in COMMANDS[name]]
    said = fails(monkeypatch, capsys, name, *words, "--device", "cuda").splitlines()
    assert said[-1].startswith('Error: the device "cuda" cannot be used here')
    assert said[-1].endswith('choose "cpu" or "auto".')
    assert not list(folder.glob("new*.*"))


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
@pytest.mark.parametrize("name", ["fit", "issues", "correct"])
def test_memory_that_does_not_suffice_is_one_line(
    name: str, error: Exception, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fit(*given: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(tl.NPC, "_learn", fit)
    said = fails(monkeypatch, capsys, name, *(word.format(folder) for word in COMMANDS[name]))
    assert said == "Error: There is not enough memory for this; pass fewer rows or columns, or use a larger machine."
    assert not list(folder.glob("new*"))
