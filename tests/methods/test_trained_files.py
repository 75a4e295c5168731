"""A trained classifier is one file, whole, whatever ends the program while it is written."""

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import truelabel as tl
from faults import FAULTS, Disk, Killed
from kept_formats import small
from truelabel.methods.trained import Trained


@pytest.fixture(scope="module")
def two() -> list[Trained]:
    """Two classifiers of one network, trained for one epoch and for two."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 4)).astype(np.float32), np.arange(60) % 3
    data = tl.datasets.arrays(x, y, x, y)
    build = tl.methods.build
    return [build("ce", epochs=e, batch_size=32).fit(data.train, small(), seed=0, progress=False) for e in (1, 2)]


@pytest.mark.parametrize("fault", FAULTS)
def test_weights_and_record_are_of_one_training(fault: str, two: list[Trained], tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    answers = [one.predict_proba(x) for one in two]
    seen = set()
    for at in range(20):
        folder = tmp_path / str(at)
        two[0].save(folder)
        with pytest.MonkeyPatch.context() as patched:
            disk = Disk(patched, fault, at)
            with suppress(OSError, KeyboardInterrupt, Killed):
                two[1].save(folder)
        found = Trained.load(folder, network=small())
        which = len(found.history) - 1
        np.testing.assert_allclose(found.predict_proba(x), answers[which], atol=1e-6)
        seen.add(which)
        if disk.steps <= at:
            break
    assert seen == {0, 1}


def test_the_record_is_there_to_be_read_too(two: list[Trained], tmp_path: Path) -> None:
    two[1].save(tmp_path)
    assert len(json.loads((tmp_path / "trained.json").read_text())["history"]) == 2
    (tmp_path / "trained.json").unlink()
    assert len(Trained.load(tmp_path, network=small()).history) == 2
    (tmp_path / "trained.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="holds no trained classifier"):
        Trained.load(tmp_path)
