"""Examined labels as a folder: written, read again, refused when damaged."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import truelabel as tl
from truelabel.labels import Count, Examined, LabelIssues, WrongLabels, examined

N, NAMES = 6, ("cat", "dög", "x,y")


@pytest.fixture
def made(tmp_path: Path) -> Examined:
    """Six instances whose label issues are written down by hand."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), N).astype(np.float32)
    labels = np.array([0, 1, 2, 0, 1, 2])
    ids = np.array([f"i{k}" for k in range(N)], dtype=object)
    said = tl.Predictions(probs, rng.normal(size=(N, 2)), labels=labels, ids=ids, class_names=NAMES, out_of_sample=True)
    order = np.array([3, 1, 0, 5, 4, 2])
    table = pd.DataFrame(
        {
            "id": ids[order],
            "given": np.array(NAMES, dtype=object)[labels[order]],
            "suggested": "cat",
            "p_wrong": np.linspace(0.9, 0.1, N),
            "p_suggested": 0.5,
            "uncertainty": 0.1,
            "support": pd.array([1, 2, None, 4, 5, 6], dtype="Int64"),
        },
        index=order,
    )
    counts = {name: Count(0.5, 0.0, 1.0, 2) for name in NAMES}
    wrong = WrongLabels(Count(1.5, 0.5, 2.5, N), counts)
    found = LabelIssues(table, labels, probs, wrong, np.eye(3) * 0.7 + 0.1, NAMES, None)
    pd.DataFrame({"text": [f"text {k}" for k in range(N)]}).to_csv(tmp_path / "texts.csv", index=False)
    source = {"kind": "text", "table": str(tmp_path / "texts.csv"), "columns": ["text"]}
    return examined(said, found, source, seed=3)


def test_what_is_written_is_read_again(made: Examined, tmp_path: Path) -> None:
    read = Examined.read(made.write(tmp_path / "folder"))
    assert len(read) == N
    np.testing.assert_array_equal(read.predictions.probs, made.predictions.probs)
    assert list(read.predictions.ids) == list(made.predictions.ids)
    assert read.predictions.out_of_sample
    pd.testing.assert_frame_equal(read.found.table, made.found.table, check_dtype=False)
    np.testing.assert_array_equal(read.found.labels, made.found.labels)
    np.testing.assert_array_equal(read.found.probs, made.found.probs)
    np.testing.assert_array_equal(read.found.transition, made.found.transition)
    assert read.found.wrong == made.found.wrong
    assert read.found.class_names == NAMES
    assert read.items.fields(4) == {"text": "text 4"}
    neighbours = {"view": "features", "scale": "whole"}
    assert read.about == {"truelabel": tl.__version__, "neighbours": neighbours, "seed": 3}


def test_the_instances_may_be_elsewhere_by_now(made: Examined, tmp_path: Path) -> None:
    folder = made.write(tmp_path / "folder")
    (tmp_path / "texts.csv").rename(tmp_path / "moved.csv")
    with pytest.raises(FileNotFoundError):
        Examined.read(folder)
    assert Examined.read(folder, {"table": str(tmp_path / "moved.csv")}).items.kind == "row"


def test_a_table_of_another_length_is_refused(made: Examined, tmp_path: Path) -> None:
    folder = made.write(tmp_path / "folder")
    pd.DataFrame({"text": ["one"]}).to_csv(tmp_path / "texts.csv", index=False)
    with pytest.raises(ValueError, match="there are 1 instances to show, but 6 predictions"):
        Examined.read(folder)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no examined labels; truelabel clean"):
        Examined.read(tmp_path)


@pytest.mark.parametrize("name", ["predictions.parquet", "issues.parquet", "examined.safetensors"])
def test_a_folder_with_a_file_missing_or_damaged_is_refused(made: Examined, tmp_path: Path, name: str) -> None:
    folder = made.write(tmp_path / "folder")
    (folder / name).write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"folder is damaged \("):
        Examined.read(folder)
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"not complete: {name} is missing"):
        Examined.read(folder)


@pytest.mark.parametrize("damage", ["{", "[]", '{"class_names": []}'])
def test_a_folder_with_a_damaged_description_is_refused(made: Examined, tmp_path: Path, damage: str) -> None:
    folder = made.write(tmp_path / "folder")
    (folder / "examined.json").write_text(damage)
    with pytest.raises(ValueError, match=r"folder is damaged \("):
        Examined.read(folder)


def test_files_of_different_data_are_not_mixed(made: Examined, tmp_path: Path) -> None:
    folder = made.write(tmp_path / "folder")
    made.predictions[:4].to_parquet(folder / "predictions.parquet")
    with pytest.raises(ValueError, match="not of the same 4 instances and 3 classes"):
        Examined.read(folder)
    made.predictions.replace(labels=[0] * N).to_parquet(folder / "predictions.parquet")
    with pytest.raises(ValueError, match="do not list the same instances and labels"):
        Examined.read(folder)


def test_class_names_are_plain_json(made: Examined, tmp_path: Path) -> None:
    folder = made.write(tmp_path / "folder")
    stored = json.loads((folder / "examined.json").read_text(encoding="utf-8"))
    assert stored["class_names"] == list(NAMES)
