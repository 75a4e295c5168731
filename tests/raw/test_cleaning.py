"""From raw data to cleaner labels, in Python."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import truelabel as tl
from truelabel.progress import Progress
from truelabel.raw import encoder
from truelabel.raw.cleaning import class_names
from truelabel.raw.own_table import own_table
from truelabel.raw.writing import copy_tree

N = 200


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clusters, every tenth label wrong, every 25th row without one, and one row of a class of its own."""
    rng = np.random.default_rng(0)
    truth = np.arange(N) // 2 % 2
    x = rng.normal(size=(N, 3)) + 6 * truth[:, None]
    given = np.where(np.arange(N) % 10 == 3, 1 - truth, truth).astype(str).astype(object)
    given[::25] = ""
    given[7] = "rare"
    where = tmp_path_factory.mktemp("tables") / "parts.csv"
    pd.DataFrame(x, columns=["a", "b", "c"]).assign(kind=given, truth=truth).to_csv(where, index=False)
    return where


@pytest.fixture(scope="module")
def cleaned(path: Path) -> tl.raw.Cleaned:
    return tl.clean(path, label="kind", columns=["a", "b", "c"], correct="all", progress=False)


def test_wrong_labels_are_changed_and_no_others(cleaned: tl.raw.Cleaned) -> None:
    wrong = [row for row in range(3, N, 10)]
    assert sorted(cleaned.corrected.changes["id"]) == wrong
    assert set(cleaned.examined.found.table["id"].head(len(wrong))) == set(wrong)
    assert len(cleaned.examined) == len(cleaned.rows) == N - 8 - 1
    assert cleaned.examined.predictions.out_of_sample
    assert cleaned.examined.items.fields(1).keys() == {"a", "b", "c"}


def test_rows_without_a_label_are_predicted_and_stay_without(cleaned: tl.raw.Cleaned, path: Path) -> None:
    truth = pd.read_csv(path)["truth"]
    assert cleaned.unlabelled["id"].tolist() == list(range(0, N, 25))
    assert cleaned.unlabelled["predicted"].astype(int).tolist() == truth[::25].tolist()
    assert cleaned.unlabelled["probability"].min() > 0.5
    assert "8 of 200 rows without a label." in cleaned.notes


def test_what_is_left_out_is_listed(cleaned: tl.raw.Cleaned) -> None:
    assert cleaned.skipped.to_dict("records") == [{"id": 7, "why": "the only one of its class"}]
    assert cleaned.to_dict()["skipped"] == 1
    assert "1 class has one instance only ('rare'); it is left out, for nothing can be said about it." in cleaned.notes


def test_the_folder_holds_everything_and_is_not_overwritten_unasked(
    cleaned: tl.raw.Cleaned, path: Path, tmp_path: Path
) -> None:
    folder = cleaned.write(tmp_path / "out", progress=False)
    corrected, given = (
        pd.read_csv(file, dtype=str, keep_default_na=False) for file in (folder / "corrected.csv", path)
    )
    assert corrected["given_label"].tolist() == given["kind"].tolist()
    assert (corrected["kind"] != given["kind"]).sum() == 20
    assert corrected.loc[[0, 7], "kind"].tolist() == ["", "rare"]
    read = tl.labels.Examined.read(folder)
    pd.testing.assert_frame_equal(read.found.table, cleaned.examined.found.table, check_dtype=False)
    row = int(np.flatnonzero(cleaned.rows == 13)[0])
    assert float(read.items.fields(row)["a"]) == pytest.approx(pd.read_csv(path)["a"][13])
    loaded = tl.load(folder / "calibrator.safetensors")
    said = cleaned.examined.predictions
    np.testing.assert_allclose(loaded.calibrate(said), cleaned.calibrator.calibrate(said), atol=1e-6)
    assert "Labels of parts" in (folder / "report.html").read_text(encoding="utf-8")

    (folder / "corrected.parquet").write_text("of another run")
    (folder / "mine.txt").write_text("not ours")
    with pytest.raises(FileExistsError, match="there already; choose another --out, or replace it with --overwrite"):
        cleaned.write(folder)
    cleaned.write(folder, overwrite=True, progress=False)
    assert not (folder / "corrected.parquet").exists()
    assert (folder / "mine.txt").read_text() == "not ours"
    (folder / "decisions.sqlite").write_text("a person's work")
    with pytest.raises(FileExistsError, match="holds decisions"):
        cleaned.write(folder, overwrite=True)
    (folder / "decisions.sqlite").rename(folder / "audit.jsonl")
    with pytest.raises(FileExistsError, match="is an audit of what is there"):
        cleaned.write(folder, overwrite=True)
    with pytest.raises(ValueError, match="only images are copied"):
        cleaned.write(tmp_path / "new", copy_to=tmp_path / "tree")


