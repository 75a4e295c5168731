"""`truelabel issues` and `truelabel correct` as a curator calls them."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import truelabel as tl
from shell import call
from truelabel.cli.app import main
from truelabel.labels import examine

N = 200


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Two clusters whose labels are wrong for a quarter, as files, with what examining them finds."""
    where = tmp_path_factory.mktemp("labels")
    rng = np.random.default_rng(0)
    truth = np.arange(N) % 2
    x = rng.normal(size=(N, 3)) + 5 * truth[:, None]
    noisy = np.where(rng.random(N) < 0.25, 1 - truth, truth)
    probs = np.eye(2)[noisy] * 0.9 + 0.05
    said = tl.Predictions(probs, x, labels=noisy, class_names=["cat", "dog"], ids=[f"i{k}" for k in range(N)])
    said.to_parquet(where / "train.parquet")
    for name, array in (("p", probs), ("x", x), ("y", noisy)):
        np.save(where / f"{name}.npy", array)
    several = np.column_stack([noisy, 1 - noisy])
    np.savez(where / "several.npz", probs=several * 0.9 + 0.05, labels=several, features=x)
    pd.DataFrame({"probs": list(probs), "labels": list(several)}).to_parquet(where / "lists.parquet")
    found = examine(said, progress=False)
    found.calibrator.save(where / "npc.safetensors")
    return SimpleNamespace(where=where, truth=truth, noisy=noisy, found=found)


def test_issues_writes_what_python_finds(files: SimpleNamespace) -> None:
    out = files.where / "issues.parquet"
    printed = json.loads(call("issues", files.where / "train.parquet", "--out", out, "--top", 3, "--json"))
    table = pd.read_parquet(out)
    expected = files.found.table
    assert table["id"].tolist() == expected["id"].tolist()
    np.testing.assert_allclose(table["p_wrong"], expected["p_wrong"], atol=1e-6)
    assert [row["id"] for row in printed["top"]] == expected["id"].tolist()[:3]
    assert printed["wrong"]["number"] == pytest.approx(files.found.wrong.total.number)
    assert [row["given"] for row in printed["wrong"]["by_class"]] == ["cat", "dog"]
    assert printed["instances"] == printed["listed"] == N


def test_issues_lists_duplicates_those_with_different_labels_first(files: SimpleNamespace, tmp_path: Path) -> None:
    said = tl.Predictions.from_parquet(files.where / "train.parquet")
    rows = np.r_[np.arange(N), np.arange(8)]
    labels = said.labels[rows]
    labels[N + 4] = 1 - labels[4]
    said[rows].replace(labels=labels, ids=[f"i{k}" for k in range(N + 8)]).to_parquet(tmp_path / "twice.parquet")
    words = ["issues", tmp_path / "twice.parquet", "--out", tmp_path / "i.csv", "--top", 0]
    printed = call(*words)
    assert "Duplicates: 8 groups of 16 instances, 8 exact; 1 has different labels, nearly certain mistakes" in printed
    assert re.search(rf"exact: i4 \((cat|dog)\), i{N + 4} \((cat|dog)\)", printed)
    table = pd.read_csv(tmp_path / "i-duplicates.csv")
    assert table["id"].tolist()[:2] == ["i4", f"i{N + 4}"]
    assert len(table) == 16
    said.to_parquet(tmp_path / "twice.parquet")
    shown = json.loads(call(*words, "--json"))
    assert shown["duplicates"] == {"groups": 0, "instances": 0, "exact": 0, "different_labels": 0}
    assert len(pd.read_csv(tmp_path / "i-duplicates.csv")) == 0


def test_issues_prints_counts_and_the_worst_and_takes_npy_files(files: SimpleNamespace, tmp_path: Path) -> None:
    words = [
        word
        for name, file in (("probs", "p"), ("features", "x"), ("labels", "y"))
        for word in (f"--{name}", files.where / f"{file}.npy")
    ]
    printed = call("issues", *words, "--out", tmp_path / "i.csv", "--top", 2, "--threshold", 0.9)
    assert f"Probably wrong: {files.found.wrong.total}" in printed
    assert "The most suspicious 2:" in printed
    listed = pd.read_csv(tmp_path / "i.csv")
    assert len(listed) == (files.found.p_wrong >= 0.9).sum() > 20
    assert listed["p_wrong"].min() >= 0.9
    assert str(listed["id"][0]) in printed


def test_issues_uses_a_calibrator_that_is_there(
    files: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tl.NPC, "fit", lambda *_, **__: pytest.fail("nothing is to be fitted"))
    call(
        "issues",
        files.where / "train.parquet",
        "--calibrator",
        files.where / "npc.safetensors",
        "--out",
        tmp_path / "i.csv",
    )
    np.testing.assert_allclose(pd.read_csv(tmp_path / "i.csv")["p_wrong"], files.found.table["p_wrong"], atol=1e-4)


