"""`truelabel analyse …` as its users call it: on a run of `truelabel train`, and on files of their own."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import truelabel as tl
from shell import call
from truelabel.analysis import paired
from truelabel.cli.analyse import COMMANDS, reading
from truelabel.cli.app import main


def analyse(out: Path, name: str, *words: object) -> dict[str, Any]:
    """Run an analysis, check the files it wrote, and return the numbers it printed."""
    numbers: dict[str, Any] = json.loads(call("analyse", name, *words, "--out", out, "--json"))
    assert {out / f"{name}.svg", out / f"{name}.png", out / f"{name}.json"} <= set(map(Path, numbers["files"]))
    assert (out / f"{name}.svg").read_text().startswith("<?xml")
    assert min(Image.open(out / f"{name}.png").size) > 100
    files = numbers.pop("files")
    assert all(Path(file).is_file() for file in files)
    assert json.loads((out / f"{name}.json").read_text()) == numbers
    return numbers


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on noisy digits with two calibrators, and one by CausalNL."""
    where = tmp_path_factory.mktemp("runs")
    words = ["--dataset", "digits", "--noise", "sn:0.3", "--network", "cnn-tiny", "--subset", 300, "--batch-size", 32]
    call("train", *words, "--method", "ce", "--epochs", 8, "--out", where / "run")
    call("train", *words, "--method", "causalnl", "--epochs", 1, "--noise-rate", 0.3, "--out", where / "causalnl")
    call("fit", where / "run" / "train.parquet", "--out", where / "run" / "npc.safetensors", "--epochs", 20)
    paper = ["--recipe", "paper", "--epochs", 2, "--out", where / "run" / "paper.safetensors"]
    call("fit", where / "run" / "train.parquet", *paper)
    return where / "run"


def digits() -> tl.datasets.Dataset:
    return tl.datasets.load("digits", subset=300, seed=0)


def test_confusion_counts_both_against_the_truth(run: Path, tmp_path: Path) -> None:
    found = analyse(tmp_path, "confusion", run / "npc.safetensors", run / "train.parquet")
    said, truth = tl.Predictions.from_parquet(run / "train.parquet"), digits().train.labels
    after = tl.load(run / "npc.safetensors").predict(said)
    assert found["accuracy"] == {"ŷ": np.mean(said.hard == truth), "y*": np.mean(after == truth)}
    diagonal = np.diag(found["confusion"]["y*"])
    assert diagonal[3] == pytest.approx(np.mean(after[truth == 3] == 3), abs=1e-5)


def test_what_apply_wrote_serves_as_well_as_the_calibrator(run: Path, tmp_path: Path) -> None:
    said = tl.Predictions.from_parquet(run / "test.parquet")
    expected = reading.calibrated(run / "npc.safetensors", said)
    for ending in ("parquet", "npy"):
        call("apply", run / "npc.safetensors", run / "test.parquet", "--out", tmp_path / f"calibrated.{ending}")
        np.testing.assert_array_equal(reading.calibrated(tmp_path / f"calibrated.{ending}", said), expected)


def test_the_truth_may_be_a_column_an_array_or_a_file_of_names(run: Path, tmp_path: Path) -> None:
    said, expected = tl.Predictions.from_parquet(run / "test.parquet"), digits().test.labels
    np.save(tmp_path / "names.npy", np.array([str(k) for k in expected]))
    np.savez(tmp_path / "test.npz", probs=said.probs, features=said.views["features"], other=expected)
    for data, source in (
        (run / "test.parquet", "truth"),
        (run / "test.parquet", "labels"),
        (run / "test.parquet", str(tmp_path / "names.npy")),
        (tmp_path / "test.npz", "other"),
    ):
        np.testing.assert_array_equal(reading.truth(said, data, source), expected)


def test_the_training_file_has_the_true_labels_beside_the_noisy_ones(run: Path) -> None:
    said = tl.Predictions.from_parquet(run / "train.parquet")
    truth = reading.truth(said, run / "train.parquet", "truth")
    np.testing.assert_array_equal(truth, digits().train.labels)
    assert 0.2 < np.mean(truth != said.labels) < 0.4


def test_gains_lists_the_instances_of_each_region(run: Path, tmp_path: Path) -> None:
    found = analyse(tmp_path, "gains", run / "npc.safetensors", run / "train.parquet")
    said, truth = tl.Predictions.from_parquet(run / "train.parquet"), digits().train.labels
    after = tl.load(run / "npc.safetensors").predict(said)
    assert sum(found["regions"].values()) == 300
    assert found["net"] == np.sum(after == truth) - np.sum(said.hard == truth)
    table = pd.read_csv(tmp_path / "gains.csv")
    gained = table[table["region"].isin(["b", "f"])]
    assert len(gained) == found["gained"] > 0
    assert (gained["calibrated"] == gained["truth"]).all()
    assert (gained["predicted"] != gained["truth"]).all()
    assert (table["label"] == said.labels).all()


