import json

import pytest
from typer.testing import CliRunner

from truelabel.cli.app import app

GRID = """
title = "a few digits"
[[block]]
dataset = "digits"
subset = 80
test_subset = 60
noise = ["sn:0.2"]
method = ["ce"]
network = "mlp"
method_settings = { epochs = 1, batch_size = 32 }
calibrator = ["identity", "knn"]
seed = [0, 1]
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.toml").write_text(GRID)

    def run(*words):
        return CliRunner().invoke(app, ["lab", *words])

    return run


def test_run_show_table_compare(call, tmp_path):
    done = call("run", "few.toml", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"store": "lab.sqlite", "cells": 4, "ok": 4, "failed": 0, "ran": 4}
    again = call("run", "few.toml")
    assert "4 of 4 cells done, 0 failed." in again.stdout
    assert "Next: truelabel lab table few.toml --store lab.sqlite" in again.stdout

    shown = call("show")
    assert "4 records, 0 of them failed." in shown.stdout
    assert len(json.loads(call("show", "--json").stdout)) == 4
    assert len(json.loads(call("show", "--json", "--grid", "smoke").stdout)) == 0
    assert len(json.loads(call("show", "--json", "--only", "sn:* k*").stdout)) == 2
    assert "2 records in some.csv." in call("show", "--only", "knn", "--export", "some.csv").stdout
    assert "4 records in all.parquet." in call("show", "--export", "all.parquet").stdout

    table = call("table", "few.toml", "--store", "all.parquet", "--as", "markdown")
    assert "| with knn |" in table.stdout
    assert "SN 20 %" in call("table", "few.toml").stdout
    assert call("table", "few.toml", "--as", "csv", "--out", "table.csv").exit_code == 0
    assert (tmp_path / "table.csv").read_text().startswith("data,condition,method,way")
    rows = json.loads(call("table", "few.toml", "--json", "--only", "knn").stdout)["rows"]
    assert [(row["way"], row["seeds"]) for row in rows] == [("knn", 2)]

    same = call("compare", "lab.sqlite", "all.parquet", "--json")
    assert {row["difference"] for row in json.loads(same.stdout)["rows"]} == {0.0}
    assert "Of 2 cells" in call("compare", "lab.sqlite", "all.parquet").stdout


def test_a_run_goes_on_from_exported_records(call):
    assert call("run", "few.toml", "--only", "identity").exit_code == 0
    assert call("show", "--export", "kept.parquet").exit_code == 0
    again = call("run", "few.toml", "--store", "new.sqlite", "--records", "kept.parquet", "--json")
    assert json.loads(again.stdout) == {"store": "new.sqlite", "cells": 4, "ok": 4, "failed": 0, "ran": 2}


def test_failed_cells_have_their_own_exit_code(call, tmp_path):
    (tmp_path / "bad.toml").write_text(GRID.replace("epochs = 1", "epochs = 1, learning_rate = 1e30"))
    done = call("run", "bad.toml", "--only", "identity")
    assert done.exit_code == 3
    assert (
        "0 of 2 cells done, 2 failed; look at them with truelabel lab show --store lab.sqlite --failed." in done.stdout
    )
    assert "lower learning_rate" in call("show", "--failed").stdout
    assert json.loads(call("run", "bad.toml", "--only", "identity", "--json").stdout)["ran"] == 0
    assert json.loads(call("run", "bad.toml", "--only", "identity", "--retry-failed", "--json").stdout)["ran"] == 2


def test_grids_are_listed(call):
    found = json.loads(call("grids", "--json").stdout)
    assert found["paper-table1"]["cells"] == 1755
    assert "paper-time" in call("grids").stdout


@pytest.mark.parametrize("words", [(), ("run",), ("show",), ("table",), ("compare",), ("grids",)])
def test_help_has_examples(call, words):
    shown = call(*words, "--help")
    assert shown.exit_code == 0
    assert not words or f"Example: truelabel lab {words[0]}" in " ".join(shown.stdout.split())


def test_mistakes(call):
    assert isinstance(call("run", "nosuch").exception, FileNotFoundError)
    assert isinstance(call("table", "smoke").exception, FileNotFoundError)
    assert isinstance(call("run", "few.toml", "--engine", "cloud").exception, ValueError)
