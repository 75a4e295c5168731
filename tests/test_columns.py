"""Columns with names are matched by them, in files, data frames and arrays with names."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import truelabel as tl
from shell import call, fails
from truelabel.calibrators import KNN
from truelabel.labels import examine

CLASSES, COLUMNS = ("cat", "dog", "elk"), ("length", "width", "weight", "age")
TURNED = [2, 0, 1]  # classes in another order
MOVED = [3, 0, 1, 2]  # feature columns, likewise


def named(rows: slice, turned: bool = False, **parts: object) -> tl.Predictions:
    """Blobs with a quarter of the labels wrong; `turned` has all columns in another order, with their names."""
    rng = np.random.default_rng(0)
    truth = np.arange(400) % 3
    x = (8 * np.eye(3, 4)[truth] + rng.normal(size=(400, 4)) * [1, 2, 3, 4]).astype(np.float32)
    noisy = np.where(rng.random(400) < 0.25, (truth + 1) % 3, truth)
    probs = 0.8 * np.eye(3)[noisy] + 0.2 / 3
    classes, columns = (TURNED, MOVED) if turned else ([0, 1, 2], [0, 1, 2, 3])
    return tl.Predictions(
        **{
            "probs": probs[rows][:, classes],
            "features": x[rows][:, columns],
            "labels": [CLASSES[k] for k in noisy[rows]],
            "class_names": [CLASSES[k] for k in classes],
            "feature_names": [COLUMNS[k] for k in columns],
        }
        | parts
    )


TRAIN, TEST = slice(0, 300), slice(300, 400)


@pytest.fixture(scope="module")
def npc() -> tl.NPC:
    return tl.NPC(random_state=0, epochs=1, progress=False).fit(named(TRAIN))


def test_columns_in_another_order_give_the_same_answer_in_that_order(npc: tl.NPC) -> None:
    straight, turned = named(TEST), named(TEST, turned=True)
    expected = npc.calibrate(straight)
    np.testing.assert_allclose(npc.calibrate(turned), expected[:, TURNED], atol=1e-6)
    h, h_turned = (np.concatenate(list(npc.transition(said))) for said in (straight, turned))
    np.testing.assert_allclose(h_turned, h[:, TURNED][:, :, TURNED], atol=1e-6)
    posterior, other = npc.posterior(straight), npc.posterior(turned)
    np.testing.assert_allclose(other.concentration, posterior.concentration[:, TURNED], rtol=1e-4)
    np.testing.assert_allclose(other.p_wrong, posterior.p_wrong, atol=1e-6)
    names = [list(npc.corrections(said)["to"]) for said in (straight, turned)]
    assert names[0] == names[1]
    knn = KNN().fit(named(TRAIN))
    np.testing.assert_allclose(knn.calibrate(turned), knn.calibrate(straight)[:, TURNED], atol=1e-6)


def test_a_calibrator_that_was_loaded_matches_names_too(npc: tl.NPC, tmp_path: Path) -> None:
    npc.save(tmp_path / "npc.safetensors")
    loaded = tl.load(tmp_path / "npc.safetensors")
    assert loaded.class_names_ == CLASSES
    assert loaded.feature_names_ == {"features": COLUMNS}
    expected = npc.calibrate(named(TEST))[:, TURNED]
    np.testing.assert_allclose(loaded.calibrate(named(TEST, turned=True)), expected, atol=1e-6)


def test_labels_are_judged_alike_in_whatever_order_the_classes_are(npc: tl.NPC) -> None:
    tables = [examine(named(TRAIN, turned), calibrator=npc, progress=False).table for turned in (False, True)]
    columns = ["given", "suggested", "p_wrong"]
    first, second = (table.sort_index()[columns].reset_index(drop=True) for table in tables)
    pd.testing.assert_frame_equal(first, second, atol=1e-5)


def test_validation_and_unlabelled_sets_are_matched_when_fitting() -> None:
    def fitted(turned: bool) -> np.ndarray:
        rest = named(slice(300, 350), turned), named(slice(350, 400), turned).replace(labels=None)
        npc = tl.NPC(random_state=0, epochs=1, progress=False)
        npc.fit(named(TRAIN), validation=rest[0], unlabelled=rest[1])
        assert npc.feature_names_ == {"features": COLUMNS}
        return npc.calibrate(named(TEST))

    np.testing.assert_array_equal(fitted(True), fitted(False))


@pytest.mark.parametrize("library", [pd, pl])
def test_data_frames_bring_their_names(library: SimpleNamespace, npc: tl.NPC) -> None:
    plain = named(TEST)
    probs = library.DataFrame({name: plain.probs[:, k] for k, name in enumerate(CLASSES)})
    features = library.DataFrame({name: plain.views["features"][:, k] for k, name in enumerate(COLUMNS)})
    said = tl.Predictions(probs, features)
    assert said.class_names == CLASSES
    assert said.feature_names == {"features": COLUMNS}
    moved = tl.Predictions(probs[[CLASSES[k] for k in TURNED]], features[[COLUMNS[k] for k in MOVED]])
    np.testing.assert_allclose(npc.calibrate(moved), npc.calibrate(plain)[:, TURNED], atol=1e-6)
    put = tl.Predictions(probs[[CLASSES[k] for k in TURNED]], class_names=CLASSES)
    np.testing.assert_array_equal(put.probs, plain.probs)


def test_names_of_files_are_matched(tmp_path: Path) -> None:
    """A test table with the class columns reversed and one feature column moved used to be taken as it stood."""

    def write(name: str, rows: slice, classes: list[int], columns: list[int]) -> Path:
        plain = named(rows)
        table = {f"features_{COLUMNS[k]}": plain.views["features"][:, k] for k in columns}
        table |= {f"probs_{CLASSES[k]}": plain.probs[:, k] for k in classes}
        pd.DataFrame(table | {"labels": [CLASSES[k] for k in plain.labels]}).to_parquet(tmp_path / name)
        return tmp_path / name

    train = write("train.parquet", TRAIN, [0, 1, 2], [0, 1, 2, 3])
    call("fit", train, "--out", tmp_path / "npc.safetensors", "--epochs", 1)
    answers = []
    for name, classes, columns in (("a", [0, 1, 2], [0, 1, 2, 3]), ("b", TURNED, MOVED)):
        data = write(f"{name}.parquet", TEST, classes, columns)
        call("apply", tmp_path / "npc.safetensors", data, "--out", tmp_path / f"{name}.csv")
        answers.append(pd.read_csv(tmp_path / f"{name}.csv"))
    pd.testing.assert_frame_equal(answers[0], answers[1], atol=1e-6)


def test_names_survive_a_file(tmp_path: Path) -> None:
    said = named(TEST, turned=True)
    said.to_parquet(tmp_path / "said.parquet")
    read = tl.Predictions.from_parquet(tmp_path / "said.parquet")
    assert (read.class_names, read.feature_names) == (said.class_names, said.feature_names)
    assert said[:5].feature_names == said.replace(labels=None).feature_names == said.feature_names
    assert said.replace(features=np.zeros((100, 2))).feature_names == {}


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"class_names": ["cat", "dog", "cow"], "labels": None}, "there is no class 'elk'"),
        ({"feature_names": ["length", "width", "weight", "height"]}, "there is no column of features 'age'"),
    ],
)
def test_other_names_are_refused(npc: tl.NPC, parts: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        npc.calibrate(named(TEST, **parts))


def test_names_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="feature_names has 1 names, but features has 4 columns"):
        named(TEST, feature_names=["a"])
    with pytest.raises(ValueError, match="feature_names names a column of features twice"):
        named(TEST, feature_names=["a", "a", "b", "c"])
    with pytest.raises(ValueError, match="there is no such view"):
        named(TEST, feature_names={"pixels": COLUMNS})


def test_a_row_that_is_wrong_is_named_by_its_number_in_the_file(
    npc: tl.NPC, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    npc.save(tmp_path / "npc.safetensors")
    n = 70_000
    features = np.zeros((n, 4), dtype=np.float32)
    features[68_123, 2] = np.nan
    data = {"probs": list(np.full((n, 3), 1 / 3, np.float32)), "features": list(features)}
    pd.DataFrame(data).to_parquet(tmp_path / "long.parquet")
    out = tmp_path / "calibrated.csv"
    out.write_text("id,predicted,calibrated,probability\n")
    words = ["apply", tmp_path / "npc.safetensors", tmp_path / "long.parquet", "--out", out]
    assert "row 68123" in fails(monkeypatch, capsys, *words)
    assert out.read_text() == "id,predicted,calibrated,probability\n"
    assert {path.name for path in tmp_path.iterdir()} == {"npc.safetensors", "long.parquet", "calibrated.csv"}