def test_embedding_writes_where_each_instance_lies(run: Path, tmp_path: Path) -> None:
    words = [run / "npc.safetensors", run / "test.parquet", "--most", 80, "--perplexity", 10]
    found = analyse(tmp_path, "embedding", *words)
    table = pd.read_csv(tmp_path / "embedding.csv")
    assert found["instances"] == len(table) == 80
    assert found["changed"] == (table["predicted"] != table["calibrated"]).sum()
    assert table[["x", "y"]].std().min() > 0.1


def test_suspicious_ranks_contradicted_labels_and_shows_their_images(run: Path, tmp_path: Path) -> None:
    words = [run / "npc.safetensors", run / "test.parquet", "--count", 5]
    found = analyse(tmp_path, "suspicious", *words)
    table = pd.read_csv(tmp_path / "suspicious.csv")
    assert found["suspicious"] == len(table) > 5
    assert len(found["shown"]) == 5
    assert table["confidence"].is_monotonic_decreasing
    assert (digits().test.labels[table["row"]] == table["label"]).all()
    said = tl.Predictions.from_parquet(run / "test.parquet")
    np.save(tmp_path / "images.npy", 1 - digits().test.inputs)
    given = reading.images(said, run / "test.parquet", tmp_path / "images.npy", None)
    np.testing.assert_array_equal(given, 1 - reading.images(said, run / "test.parquet", None, None))


def test_gradcam_shows_classifiers_and_calibrators(run: Path, tmp_path: Path) -> None:
    calibrators = ["--calibrator", run / "npc.safetensors", "--calibrator", run / "paper.safetensors"]
    found = analyse(tmp_path, "gradcam", run, run.parent / "causalnl", *calibrators)
    assert list(found["spread"]) == ["ce", "NPC", "NPC, paper", "causalnl"]
    assert found["features"] == {"NPC": "held constant", "NPC, paper": "computed from the image"}
    assert found["classes"] == [str(k) for k in range(10)]
    with np.load(tmp_path / "gradcam.npz") as file:
        assert file["maps"].shape == (4, 10, 8, 8)
        assert list(digits().test.labels[file["rows"]]) == list(range(10))
    chosen = analyse(tmp_path, "gradcam", run, "--row", 7, "--row", 2, "--of", "prediction", "--layer", "trunk.2")
    said = tl.Predictions.from_parquet(run / "test.parquet")
    assert chosen["rows"] == [7, 2]
    assert chosen["classes"] == [str(k) for k in said.hard[[7, 2]]]


def test_repeat_measures_every_round(run: Path, tmp_path: Path) -> None:
    words = [run / "train.parquet", run / "test.parquet", "--rounds", 1, "--recipe", "paper", "--seed", 5]
    first, second = analyse(tmp_path, "repeat", *words)["rounds"]
    train, test = (tl.Predictions.from_parquet(run / f"{part}.parquet") for part in ("train", "test"))
    after = tl.NPC("paper", random_state=5).fit(train).predict(test)
    assert first["accuracy"] == np.mean(test.hard == test.labels)
    assert second["accuracy"] == np.mean(after == test.labels)
    assert second["changed"] == np.mean(after != test.hard)


def test_priors_compares_one_hot_with_every_k(run: Path, tmp_path: Path) -> None:
    words = [run / "train.parquet", run / "test.parquet", "--top-k", 2, "--seeds", 2]
    found = analyse(tmp_path, "priors", *words)["accuracy"]
    assert list(found) == ["classifier", "one-hot", "TOP-2"]
    train, test = (tl.Predictions.from_parquet(run / f"{part}.parquet") for part in ("train", "test"))
    npc = tl.NPC("paper", shape="top-k", top_k=2, random_state=1).fit(train)
    assert found["TOP-2"][1] == np.mean(npc.predict(test) == test.labels)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_significance_reads_tables_and_counts_the_last_row_of_a_seed(tmp_path: Path, ending: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "data": ["digits"] * 5 + ["mnist"] * 5,
            "noise": ["sn"] * 10,
            "seed": [0, 1, 2, 3, 3, 0, 1, 2, 3, 4],
            "ce": rng.random(10),
            "npc": rng.random(10) + np.repeat([1.0, 0.0], 5),
        }
    )
    path = tmp_path / f"table.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    words = [path, "--before", "ce", "--after", "npc", "--cell", "data", "--cell", "noise", "--factor", 100]
    found = analyse(tmp_path, "significance", *words)
    cells = found["cells"]
    assert list(cells) == ["digits / sn", "mnist / sn"]
    kept = frame.iloc[[0, 1, 2, 4]]
    expected = paired(100 * kept["ce"], 100 * kept["npc"])
    assert cells["digits / sn"]["n"] == 4
    assert cells["digits / sn"]["t"] == pytest.approx(expected.t)
    assert cells["digits / sn"]["difference"] == pytest.approx(expected.difference)
    assert found["better"] == sum(cell["holm"] < 0.05 and cell["difference"] > 0 for cell in cells.values())
    assert len(pd.read_csv(tmp_path / "significance.csv")) == 2


