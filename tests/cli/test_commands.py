"""The command line as its users call it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import truelabel as tl
from shell import call, fails
from truelabel.cli.app import app

runner = CliRunner()


def said(n: int = 200, seed: int = 0, **parts: object) -> tl.Predictions:
    """Two clusters, and a classifier that memorised labels of which a quarter are wrong."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    features = rng.normal(size=(n, 3)) + 5 * truth[:, None]
    noisy = np.where(rng.random(n) < 0.25, 1 - truth, truth)
    return tl.Predictions(np.eye(2)[noisy] * 0.9 + 0.05, features, labels=noisy, **parts)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with predictions in each format and a fitted calibrator."""
    where = tmp_path_factory.mktemp("files")
    train = said(class_names=["cat", "dog"], ids=[f"i{k}" for k in range(200)])
    train.to_parquet(where / "train.parquet")
    np.savez(where / "train.npz", probs=train.probs, features=train.views["features"], labels=train.labels)
    np.save(where / "p.npy", train.probs)
    np.save(where / "x.npy", train.views["features"])
    np.save(where / "y.npy", train.labels)
    said(20).replace(labels=None).to_parquet(where / "unlabelled.parquet")
    call("fit", where / "train.parquet", "--out", where / "npc.safetensors")
    return where


def test_fit_writes_a_calibrator_that_python_loads_and_reports_as_json(folder: Path) -> None:
    out = folder / "again.safetensors"
    report = json.loads(call("fit", folder / "train.parquet", "--out", out, "--json", "--seed", 3))
    assert report["n"] == 200
    assert 0.15 < report["noise_rate"] < 0.35
    expected = tl.NPC(random_state=3).fit(tl.Predictions.from_parquet(folder / "train.parquet"))
    test = said(50, seed=1)
    np.testing.assert_array_equal(tl.load(out).calibrate(test), expected.calibrate(test))


def test_parquet_npz_and_npy_give_the_same_calibrator(folder: Path) -> None:
    test = said(50, seed=1)
    answers = []
    for number, words in enumerate(
        (
            [folder / "train.parquet"],
            [folder / "train.npz"],
            ["--probs", folder / "p.npy", "--features", folder / "x.npy", "--labels", folder / "y.npy"],
        )
    ):
        out = folder / f"{number}.safetensors"
        call("fit", *words, "--out", out)
        answers.append(tl.load(out).calibrate(test))
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


def test_fit_passes_its_options_on(folder: Path) -> None:
    out = folder / "paper.safetensors"
    call("fit", folder / "train.parquet", "--recipe", "paper", "--k", 7, "--rho", 3, "--epochs", 2, "--out", out)
    npc = tl.load(out)
    assert (npc.recipe, npc.k, npc.rho, npc.epochs) == ("paper", 7, 3.0, 2)
    call("fit", folder / "train.parquet", "--out-of-sample", "--out", out)
    assert tl.load(out).report_.memorisation == 0


@pytest.mark.parametrize("ending", ["parquet", "npz"])
def test_fit_takes_a_validation_set(folder: Path, ending: str) -> None:
    held_out = said(100, seed=2)
    if ending == "parquet":
        held_out.to_parquet(folder / "held-out.parquet")
    else:
        np.savez(
            folder / "held-out.npz",
            probs=held_out.probs,
            features=held_out.views["features"],
            labels=held_out.labels,
        )
    out = folder / "validated.safetensors"
    words = ["fit", folder / "train.parquet", "--validation", folder / f"held-out.{ending}", "--out", out, "--json"]
    assert json.loads(call(*words))["n"] == 200
    train = tl.Predictions.from_parquet(folder / "train.parquet")
    expected = tl.NPC(random_state=0).fit(train, validation=held_out)
    test = said(50, seed=1)
    np.testing.assert_allclose(tl.load(out).calibrate(test), expected.calibrate(test), atol=1e-6)
    alone = tl.load(folder / "npc.safetensors").calibrate(test)
    assert np.abs(tl.load(out).calibrate(test) - alone).max() > 1e-3


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_apply_writes_a_row_an_instance(folder: Path, ending: str) -> None:
    out = folder / f"calibrated.{ending}"
    counts = json.loads(call("apply", folder / "npc.safetensors", folder / "train.parquet", "--out", out, "--json"))
    table = pd.read_parquet(out) if ending == "parquet" else pd.read_csv(out)
    train = tl.Predictions.from_parquet(folder / "train.parquet")
    probs = tl.load(folder / "npc.safetensors").calibrate(train)
    assert list(table["id"]) == list(train.ids)
    assert list(table["calibrated"]) == [("cat", "dog")[k] for k in probs.argmax(1)]
    np.testing.assert_allclose(table["probability"], probs.max(1), rtol=1e-5)
    assert counts["changed"] == int(np.sum(probs.argmax(1) != train.hard)) > 20


def test_apply_reads_a_long_file_piece_by_piece(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from truelabel import parquet

    pieces = []
    whole = parquet.stream

    def small(path: Path) -> object:
        for piece in whole(path, 64):
            pieces.append(len(piece))
            yield piece

    monkeypatch.setattr(parquet, "stream", small)
    out = folder / "calibrated.npy"
    call("apply", folder / "npc.safetensors", folder / "train.parquet", "--out", out)
    train = tl.Predictions.from_parquet(folder / "train.parquet")
    assert pieces == [64, 64, 64, 8]
    np.testing.assert_allclose(np.load(out), tl.load(folder / "npc.safetensors").calibrate(train), atol=1e-6)


def test_train_writes_predictions_that_fit_and_apply_read(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ["--dataset", "digits", "--noise", "sn:0.3", "--method", "ce", "--network", "mlp", "--epochs", 2]
    figures = json.loads(call("train", *words, "--subset", 300, "--out", out, "--json"))
    assert 0.2 < figures["noise_rate"] < 0.4
    train, test = (tl.Predictions.from_parquet(out / f"{part}.parquet") for part in ("train", "test"))
    assert (train.out_of_sample, test.out_of_sample) == (False, True)
    assert figures["test accuracy"] == pytest.approx(np.mean(test.hard == test.labels))
    call("fit", out / "train.parquet", "--out", out / "npc.safetensors", "--epochs", 1)
    call("apply", out / "npc.safetensors", out / "test.parquet", "--out", out / "calibrated.csv")


def test_train_lets_a_method_that_uses_clean_labels_know_some(tmp_path: Path) -> None:
    words = ["--noise", "sn:0.3", "--method", "mlc", "--network", "mlp", "--epochs", 1, "--subset", 200]
    call("train", *words, "--trusted", 40, "--out", tmp_path)
    assert json.loads((tmp_path / "trained.json").read_text())["method"]["name"] == "mlc"


@pytest.mark.parametrize("room", ["methods", "calibrators", "datasets", "noise", "networks"])
def test_listings_name_everything(room: str) -> None:
    names = getattr(tl, room).NAMES
    assert json.loads(call(room, "--json")) == names
    printed = call(room)
    assert all(name in printed for name in names)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["fit"], "name one file with everything"),
        (["fit", "nowhere.parquet"], "there is no file nowhere.parquet"),
        (["fit", "data.txt"], "neither a .parquet nor a .npz"),
        (["fit", "{}/train.parquet", "--recipe", "magic"], "recipe must be one of default, paper"),
        (["fit", "{}/train.parquet", "--k", "200"], "k must be at least 1 and below the number of instances (200)"),
        (["fit", "--features", "{}/x.npy"], "there are no probs"),
        (["fit", "--probs", "{}/p.csv"], "is not a .npy file"),
        (["fit", "{}/train.parquet", "--validation", "nowhere.npz"], "nowhere.npz"),
        (["fit", "{}/train.parquet", "--validation", "{}/p.npy"], "neither a .parquet nor a .npz"),
        (["fit", "{}/train.parquet", "--validation", "{}/unlabelled.parquet"], "pass labels in both Predictions"),
        (
            ["fit", "{}/train.parquet", "--validation", "{}/train.npz", "--recipe", "paper"],
            "the paper's recipe has no use for validation",
        ),
        (["apply", "{}/train.npz", "{}/train.parquet"], "is damaged, or not a safetensors file"),
        (["apply", "{}/npc.safetensors", "{}/train.parquet", "--out", "x.xlsx"], "must end in"),
        (["train", "--out", "{}/t", "--noise", "fog:0.2"], "There is no noise 'fog'"),
        (["train", "--out", "{}/t", "--method", "magic"], "There is no method named 'magic'"),
        (["train", "--out", "{}/t", "--method", "mlc"], "mlc uses clean labels; say with --trusted how many"),
        (["train", "--out", "{}/t", "--trusted", "9"], "ce has no use for clean labels; leave trusted out"),
    ],
)
def test_mistakes_give_one_line_and_exit_code_1(
    words: list[str],
    complaint: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    printed = fails(monkeypatch, capsys, *(word.format(folder) for word in words))
    assert complaint in printed
    assert printed.startswith("Error:")
    assert "\n" not in printed


def test_every_command_has_help_with_an_example() -> None:
    for command in ("demo", "fit", "apply", "train", "methods", "calibrators", "datasets", "noise", "networks"):
        assert f"truelabel {command}" in call(command, "--help").replace("\n", " ")


def test_a_wrong_call_has_exit_code_2() -> None:
    assert runner.invoke(app, ["fit", "--nonsense"]).exit_code == 2


def test_the_command_is_installed() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("truelabel"), "--version"], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == tl.__version__
