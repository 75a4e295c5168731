"""`truelabel clean`, and folders of examined labels, as a curator calls them."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits
from typer.testing import CliRunner

import truelabel as tl
from shell import call, fails
from truelabel.cli import examined as pages
from truelabel.cli.app import app
from truelabel.labels import Examined

runner = CliRunner()
N = 240


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Digits 0 to 3 as PNG files by class, 20 % of them in a wrong folder; the true class is in the name."""
    where = tmp_path_factory.mktemp("raw") / "digits"
    x, y = load_digits(n_class=4, return_X_y=True)
    rng = np.random.default_rng(0)
    for row in range(N):
        given = (y[row] + rng.integers(1, 4)) % 4 if rng.random() < 0.2 else y[row]
        (where / f"class {given}").mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(np.uint8(x[row].reshape(8, 8) * 15.9))
        image.save(where / f"class {given}" / f"{row:03d}-class {y[row]}.png")
    return where


def truth(files: pd.Series) -> pd.Series:
    return files.str.extract(r"-(class \d)\.png")[0]


@pytest.fixture(scope="module")
def out(images: Path) -> Path:
    """What one run on these images wrote, one of which is broken."""
    (images / "class 1" / "broken.png").write_text("no image")
    where = images.parent / "out"
    words = [images, "--out", where, "--encoder", "none", "--copy-to", images.parent / "tree"]
    words += ["--correct", "all"]
    printed = call("clean", *words)
    assert "Probably wrong: " in printed
    assert f"look at the suspects and decide: truelabel review {where}" in printed
    assert "Judged by: pixels of 8×8 pixels" in printed
    assert str(where / "skipped.csv") in printed
    return where


def test_wrong_folders_are_found_and_labels_become_cleaner(out: Path) -> None:
    table = pd.read_csv(out / "corrected.csv")
    right = truth(table["file"])
    assert len(table) == N
    assert np.mean(table["given"] == right) < 0.85
    assert np.mean(table["corrected"] == right) > 0.97
    issues = pd.read_csv(out / "issues.csv")
    wrong = int((table["given"] != right).sum())
    head = issues.head(wrong)
    assert np.mean(head["given"] != truth(head["id"])) > 0.95


def test_a_broken_image_is_listed_and_left_out(out: Path) -> None:
    skipped = pd.read_csv(out / "skipped.csv")
    assert skipped["id"].tolist() == ["class 1/broken.png"]
    assert "broken.png" not in (out / "corrected.csv").read_text()


def test_the_tree_has_every_image_under_its_corrected_class(out: Path) -> None:
    table = pd.read_csv(out / "corrected.csv")
    tree = out.parent / "tree"
    files = [file.relative_to(tree).as_posix() for file in tree.rglob("*.png")]
    assert sorted(files) == sorted(table["corrected"] + "/" + table["file"].str.split("/").str[1])


def test_report_and_examined_read_the_folder(out: Path, tmp_path: Path) -> None:
    read = pages.read(out)
    assert read.items.kind == "image"
    assert read.items.image(0, 32)
    assert read.about["seed"] == 0
    shown = json.loads(call("report", out, "--map", "none", "--out", tmp_path / "again.html", "--json"))
    assert shown["instances"] == N


def test_duplicates_are_said_written_and_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve rows of a table are there twice, two of them with another label; a second run has none."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kind = np.arange(120) % 2
    x = (rng.normal(size=(120, 4)) + 5 * kind[:, None]).round(4)
    rows = np.r_[np.arange(120), np.arange(12)]
    kinds = kind[rows]
    kinds[[123, 127]] = 1 - kinds[[3, 7]]
    table = pd.DataFrame(x[rows], columns=list("abcd")).assign(kind=np.array(["cat", "dog"])[kinds])
    table.to_csv("t.csv", index=False)
    printed = call("clean", "t.csv", "--label", "kind")
    assert (
        "Duplicates: 12 groups of 24 instances, 12 exact; 2 have different labels, nearly certain mistakes" in printed
    )
    assert "  exact: 3 (dog), 123 (cat)\n  exact: 7 (dog), 127 (cat)\n" in printed
    assert str(Path("t-cleaned/duplicates.csv")) in printed
    listed = pd.read_csv("t-cleaned/duplicates.csv")
    assert listed["id"].tolist()[:4] == [3, 123, 7, 127]
    assert listed["different_labels"].tolist() == [True] * 4 + [False] * 20
    report = Path("t-cleaned/report.html").read_text()
    assert "What is there more than once" in report
    assert "12 groups of 24 instances are duplicates" in report
    counts = {"groups": 12, "instances": 24, "exact": 12, "different_labels": 2}
    table.head(120).to_csv("t.csv", index=False)
    shown = json.loads(call("clean", "t.csv", "--label", "kind", "--overwrite", "--json"))
    assert shown["duplicates"] == dict.fromkeys(counts, 0)
    assert not Path("t-cleaned/duplicates.csv").exists()
    assert "What is there more than once" not in Path("t-cleaned/report.html").read_text()