def test_nested_json_has_dotted_names(tmp_path: Path) -> None:
    lines = [{"cell": "a", "seed": s, "columns": {"x": {"acc": s}, "y": {"acc": s + 1 + s % 2}}} for s in range(4)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    words = [tmp_path / "t.jsonl", "--before", "columns.x.acc", "--after", "columns.y.acc"]
    assert analyse(tmp_path, "significance", *words)["cells"]["a"]["difference"] == 1.5


def test_tables_are_printed_without_json(run: Path, tmp_path: Path) -> None:
    printed = call("analyse", "gains", run / "npc.safetensors", run / "train.parquet", "--out", tmp_path)
    assert re.search(r"\(c\)\s+\d+\s+label right, classifier right, calibrated right", printed)
    assert "net gain" in printed


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["confusion", "{}/npc.safetensors", "nowhere.parquet"], "there is no file nowhere.parquet"),
        (["confusion", "{}/npc.safetensors", "{}/bare.parquet"], "has no column truth with the true classes; pass"),
        (["confusion", "{}/npc.safetensors", "{}/test.parquet", "--truth", "no.npy"], "there is no file no.npy"),
        (["confusion", "{}/short.npy", "{}/test.parquet"], "has probabilities of shape (3, 10), but"),
        (["confusion", "{}/npc.safetensors", "{}/test.parquet", "--truth", "{}/big.npy"], "cannot be used: labels has"),
        (["confusion", "{}/npc.safetensors", "{}/test.parquet", "--truth", "{}/short.npy"], "has 3 true labels"),
        (["embedding", "{}/short.npy", "{}/test.parquet"], "needs the calibrator itself"),
        (["gains", "{}/npc.safetensors", "{}/bare.parquet"], "has no labels"),
        (["suspicious", "{}/npc.safetensors", "{}/bare.parquet"], "has no labels"),
        (["suspicious", "{}/npc.safetensors", "{}/copy.parquet"], "there are no images of"),
        (["suspicious", "{}/npc.safetensors", "{}/test.parquet", "--images", "{}/short.npy"], "3 images, but"),
        (["gradcam", "{}/nowhere"], "holds no trained classifier"),
        (["gradcam", "{}", "--row", "9999"], "--row 9999 is not a row"),
        (["gradcam", "{}", "--layer", "magic"], "no layer named 'network.magic'"),
        (["gradcam", "{}", "--of", "magic"], "--of must be one of label, prediction, calibrated"),
        (["gradcam", "{}", "--of", "calibrated"], "needs a --calibrator"),
        (["repeat", "{}/train.parquet", "{}/test.parquet", "--rounds", "0"], "rounds must be at least 1"),
        (["repeat", "{}/train.parquet", "{}/test.parquet", "--recipe", "magic"], "recipe must be one of"),
        (["priors", "{}/train.parquet", "{}/test.parquet", "--top-k", "11"], "from 1 to 10"),
        (["significance", "{}/t.csv"], "has no column cell; it has data, before, after"),
        (["significance", "{}/t.csv", "--cell", "data"], "cell 'x': a paired test needs at least two seeds"),
        (["significance", "{}/t.csv", "--cell", "data", "--correction", "none"], "holm or benjamini_hochberg"),
        (["gradcam", "{}", "--calibrator", "{}/wide.safetensors"], "features has 64 columns, but the calibrator was"),
        (["significance", "{}/words.csv"], "has results that are not numbers"),
        (["significance", "{}/broken.jsonl"], "has a line that is not JSON"),
        (["significance", "{}/t.xlsx"], "there is no file"),
        (["significance", "{}/run.json"], "neither a .csv, a .parquet nor a .jsonl"),
    ],
)
def test_mistakes_give_one_line_and_exit_code_1(
    words: list[str], complaint: str, run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = tl.Predictions.from_parquet(run / "test.parquet")
    said.replace(labels=None).to_parquet(run / "bare.parquet")
    said.to_parquet(run / "copy.parquet")
    np.save(run / "short.npy", np.full((3, 10), 0.1))
    np.save(run / "big.npy", np.full(len(said), 10))
    (run / "t.csv").write_text("data,before,after\nx,1,2\n")
    (run / "words.csv").write_text("cell,before,after\nx,1,good\n")
    (run / "broken.jsonl").write_text('{"cell": 1}\n{"cell"')
    if "{}/wide.safetensors" in words:
        wide = np.concatenate([said.views["features"]] * 2, axis=1)
        tl.NPC(epochs=1, random_state=0).fit(said.replace(features=wide)).save(run / "wide.safetensors")
    out = ["--out", str(run / "figures")]
    monkeypatch.setattr(sys, "argv", ["truelabel", "analyse", *(word.format(run) for word in words), *out])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    printed = capsys.readouterr().err.strip()
    assert complaint in printed
    assert printed.startswith("Error:")
    assert "\n" not in printed


def test_every_analysis_has_help_with_an_example() -> None:
    listed = call("analyse", "--help")
    for name in (command.__name__ for command in COMMANDS):
        assert name in listed
        assert f"Example: truelabel analyse {name}" in " ".join(call("analyse", name, "--help").split())
