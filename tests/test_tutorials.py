"""The tutorials run as a reader would type them, Python and shell, and come to what they promise."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truelabel.cli.app import app
from truelabel.methods.base import REGISTRY

FOLDER = Path(__file__).parent.parent / "docs/tutorials"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def registry() -> Iterator[None]:
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: None) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def follow(name: str) -> dict[str, Any]:
    """Run a tutorial's blocks in order, and return the names that its Python left."""
    names: dict[str, Any] = {"__name__": "__main__"}
    blocks = BLOCK.findall((FOLDER / name).read_text(encoding="utf-8"))
    assert {language for language, _ in blocks} == {"python", "sh"}
    for number, (language, code) in enumerate(blocks):
        if language == "python":
            exec(compile(code, f"{name}, block {number + 1}", "exec"), names)
            continue
        for line in code.splitlines():
            type_in(line)
    return names


def type_in(line: str) -> None:
    """Run a line of shell; truelabel's commands in this process, which has imported what they need."""
    program, *arguments = shlex.split(line)
    if program == "truelabel":
        app(arguments, standalone_mode=False)
    else:
        subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL)


def test_there_are_the_three_tutorials() -> None:
    assert sorted(page.name for page in FOLDER.glob("*.md")) == ["curator.md", "engineer.md", "researcher.md"]


def test_the_engineer_gets_better_predictions(here: Path) -> None:
    import pandas as pd

    names = follow("engineer.md")
    truth = names["truth"]
    assert names["before"] < 0.7
    assert names["after"] > names["before"] + 0.25
    table = pd.read_csv(here / "calibrated.csv")
    assert np.array_equal(table["calibrated"], names["probs"].argmax(axis=1))
    assert np.mean(table["calibrated"] == truth) == pytest.approx(names["after"])


def test_the_curator_gets_cleaner_labels(here: Path) -> None:
    import pandas as pd

    names = follow("curator.md")
    assert names["still_wrong"].sum() < 0.6 * names["wrong"].sum()  # the texts differ with scikit-learn's version
    assert names["now"].sum() < names["was"].sum() / 4
    sorted_files = {path.stem: int(path.parent.name) for path in (here / "digits-sorted").rglob("*.png")}
    misplaced = sum(names["digits"][int(stem.split("-")[-1])] != label for stem, label in sorted_files.items())
    assert len(sorted_files) == 600
    assert misplaced == names["now"].sum()
    reviewed = pd.read_csv(here / "reviewed.csv")
    decided = reviewed["decision"].notna()
    seen = reviewed["id"].str.extract(r"(\d+)\.png")[0].astype(int)
    assert decided.sum() == 50
    assert (reviewed["corrected"] == names["digits"][seen])[decided].all()
    assert not reviewed["changed"][~decided].any()
    assert "<html" in (here / "digits.html").read_text(encoding="utf-8")


def test_the_researcher_adds_a_method(here: Path) -> None:
    names = follow("researcher.md")
    right = {
        name: np.mean(one.predict(names["asked"]) == names["data"].test.labels) for name, one in names["after"].items()
    }
    assert right["npc"] > right["identity"] + 0.1
    assert names["found"].net > 0
    assert REGISTRY["bootstrap"] is names["Bootstrap"]
    own = names["own_npc"].predict(names["own_asked"])
    assert np.mean(own == names["data"].test.labels) > names["accuracy"](names["own_asked"])
    for name in ("gains.svg", "confusion.png"):
        assert (here / "figures" / name).stat().st_size > 0
