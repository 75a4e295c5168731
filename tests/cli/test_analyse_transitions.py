"""`truelabel analyse transitions` as its users call it."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truelabel as tl
from shell import call
from truelabel import parquet
from truelabel.cli.app import main

T = np.array([[0.7, 0.3], [0.1, 0.9]])


def numbers(*words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call("analyse", "transitions", *words, "--json"))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clusters whose labels were drawn by T, a classifier that memorised them, a calibrator, and a run of TVR."""
    where = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    truth = np.arange(600) % 2
    features = rng.normal(size=(600, 3)) + 4 * truth[:, None]
    noisy = (rng.random(600) > T[truth, 0]).astype(int)
    said = tl.Predictions(np.eye(2)[noisy] * 0.9 + 0.05, features, labels=noisy, class_names=["cat", "dog"])
    parquet.write(said, where / "train.parquet", truth=truth)
    said.to_parquet(where / "own.parquet")
    said.replace(labels=None).to_parquet(where / "unlabelled.parquet")
    np.save(where / "T.npy", T)
    np.savetxt(where / "T.csv", T, delimiter=",")
    np.save(where / "wide.npy", np.eye(3))
    np.savetxt(where / "T.txt", T)
    call("fit", where / "train.parquet", "--out", where / "npc.safetensors")
    split = tl.datasets.Split(features.astype(np.float32), noisy, ("cat", "dog"))
    for name, method in (("tvr", tl.methods.TVR(epochs=2)), ("ce", tl.methods.CE(epochs=1))):
        method.fit(split, "mlp").save(where / name)
    return where


def test_every_matrix_is_printed_written_and_measured(folder: Path, tmp_path: Path) -> None:
    words = [folder / "npc.safetensors", folder / "train.parquet", "--method", folder / "tvr", "--out", tmp_path]
    found = numbers(*words)
    names = ["NPC, T from H", "NPC, counted"]
    assert list(found["transitions"])[:2] == names
    assert list(found["transitions"])[-1] == "tvr"
    said = tl.Predictions.from_parquet(folder / "train.parquet")
    truth = np.arange(600) % 2
    counted = [[np.mean(said.labels[truth == y] == k) for k in range(2)] for y in range(2)]
    np.testing.assert_allclose(found["truth"], counted, atol=1e-6)
    for name, matrix in found["transitions"].items():
        squared = np.mean(np.square(np.array(matrix) - counted))
        assert found["errors"][name]["mean squared error"] == pytest.approx(squared, abs=1e-6)
    assert found["errors"]["NPC, T from H"]["mean absolute error"] < 0.06
    np.testing.assert_allclose(
        found["transitions"]["tvr"], tl.methods.Trained.load(folder / "tvr").transition, atol=1e-6
    )
    assert found["conditioning"]["determined"] > 0
    files = {Path(file).name for file in found["files"]}
    assert files == {f"transitions.{kind}" for kind in ("svg", "png", "csv", "json")}
    table = pd.read_csv(tmp_path / "transitions.csv")
    cell = table.query("transition == 'NPC, T from H' and `true class` == 'cat' and `noisy label` == 'dog'")
    assert cell["probability"].item() == pytest.approx(found["transitions"]["NPC, T from H"][0][1], abs=1e-6)
    assert len(table) == 4 * (len(found["transitions"]) + 1)
    printed = call("analyse", "transitions", *words)
    assert "mean squared error" in printed
    assert "condition number" in printed


@pytest.mark.parametrize("file", ["T.npy", "T.csv"])
def test_the_true_matrix_can_be_given(folder: Path, tmp_path: Path, file: str) -> None:
    words = [folder / "npc.safetensors", folder / "own.parquet", "--known", folder / file, "--out", tmp_path]
    np.testing.assert_allclose(numbers(*words)["truth"], T)


def test_without_a_truth_there_are_no_errors(folder: Path, tmp_path: Path) -> None:
    found = numbers(folder / "npc.safetensors", folder / "own.parquet", "--out", tmp_path)
    assert "errors" not in found
    assert "truth" not in found
    printed = call(
        "analyse", "transitions", folder / "npc.safetensors", folder / "own.parquet", "--out", tmp_path, "--ridge", 9
    )
    assert "mean diagonal" in printed
    assert "error" not in printed


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["{}/own.parquet", "--method", "{}/ce"], "trained by ce, which estimates no T"),
        (["{}/own.parquet", "--method", "{}"], "holds no trained classifier"),
        (["{}/own.parquet", "--known", "{}/wide.npy"], "is for 3 classes, but there are 2"),
        (["{}/own.parquet", "--known", "{}/T.txt"], "must end in .npy or .csv"),
        (["{}/own.parquet", "--known", "nowhere.npy"], "there is no file nowhere.npy"),
        (["{}/own.parquet", "--truth", "answer"], "has no column answer with the true classes"),
        (["{}/unlabelled.parquet"], "has no labels"),
        (["{}/own.parquet", "--ridge", "-1"], "ridge must be at least 0"),
    ],
)
def test_mistakes_give_one_line(
    words: list[str],
    complaint: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [word.format(folder) for word in words]
    monkeypatch.setattr(sys, "argv", ["truelabel", "analyse", "transitions", f"{folder}/npc.safetensors", *given])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    assert complaint in capsys.readouterr().err
