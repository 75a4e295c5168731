"""Files that earlier versions wrote are read, and say what they said; `tests/support/kept_formats.py` made them."""

import json
import shutil
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import truelabel as tl
from kept_formats import NAMES, small
from truelabel.lab import Store
from truelabel.labels import Examined
from truelabel.methods.trained import Trained
from truelabel.review import Decisions

HOME = Path(__file__).parent / "compatibility"
VERSIONS = sorted(path.name for path in HOME.iterdir() if path.is_dir())


@pytest.fixture(params=VERSIONS)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> SimpleNamespace:
    """A copy of what a version wrote, and what it said then; SQLite writes beside what it reads."""
    copy = Path(shutil.copytree(HOME / request.param, tmp_path / "kept"))
    return SimpleNamespace(folder=copy, **json.loads((copy / "expected.json").read_text()))


def test_there_are_files_of_some_version() -> None:
    assert VERSIONS


def test_a_calibrator_calibrates_as_it_did(kept: SimpleNamespace) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        npc = tl.load(kept.folder / "npc.safetensors")
        said = tl.Predictions.from_parquet(kept.folder / "predictions.parquet")
        np.testing.assert_allclose(npc.calibrate(said)[:5], kept.calibrated, atol=1e-5)
    assert npc.class_names_ == tuple(NAMES)
    assert npc.evaluate(said).instances == len(said)


def test_results_are_read(kept: SimpleNamespace) -> None:
    found = Examined.read(kept.folder / "examined").found
    np.testing.assert_allclose(found.table.sort_index()["p_wrong"].iloc[:5], kept.p_wrong, rtol=1e-6)


def test_decisions_are_read_and_new_ones_added(kept: SimpleNamespace) -> None:
    examined = Examined.read(kept.folder / "examined")
    with Decisions.of(examined, kept.folder / "decisions.sqlite") as decided:
        _, standing = decided.changes()
        assert {str(one.row): one.label for one in standing} == kept.decided
        decided.decide(7, 1, given=0, suggested=1, tab="two")
        assert len(decided) == 3


def test_a_lab_store_is_read(kept: SimpleNamespace) -> None:
    with Store(kept.folder / "lab.sqlite") as store:
        (record,) = store.records()
        assert (record.status, record.result) == ("ok", {"before": 0.5, "after": 0.75})
        assert store.statuses() == {record.cell.key: "ok"}


def test_a_trained_classifier_is_read(kept: SimpleNamespace) -> None:
    x = tl.Predictions.from_parquet(kept.folder / "predictions.parquet").views["features"]
    trained = Trained.load(kept.folder / "trained", network=small())
    np.testing.assert_allclose(trained.predict_proba(x[:5]), kept.trained, atol=1e-5)
