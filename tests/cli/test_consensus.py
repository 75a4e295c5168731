"""`truelabel consensus` as a curator calls it."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from shell import call
from truelabel.cli.app import main
from truelabel.labels import Votes, consensus

N = 150


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Two blobs, each point labelled by two of four annotators, as files in an order of their own."""
    where = tmp_path_factory.mktemp("votes")
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=N)
    x = (rng.normal(size=(N, 2)) + 4 * truth[:, None]).astype(np.float32)
    right = rng.random((N, 4)) < [0.95, 0.8, 0.7, 0.6]
    matrix = np.where(right, truth[:, None], 1 - truth[:, None])
    matrix[rng.random((N, 4)).argsort(axis=1) >= 2] = -1
    rows, columns = np.nonzero(matrix >= 0)
    order = rng.permutation(len(rows))
    rows, columns = rows[order], columns[order]
    names = np.array(["cat", "dog"])
    long = pd.DataFrame({"image": rows, "who": [f"a{j}" for j in columns], "class": names[matrix[rows, columns]]})
    long.to_csv(where / "votes.csv", index=False)
    pd.DataFrame({"image": np.arange(N), "features": list(x)}).to_parquet(where / "features.parquet")
    pd.DataFrame({"image": np.arange(N), "f0": x[:, 0], "f1": x[:, 1]}).to_csv(where / "features.csv", index=False)
    pd.DataFrame({"image": np.arange(N), "text": ["a"] * N}).to_csv(where / "texts.csv", index=False)
    np.save(where / "x.npy", x)
    return SimpleNamespace(where=where, truth=truth, x=x, matrix=matrix, long=long)


COLUMNS = ("--instance", "image", "--annotator", "who", "--label", "class")


def test_consensus_writes_what_python_finds(files: SimpleNamespace, tmp_path: Path) -> None:
    out, people = tmp_path / "labels.parquet", tmp_path / "people.csv"
    words = [files.where / "votes.csv", "--features", files.where / "features.parquet", *COLUMNS]
    shown = json.loads(call("consensus", *words, "--out", out, "--annotators", people, "--json"))
    table = pd.read_parquet(out)
    assert table["instance"].tolist() == list(range(N))
    assert np.mean((table["consensus"] == "dog") == files.truth) > 0.97
    assert shown["instances"] == N
    assert shown["votes"] == 2 * N
    assert shown["without_votes"] == 0
    assert shown["class_shares"]["dog"] == pytest.approx(np.mean(files.truth), abs=0.03)
    table = pd.read_csv(people).set_index("annotator")
    assert table["quality"].idxmax() == "a0"
    assert {row["annotator"] for row in shown["annotators"]} == {"a0", "a1", "a2", "a3"}


@pytest.mark.parametrize("name", ["features.csv", "x.npy"])
def test_features_come_as_columns_or_rows_too(files: SimpleNamespace, tmp_path: Path, name: str) -> None:
    out = tmp_path / "c.csv"
    paths = ["--out", out, "--annotators", tmp_path / "a.csv"]
    printed = call("consensus", files.where / "votes.csv", "--features", files.where / name, *COLUMNS, *paths)
    assert np.mean((pd.read_csv(out)["consensus"] == "dog") == files.truth) > 0.97
    assert f"300 votes for 150 instances; all agree on {(pd.read_csv(out)['disagreement'] == 0).sum()}." in printed
    assert "lowest quality, 4 of 4" in printed


def test_votes_stand_alone_without_features(files: SimpleNamespace, tmp_path: Path) -> None:
    out = tmp_path / "c.csv"
    printed = call("consensus", files.where / "votes.csv", *COLUMNS, "--out", out, "--annotators", tmp_path / "a.csv")
    votes = Votes.from_table(files.long, instance="image", annotator="who", label="class")
    np.testing.assert_allclose(pd.read_csv(out)["p"], consensus(votes).table["p"])
    assert "No features were given" in printed


def test_anonymous_votes_write_no_annotators(files: SimpleNamespace, tmp_path: Path) -> None:
    words = [files.where / "votes.csv", *COLUMNS, "--anonymous", "--out", tmp_path / "c.csv"]
    printed = call("consensus", *words, "--annotators", tmp_path / "a.csv", "--top", 2)
    assert not (tmp_path / "a.csv").exists()
    assert "best_annotator" not in printed


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nowhere.csv"], "there is no file nowhere.csv"),
        (["votes.txt"], "votes.txt is neither a .csv nor a .parquet file"),
        (["{}/votes.csv"], "the table has no column 'instance', but 'image', 'who', 'class'"),
        (["{}/votes.csv", *COLUMNS, "--out", "x.json"], "x.json must end in .csv or .parquet"),
        (["{}/votes.csv", *COLUMNS, "--features", "{}/votes.csv"], "instances has '"),
        (["{}/votes.csv", *COLUMNS, "--features", "{}/texts.csv"], "column 'text' of"),
    ],
)
def test_mistakes_give_one_line_and_exit_code_1(
    words: list[str],
    complaint: str,
    files: SimpleNamespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["truelabel", "consensus", *(word.format(files.where) for word in words)])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr().err.strip()
    assert stop.value.code == 1
    assert complaint in printed
    assert "\n" not in printed
    assert list(tmp_path.iterdir()) == []


def test_help_has_examples() -> None:
    assert call("consensus", "--help").count("truelabel consensus") >= 3
