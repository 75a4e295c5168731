"""`truelabel review` as a curator calls it, and `serve` as a script does."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pandas as pd
import pytest
from typer.testing import CliRunner

import truelabel as tl
from truelabel.cli.app import app, main
from truelabel.labels.examined import Examined
from truelabel.review import Decisions, serve
from truelabel.review.learning import none_suspicious, suspects

runner = CliRunner()


def complaint(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a command that must fail with one line, and return that line."""
    monkeypatch.setattr(sys, "argv", ["truelabel", "review", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    said = capsys.readouterr().err.strip()
    assert said.count("\n") == 0
    return said


@pytest.fixture
def decided(folders: dict[str, Path], tmp_path: Path) -> Path:
    with Decisions.of(Examined.read(folders["name"]), tmp_path / "d.sqlite") as decisions:
        decisions.decide(4, 3, given=2, suggested=3, id="i4")
        decisions.decide(5, None, given=1, suggested=2, id="i5")
        return decisions.path


def test_it_serves_until_it_is_interrupted_and_says_where_the_decisions_are(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    kept = tmp_path / "d.sqlite"
    words = ["review", str(folders["name"]), "--no-browser", "--most", "3", "--decisions", str(kept)]
    words += ["--reviewer", "Anna"]
    command = [sys.executable, "-c", "from truelabel.cli import main; main()", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        address = re.fullmatch(r"Review: (http://127\.0\.0\.1:\d+/[\w-]{32}/)\n", server.stdout.readline())[1]
        told = httpx.get(f"{address}suspects", timeout=30).json()
        assert len(told["rows"]) == 3
        assert (told["reviewer"], told["shared"]) == ("Anna", False)
        said = {"row": told["rows"][0], "label": told["given"][0], "tab": "one"}
        assert httpx.post(f"{address}decide", json=said).status_code == 200
        assert httpx.get(address.rsplit("/", 2)[0]).status_code == 403
        server.send_signal(signal.SIGINT)
        out, errors = server.communicate(timeout=30)
    assert server.returncode == 0
    assert errors == ""
    assert out.endswith(f"Decided: 1 labels, in {kept}\n")


def test_where_nothing_is_suspicious_it_shows_the_least_certain_labels_and_says_so(
    folders: dict[str, Path], made_up: Callable[..., Examined], tmp_path: Path
) -> None:
    folder = folders["name"]
    words = ["review", str(folder), "--no-browser", "--threshold", "1", "--decisions", str(tmp_path / "d.sqlite")]
    command = [sys.executable, "-c", "from truelabel.cli import main; main()", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline().split()[1]
        assert server.stdout.readline() == (
            "None of the 40 labels is suspicious (no p_wrong is 1 or more); the page shows the 40 labels with the "
            "largest p_wrong.\n"
        )
        listed = httpx.get(f"{address}suspects", timeout=30).json()["rows"]
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=30)
    assert (server.returncode, errors) == (0, "")
    assert listed == Examined.read(folder).found.table.index.tolist()
    quiet = made_up(120, suspects=0.0)
    with Decisions.of(quiet, tmp_path / "quiet.sqlite") as decisions:
        assert suspects(quiet, decisions).tolist() == quiet.found.table.index[:50].tolist()
        assert len(suspects(quiet, decisions, most=7)) == 7
    assert "(no other class is more probable); the page shows the 7 labels" in none_suspicious(quiet, most=7)
    assert none_suspicious(made_up(12)) == ""


def test_exports_need_no_server(folders: dict[str, Path], decided: Path, tmp_path: Path) -> None:
    out, labels = tmp_path / "decisions.csv", tmp_path / "labels.parquet"
    words = ["review", folders["name"], "--decisions", decided, "--export", out, "--corrected", labels]
    result = runner.invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout == f"Decisions about 2 labels: {out}\nAll 40 labels, 1 of them changed: {labels}\n"
    table = pd.read_csv(out)
    assert list(table.columns) == ["id", "given", "suggested", "decision", "label", "when", "reviewer"]
    assert table["id"].tolist() == ["i4", "i5"]
    assert table["decision"].tolist() == ["accept", "skip"]
    corrected = pd.read_parquet(labels)
    assert corrected.loc[4, "corrected"] == "fox"
    assert corrected["changed"].sum() == 1


def test_mistakes_are_said_in_one_line(
    folders: dict[str, Path],
    made_up: Callable[..., Examined],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def said(*words: object) -> str:
        return complaint(monkeypatch, capsys, *words)

    folder, quiet = folders["name"], ("--no-browser", "--decisions", tmp_path / "new.sqlite")
    assert "There is no folder or file" in said(tmp_path / "nowhere")
    assert "holds no examined labels" in said(tmp_path)
    assert "a reviewer's name has 60 letters at most" in said(folder, "--reviewer", "x" * 61)
    assert "is a probability between 0 and 1, not 7" in said(folder, "--threshold", 7)
    assert "must end in .csv or .parquet" in said(folder, "--export", "out.xlsx")
    assert "Nothing is decided yet: there is no" in said(folder, "--export", tmp_path / "out.csv", *quiet)
    Decisions.of(made_up(12), tmp_path / "other.sqlite").close()
    assert "holds decisions about other data" in said(folder, "--no-browser", "--decisions", tmp_path / "other.sqlite")
    (tmp_path / "text.sqlite").write_text("no database " * 100)
    assert "is no file of decisions" in said(folder, "--no-browser", "--decisions", tmp_path / "text.sqlite")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = said(folder, "--port", port, *quiet)
    assert f"Cannot listen on 127.0.0.1, port {port}" in line
    assert "choose another with --port" in line


def test_without_the_extra_it_says_how_to_get_it(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("truelabel.review.server", "fastapi"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    line = complaint(monkeypatch, capsys, folders["name"], "--no-browser", "--decisions", tmp_path / "d.sqlite")
    assert line == "Error: The review page needs fastapi; install it with pip install 'truelabel[review]'."
    assert not (tmp_path / "d.sqlite").exists()


def test_the_browser_is_opened_at_the_address_unless_told_not_to(
    made_up: Callable[..., Examined], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import uvicorn

    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    told: list[str] = []
    for browser in (True, False):
        serve(made_up(12), tmp_path / "d.sqlite", browser=browser, ready=told.append)
    assert opened == told[:1]
    tokens = {address.split("/")[3] for address in told}
    assert len(tokens) == 2


def test_it_is_part_of_the_package() -> None:
    assert tl.review.Decisions is Decisions
    assert tl.review.serve is serve
    assert "truelabel review cleaned --export" in " ".join(runner.invoke(app, ["review", "--help"]).stdout.split())