def test_texts_are_cleaned_and_counted_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    topics = {"rain": ["cloud", "storm", "wet", "grey"], "ball": ["goal", "keeper", "match", "kick"]}
    rows = []
    for row in range(160):
        kind, other = ("rain", "ball") if row % 2 else ("ball", "rain")
        text = " ".join(rng.choice([*topics[kind], "the", "and", "of"], 6))
        rows.append((f"n{row}", text, other if row % 8 == 5 else kind))
    pd.DataFrame(rows, columns=["id", "text", "topic"]).to_csv("news.csv", index=False)
    words = ["clean", "news.csv", "--text", "text", "--label", "topic", "--id", "id", "--json", "--correct", "all"]
    result = runner.invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "No pretrained encoder: transformers is not installed" in result.stderr
    counts = json.loads(result.stdout)
    assert counts["folder"] == "news-cleaned"
    assert counts["notes"][0].startswith("No pretrained encoder")
    assert counts["instances"] == 160
    corrected = pd.read_csv("news-cleaned/corrected.csv")
    assert list(corrected.columns) == ["id", "text", "topic", "given_label", "decision", "reason"]
    right = np.where(np.arange(160) % 2, "rain", "ball")
    assert np.mean(corrected["given_label"] == right) == 0.875
    assert np.mean(corrected["topic"] == right) > 0.97
    assert counts["changed"] == (corrected["topic"] != corrected["given_label"]).sum()
    assert Examined.read("news-cleaned").items.kind == "text"


def test_mistakes_give_one_line_before_any_work(
    images: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tl.NPC, "fit", lambda *_, **__: pytest.fail("nothing is to be fitted"))
    Path("t.csv").write_text("text,topic\n" + "x y,a\nz,b\n" * 3)
    Path("data/train").mkdir(parents=True)
    Path("data/test").mkdir()
    Path("corrected.csv").write_text(Path("t.csv").read_text())
    Path("file").write_text("")
    cases = {
        ("nowhere",): "There is no file or folder nowhere",
        ("t.csv",): "name the column that holds the labels",
        ("t.csv", "--label", "kind"): "has no column 'kind'; it has text, topic",
        ("t.csv", "--label", "topic", "--copy-to", "tree"): "only images are copied",
        ("t.csv", "--label", "topic", "--out", "file"): "file is a file; choose another folder",
        ("corrected.csv", "--label", "topic", "--out", ".", "--overwrite"): "corrected.csv would be overwritten",
        ("data",): "clean them one by one",
        (images, "--label", "topic"): "a folder of images, which has no columns; leave label out",
        (images, "--out", out): f"{out} is there already",
        (images, "--out", images / "out"): "where it would pass for a class",
        (images, "--copy-to", out): "is there already; --copy-to makes a new folder",
        (images, "--copy-to", images / "tree"): "where it would pass for a class",
    }
    for words, complaint in cases.items():
        printed = fails(monkeypatch, capsys, "clean", *words)
        assert complaint in printed
        assert printed.startswith("Error:")
        assert "\n" not in printed


def test_too_many_broken_images_and_an_unknown_encoder_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a/1.png", "a/2.png", "b/1.png", "b/2.png"):
        Path("images", name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (8, 8), 9).save(Path("images", name))
    Path("images/b/3.png").write_text("no image")
    Path("images/b/4.png").write_text("no image")
    printed = fails(monkeypatch, capsys, "clean", "images", "--encoder", "none")
    assert "2 of 6 images in images cannot be used, too many to leave out; the first is b/3.png" in printed
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert "transformers is not installed" in fails(monkeypatch, capsys, "clean", "images", "--encoder", "some/name")
    assert not Path("images-cleaned").exists()


def test_issues_saves_a_folder_that_shows_instances(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    classes = np.arange(80) % 2
    noisy = np.where(np.arange(80) % 9 == 4, 1 - classes, classes)
    x = rng.normal(size=(80, 2)) + 6 * classes[:, None]
    tl.Predictions(np.eye(2)[noisy] * 0.9 + 0.05, x, labels=noisy).to_parquet(tmp_path / "p.parquet")
    np.save(tmp_path / "images.npy", np.zeros((80, 4, 4)))
    pd.DataFrame({"text": [f"<b>{k}" for k in range(80)]}).to_csv(tmp_path / "t.csv", index=False)
    base = ["issues", tmp_path / "p.parquet", "--out", tmp_path / "i.csv", "--top", 0]
    call(*base, "--save", tmp_path / "saved", "--table", tmp_path / "t.csv", "--text", "text")
    saved = pages.read(tmp_path / "saved")
    assert saved.items.kind == "text"
    assert saved.items.fields(7) == {"text": "<b>7"}
    assert saved.found.table["id"].tolist() == pd.read_csv(tmp_path / "i.csv")["id"].tolist()
    moved = pages.read(tmp_path / "saved", pages.source(tmp_path / "images.npy", None, None))
    assert moved.items.kind == "image"
    direct = pages.read(tmp_path / "p.parquet", pages.source(None, tmp_path / "t.csv", None))
    assert direct.items.kind == "row"
    pd.testing.assert_frame_equal(direct.found.table, saved.found.table, check_dtype=False)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--save", "full"], "full is there already; --save makes a new folder"),
        (["--images", "full"], "say what --save is to show; name that folder, too"),
        (["--save", "new", "--text", "title"], "--text names a column of --table"),
        (["--save", "new", "--images", "full", "--table", "t.csv"], "name --images or --table, not both"),
        (["--save", "new", "--images", "gone.npy"], "gone.npy is neither a folder of images nor an .npy file"),
    ],
)
def test_issues_refuses_what_it_cannot_save(
    words: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("full").mkdir()
    Path("full/file").write_text("")
    assert complaint in fails(monkeypatch, capsys, "issues", "p.parquet", *words)


def test_reading_nothing_says_what_makes_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no folder or file .*; truelabel clean and truelabel issues"):
        pages.read(tmp_path / "nowhere")


def test_help_has_examples() -> None:
    assert call("clean", "--help").count("truelabel clean") >= 3