def test_issues_exports_to_label_studio(files: SimpleNamespace, tmp_path: Path) -> None:
    call(
        "issues",
        files.where / "train.parquet",
        "--calibrator",
        files.where / "npc.safetensors",
        "--threshold",
        0.5,
        "--out",
        tmp_path / "i.csv",
        "--label-studio",
        tmp_path / "tasks.json",
        "--content",
        "text",
    )
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert len(tasks) == len(pd.read_csv(tmp_path / "i.csv"))
    assert tasks[0]["data"]["text"] == files.found.table["id"].iloc[0]


def test_correct_writes_labels_and_why(files: SimpleNamespace, tmp_path: Path) -> None:
    model = ["--calibrator", files.where / "npc.safetensors", "--correct", "all"]
    out = tmp_path / "corrected.csv"
    counts = json.loads(call("correct", files.where / "train.parquet", *model, "--out", out, "--json"))
    table = pd.read_csv(out)
    assert table["id"].tolist() == [f"i{k}" for k in range(N)]
    names = np.array(["cat", "dog"])
    assert np.mean(table["corrected"] == names[files.truth]) > 0.95
    assert table["changed"].sum() == counts["changed"] == (table["corrected"] != table["given"]).sum() > 20
    assert table.loc[table["changed"], "why"].str.contains("neighbours are labelled").all()


def test_correct_takes_a_budget_or_a_threshold_and_writes_npy(files: SimpleNamespace, tmp_path: Path) -> None:
    words = ["correct", files.where / "train.parquet", "--calibrator", files.where / "npc.safetensors"]
    out = tmp_path / "labels.npy"
    safe = tmp_path / "safe.npy"
    assert "does not keep how far the noise is proven" in call(*words, "--out", safe)
    np.testing.assert_array_equal(np.load(safe), files.noisy)
    words += ["--correct", "all"]
    printed = call(*words, "--budget", 7, "--out", out, "--top", 2)
    assert (np.load(out) != files.noisy).sum() == 7
    assert "7 of 200 labels changed" in printed
    assert printed.count(" → ") == 2
    call(*words, "--threshold", 1, "--out", out, "--overwrite")
    np.testing.assert_array_equal(np.load(out), files.noisy)


def test_several_labels_an_instance_are_examined_class_by_class(files: SimpleNamespace, tmp_path: Path) -> None:
    printed = call("issues", files.where / "several.npz", "--out", tmp_path / "i.csv", "--top", 1)
    assert "Probably wrong, of 400 labels" in printed
    table = pd.read_csv(tmp_path / "i.csv")
    assert len(table) == 2 * N
    truth = np.column_stack([files.truth, 1 - files.truth])
    assert np.mean(table["suggested"] == truth[table["id"], table["class"]]) > 0.95


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["issues"], "name one file with everything"),
        (["issues", "nowhere.parquet"], "there is no file nowhere.parquet"),
        (["issues", "{}/train.parquet", "--out", "x.txt"], "x.txt must end in .csv or .parquet"),
        (["issues", "{}/train.parquet", "--threshold", "2"], "--threshold is a probability between 0 and 1, not 2"),
        (["issues", "--probs", "{}/p.npy", "--labels", "{}/y.npy"], "cannot judge them alone"),
        (["issues", "--probs", "{}/p.npy", "--features", "{}/x.npy"], "there are no labels to find wrong ones among"),
        (["issues", "{}/lists.parquet"], "several labels an instance; write probs, features and labels"),
        (["issues", "{}/several.npz", "--calibrator", "{}/npc.safetensors"], "leave --calibrator out"),
        (["issues", "{}/several.npz", "--logits"], "pass probabilities, not --logits"),
        (["correct", "{}/train.parquet", "--correct", "some"], "one of the rules safe, audited, all, none, not 'some'"),
        (["correct", "{}/train.parquet", "--out", "x.json"], "must end in .csv or .parquet"),
        (
            ["correct", "{}/train.parquet", "--calibrator", "{}/npc.safetensors", "--budget", "-1"],
            "budget is a number of labels",
        ),
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
    monkeypatch.setattr(sys, "argv", ["truelabel", *(word.format(files.where) for word in words)])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr().err.strip()
    assert stop.value.code == 1
    assert complaint in printed
    assert printed.startswith("Error:")
    assert "\n" not in printed
    assert list(tmp_path.iterdir()) == []


def test_help_has_examples_and_a_panel_for_curators() -> None:
    for command in ("issues", "correct"):
        assert call(command, "--help").count(f"truelabel {command}") >= 3
    assert "For curators: find and fix wrong labels" in call("--help")
