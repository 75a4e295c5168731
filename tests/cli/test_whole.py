"""What holds of every command."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from truelabel.cli.app import CURATORS, ENGINEERS, RESEARCHERS, app, main

WITHOUT_JSON = {"review"}  # prints an address and waits


def commands() -> Iterator[tuple[str, typer.core.TyperCommand]]:
    def walk(found: typer.core.TyperGroup, path: tuple[str, ...]) -> Iterator[tuple[str, typer.core.TyperCommand]]:
        for name, command in found.commands.items():
            if isinstance(command, typer.core.TyperGroup):
                yield from walk(command, (*path, name))
            else:
                yield " ".join((*path, name)), command

    yield from walk(typer.main.get_command(app), ())


ALL = dict(commands())


def left_with(*words: str, monkeypatch: pytest.MonkeyPatch) -> int | str | None:
    monkeypatch.setattr(sys, "argv", ["truelabel", *words])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_an_example_that_names_it(name: str) -> None:
    assert f"Example: truelabel {name}" in (ALL[name].help or "")


@pytest.mark.parametrize("name", sorted(set(ALL) - WITHOUT_JSON - {name for name in ALL if name.startswith("lab ")}))
def test_every_command_prints_json(name: str) -> None:
    assert "--json" in {option for parameter in ALL[name].params for option in parameter.opts}


def test_help_groups_commands_by_who_uses_them() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).output
    for who, command in ((ENGINEERS, "apply"), (CURATORS, "clean"), (RESEARCHERS, "train")):
        start = shown.index(who)
        end = min(
            (shown.index(other) for other in (ENGINEERS, CURATORS, RESEARCHERS) if shown.index(other) > start),
            default=None,
        )
        assert f" {command} " in shown[start:end]


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "missing.parquet"),
        ("apply", "missing.safetensors", "missing.parquet"),
        ("issues", "missing.parquet"),
        ("correct", "missing.npz"),
        ("clean", "missing"),
        ("report", "missing"),
        ("review", "missing", "--no-browser"),
        ("train", "--dataset", "nonsense", "--out", "run"),
        ("analyse", "confusion", "missing.safetensors", "missing.parquet"),
    ],
    ids=" ".join,
)
def test_a_users_mistake_is_one_line_and_exit_code_1(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert left_with(*words, monkeypatch=monkeypatch) == 1
    said = capsys.readouterr().err
    assert said.startswith("Error: ")
    assert said.count("\n") == 1


def test_a_wrong_call_is_exit_code_2(monkeypatch: pytest.MonkeyPatch) -> None:
    assert left_with("fit", "--nonsense", monkeypatch=monkeypatch) == 2


def test_there_is_shell_completion() -> None:
    words = {"COMP_WORDS": "truelabel rev", "COMP_CWORD": "1", "_TRUELABEL_COMPLETE": "complete_bash"}
    call = [sys.executable, "-c", "from truelabel.cli.app import app; app(prog_name='truelabel')"]
    done = subprocess.run(call, capture_output=True, text=True, env=os.environ | words, timeout=300)
    assert done.stdout.split() == ["review"]


def test_nothing_but_the_result_is_printed_into_a_pipe(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=200)
    features = rng.normal(size=(200, 2)) + 3 * labels[:, None]
    np.savez(tmp_path / "train.npz", probs=np.eye(2)[labels] * 0.9 + 0.05, features=features, labels=labels)
    call = [sys.executable, "-c", "from truelabel.cli import main; main()", "fit", "train.npz", "--json"]
    done = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["n"] == 200