def test_one_seed_gives_one_answer(cleaned: tl.raw.Cleaned, path: Path) -> None:
    again = tl.clean(path, label="kind", columns=["a", "b", "c"], correct="all", progress=False)
    np.testing.assert_array_equal(again.examined.found.probs, cleaned.examined.found.probs)


def test_an_encoder_that_is_there_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lengths:
        name = "lengths"

        def encode(self, n, read, progress):
            return np.array([[len(text), 1] for text in read(slice(0, n))], dtype=np.float32)

    monkeypatch.setattr(encoder, "find", lambda name, kind, device: Lengths())
    rng = np.random.default_rng(0)
    kinds = np.arange(120) % 2
    texts = [" ".join(rng.choice(list("abcdefgh"), 3 + 20 * kind)) for kind in kinds]
    given = np.where(np.arange(120) % 12 == 5, 1 - kinds, kinds)
    pd.DataFrame({"text": texts, "kind": given}).to_parquet(tmp_path / "t.parquet")
    cleaned = tl.clean(tmp_path / "t.parquet", label="kind", text="text", correct="all", progress=False)
    assert "encoder" in cleaned.calibrator.report_.views
    assert cleaned.examined.about["features"].startswith("lengths, and TF-IDF")
    assert sorted(cleaned.corrected.changes["id"]) == list(range(5, 120, 12))


