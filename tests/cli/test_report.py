"""`truelabel report` as a curator calls it."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import truelabel as tl
from shell import call
from truelabel.cli.app import main
from truelabel.labels import examine, examined

N = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clusters, a fifth of their labels wrong, examined and written."""
    where = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    truth = np.arange(N) % 2
    x = rng.normal(size=(N, 3)) + 6 * truth[:, None]
    noisy = np.where(rng.random(N) < 0.2, 1 - truth, truth)
    said = tl.Predictions(np.eye(2)[noisy] * 0.9 + 0.05, x, labels=noisy, class_names=["cat", "dog"])
    said.to_parquet(where / "train.parquet")
    np.save(where / "truth.npy", truth)
    np.save(where / "images.npy", rng.random((N, 5, 5)))
    found = examine(said, progress=False)
    assert found.calibrator is not None
    found.calibrator.save(where / "npc.safetensors")
    examined(said, found).write(where / "examined")
    return where


def test_a_folder_becomes_a_report(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "r.html"
    printed = json.loads(call("report", folder / "examined", "--out", out, "--map", "pca", "--title", "Pets", "--json"))
    page = out.read_text(encoding="utf-8")
    assert printed["file"] == str(out)
    assert printed["bytes"] == len(page.encode())
    assert printed["instances"] == N
    assert f"<strong>{printed['wrong']['number']:,.0f}</strong> of {N}" in page
    assert "<h1>Pets</h1>" in page
    assert "Memorised" not in page


def test_a_file_becomes_a_report_with_pictures_calibrator_and_truth(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    words = ["--images", folder / "images.npy", "--calibrator", folder / "npc.safetensors"]
    printed = call(
        "report", folder / "train.parquet", *words, "--truth", folder / "truth.npy", "--map", "none", "--out", out
    )
    page = out.read_text(encoding="utf-8")
    assert f"Report: {out}" in printed.replace("\n", "")
    assert "Memorised" in page
    assert "Against the truth" in page
    assert page.count('<img src="data:image/') > 10


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["{}/examined", "--out", "r.pdf"], "r.pdf must end in .html"),
        (["{}/examined", "--map", "umap"], "--map is tsne, pca or none, not umap"),
        (["{}"], "holds no examined labels"),
        (["nowhere"], "There is no folder or file nowhere"),
        (["{}/examined", "--truth", "{}/images.npy", "--map", "none"], "the truth does not fit the predictions"),
    ],
)
def test_mistakes_give_one_line_and_no_file(
    words: list[str],
    complaint: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["truelabel", "report", *(word.format(folder) for word in words)])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr().err.strip()
    assert stop.value.code == 1
    assert complaint in printed
    assert "\n" not in printed
    assert list(tmp_path.iterdir()) == []


def test_help_has_examples() -> None:
    assert call("report", "--help").count("truelabel report") >= 3
