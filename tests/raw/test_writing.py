"""What cleaning writes replaces what an earlier run wrote as one."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import truelabel as tl
from truelabel.labels import Examined
from truelabel.labels.renewal import newest
from truelabel.raw.writing import CALIBRATOR, ISSUES, REPORT, UNLABELLED


class Killed(BaseException):
    """Stands for the end of the program."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Two cleanings of one table: the first with two rows that have no label, the second shorter and without."""
    where = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(0)
    fruit = np.arange(120) % 2
    given = np.where(np.arange(120) % 10 == 0, 1 - fruit, fruit).astype(object)
    table = pd.DataFrame({"grams": rng.normal(150 + 1000 * fruit, 20), "fruit": given})
    table.assign(fruit=[None, None, *given[2:]]).to_csv(where / "fruit.csv", index=False)
    first = tl.clean(where / "fruit.csv", label="fruit", progress=False)
    table.head(100).to_csv(where / "fewer.csv", index=False)
    return SimpleNamespace(first=first, second=tl.clean(where / "fewer.csv", label="fruit", progress=False))


def rows_in(folder: Path) -> int:
    """Number of instances in a folder of which every part is there and of one run."""
    found = Examined.read(folder)
    assert len(pd.read_csv(newest(folder, ISSUES))) == len(found)
    assert len(pd.read_csv(newest(folder, "corrected.csv"))) in (len(found), len(found) + 2)
    tl.load(newest(folder, CALIBRATOR))
    assert "</html>" in newest(folder, REPORT).read_text()
    return len(found)


def test_an_end_at_any_step_leaves_all_of_one_run(
    runs: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cleaned"
    seen = []
    for at in range(20):
        runs.first.write(folder, overwrite=True, progress=False)
        (folder / "notes.txt").write_text("mine")
        assert rows_in(folder) == 118
        steps = [0]

        def until(step, steps=steps, at=at):
            def stepped(*words):
                if words[1].parent == folder:
                    steps[0] += 1
                    if steps[0] > at:
                        raise Killed
                return step(*words)

            return stepped

        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", until(Path.rename))
            patched.setattr(Path, "replace", until(Path.replace))
            try:
                runs.second.write(folder, overwrite=True, progress=False)
                ended = False
            except Killed:
                ended = True
        seen.append(rows_in(folder))
        assert (folder / "notes.txt").read_text() == "mine"
        if not ended:
            break
    assert seen[0] == 118
    assert set(seen[1:]) == {100}
    assert len(seen) > 8
    assert not (folder / UNLABELLED).exists()