def test_nothing_is_changed_where_nothing_proves_that_labels_are_wrong(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"]).assign(kind=np.arange(120) % 4)
    frame.to_csv(tmp_path / "t.csv", index=False)
    cleaned = tl.clean(tmp_path / "t.csv", label="kind", progress=False)
    assert len(cleaned.corrected.changes) == 0
    assert cleaned.examined.found.caveat.startswith("Nothing proves that labels are wrong")
    on_belief = tl.clean(tmp_path / "t.csv", label="kind", progress=False, correct="all")
    assert len(on_belief.corrected.changes) == cleaned.examined.found.mask().sum()
    assert ("that may be wrong stayed" in cleaned.corrected.declined) == (len(on_belief.corrected.changes) > 0)


@pytest.fixture(scope="module")
def misspelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clusters whose labels are written in several ways."""
    rng = np.random.default_rng(0)
    truth = np.arange(80) % 2
    kind = np.where(truth == 1, "dog", "cat").astype(object)
    kind[[0, 4]], kind[[2, 6, 8]] = "Cat", " cat "
    where = tmp_path_factory.mktemp("misspelled") / "pets.csv"
    pd.DataFrame({"x": rng.normal(size=80) + 9 * truth, "kind": kind}).to_csv(where, index=False)
    return where


def test_labels_that_differ_by_case_or_white_space_are_pointed_out(misspelled: Path) -> None:
    cleaned = tl.clean(misspelled, label="kind", progress=False)
    assert cleaned.examined.predictions.class_names == (" cat ", "Cat", "cat", "dog")
    assert cleaned.notes[0] == (
        "Labels that differ only by case or white space count as different classes ('cat' and ' cat ' and 'Cat'); "
        "--merge-labels makes one of them."
    )


def test_they_are_merged_on_request(misspelled: Path, tmp_path: Path) -> None:
    cleaned = tl.clean(misspelled, label="kind", merge_labels=True, progress=False)
    assert cleaned.examined.predictions.class_names == ("cat", "dog")
    assert cleaned.notes[0].startswith("Labels that differ only by case or white space are merged")
    cleaned.write(tmp_path / "out", progress=False)
    corrected = pd.read_csv(tmp_path / "out/corrected.csv", keep_default_na=False)
    assert corrected["given_label"].tolist() == pd.read_csv(misspelled)["kind"].tolist()
    assert corrected["kind"].tolist() == ["cat", "dog"] * 40
    assert corrected.loc[[0, 2, 10], "reason"].tolist() == ["the same as cat but for case or white space"] * 2 + [""]
    own, name = own_table(tmp_path / "out", tl.labels.Examined.read(tmp_path / "out"))
    assert name == "corrected.csv"
    assert own.frame["kind"].tolist() == corrected["given_label"].tolist()


def test_classes_are_sorted_by_number_where_they_are_numbers() -> None:
    assert class_names(["10", "9", None, "-1", "9"]) == ("-1", "9", "10")
    assert class_names(["10", "9", "x"]) == ("10", "9", "x")


def test_images_of_one_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    names = ["a/1.png", "b/1.png", "c/1.png", "c/in/2.png", "b/b-1.png"]
    for name in names:
        (tmp_path / "from" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "from" / name).write_text(name)
    with Progress(False) as progress:
        copy_tree(tmp_path / "from", names, ["a", "a", "a", "b", "a"], tmp_path / "to", progress)
    made = {file.relative_to(tmp_path / "to").as_posix(): file.read_text() for file in (tmp_path / "to").rglob("*.png")}
    assert made == {
        "a/1.png": "a/1.png",
        "a/b-1.png": "b/1.png",
        "a/c-1.png": "c/1.png",
        "b/in/2.png": "c/in/2.png",
        "a/b-b-1.png": "b/b-1.png",
    }
    assert sorted(file.read_text() for file in (tmp_path / "from").rglob("*.png")) == sorted(names)


def test_images_without_a_folder_of_a_class_go_into_one_and_none_leads_out(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "outside.png").write_text("outside")
    for name in ("1.png", "2.png"):
        (tmp_path / "from" / name).write_text(name)
    with Progress(False) as progress:
        copy_tree(tmp_path / "from", ["1.png", "2.png"], ["a", "b"], tmp_path / "to", progress)
        assert (tmp_path / "to/b/2.png").read_text() == "2.png"
        for name, now in (("../outside.png", "a"), ("1.png", "../a"), ("1.png", str(tmp_path / "elsewhere"))):
            with pytest.raises(ValueError, match="cannot be the name of a file or a folder in a folder tree"):
                copy_tree(tmp_path / "from", [name], [now], tmp_path / "new", progress)
    assert not (tmp_path / "new").exists()


def refused(tmp_path: Path, rows: list[tuple[str, str]], **words: object) -> None:
    pd.DataFrame(rows, columns=["text", "kind"]).to_csv(tmp_path / "t.csv", index=False)
    tl.clean(tmp_path / "t.csv", label="kind", text="text", encoder="none", progress=False, **words)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([("x", "a"), ("y", "a")], r"one class only \('a'\); two classes or more"),
        ([("x", ""), ("y", "")], "has no label; two classes or more"),
        ([("x", "a"), ("y", "a"), ("z", "b")], "t has fewer than two classes with two instances or more"),
        (
            [("x", "a"), ("y", "a"), ("z", "b"), ("u", "b"), ("v", "c"), ("w", "d")],
            r"2 of 4 classes in t have one instance only \('c', 'd'\).*is the label column right.*--drop-rare",
        ),
        ([("x", str(k)) for k in range(1001) for _ in range(2)], "has 1,001 classes, and 1,000 are the most"),
        ([("", "a"), ("x y", "a"), ("x z", "b"), ("y z", "b")], "1 of 4 rows in t cannot be used, too many"),
        ([("", "a"), ("", "a"), (" ", "b"), ("", "b")], "has no text in 'text'"),
    ],
)
def test_labels_that_cannot_be_judged_are_refused(tmp_path: Path, rows: list[tuple[str, str]], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        refused(tmp_path, rows)


def test_dropping_rare_classes_must_leave_two(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="fewer than two classes with two instances"):
        refused(tmp_path, [("x", "a"), ("y", "a"), ("z", "b")], drop_rare=True)
    with pytest.raises(ValueError, match="threshold is a probability between 0 and 1"):
        refused(tmp_path, [("x", "a"), ("y", "a")], threshold=2.0)
