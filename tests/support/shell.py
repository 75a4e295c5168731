"""Commands as a user types them, for tests: `from shell import call, fails`."""

import sys

import pytest
from typer.testing import CliRunner

from truelabel.cli.app import app, main


def call(*words: object) -> str:
    """Run a command that must succeed, and return what it printed."""
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a command that must fail, through `main`, and return its one line of complaint."""
    monkeypatch.setattr(sys, "argv", ["truelabel", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    return capsys.readouterr().err.strip()
