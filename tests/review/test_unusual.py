"""The numbers of a row that speak against its given label."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import median_abs_deviation

from review_tabs import Tabs, violations
from truelabel.labels.examined import Examined
from truelabel.labels.items import Cells, Texts
from truelabel.review.unusual import Unusual

sync_api = pytest.importorskip("playwright.sync_api")
RNG = np.random.default_rng(0)
LABELS = np.arange(200) % 2


def test_columns_are_ranked_by_their_distance_from_the_given_class_in_robust_units() -> None:
    weight = np.where(LABELS == 0, 4.0, 30.0) + RNG.normal(size=200)
    height, noise = np.where(LABELS == 0, 20.0, 60.0) + 2 * RNG.normal(size=200), RNG.normal(size=200)
    weight[0], height[0] = 30.0, 32.0  # labelled 0, with the numbers of a 1
    unusual = Unusual({"noise": noise, "height": height, "weight": weight}, LABELS, 2)
    found = unusual.of(0, 1)
    assert [one["name"] for one in found] == ["weight", "height"]
    of_class = weight[LABELS == 0]
    expected = (30 - np.median(of_class)) / median_abs_deviation(of_class, scale="normal")
    assert found[0]["away"] == pytest.approx(expected, rel=0.1)
    assert found[0]["value"] == "30"
    low, high = (float(end) for end in found[0]["given"])
    assert low < 4 < high < 6
    assert float(found[0]["suggested"][0]) > 28
    assert unusual.of(2, 1) == []


def test_wrong_labels_move_the_class_little() -> None:
    weight = np.where(LABELS == 0, 4.0, 30.0) + RNG.normal(size=200)
    noisy = np.where(np.arange(200) < 60, 1 - LABELS, LABELS)  # 30 of 100 labels of each class are wrong
    assert Unusual({"weight": weight}, noisy, 2).of(0, 0) == []  # now the class is broad
    few = np.where(np.arange(200) < 20, 1 - LABELS, LABELS)
    assert [one["name"] for one in Unusual({"weight": weight}, few, 2).of(0, 0)] == ["weight"]


def test_what_is_constant_missing_or_rare_says_nothing() -> None:
    constant, missing = np.ones(200), np.full(200, np.nan)
    rare = np.where(np.arange(200) < 8, np.arange(200), np.nan)
    assert Unusual({"constant": constant, "missing": missing, "rare": rare}, LABELS, 2).of(0, 1) == []
    mostly = np.where(LABELS == 0, 0.0, RNG.normal(10, 1, size=200))
    mostly[0] = 10.0
    ((one),) = Unusual({"mostly": mostly}, LABELS, 2).of(0, 1)
    assert one["given"] == ["0", "0"]


def test_only_columns_of_numbers_are_looked_at(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"], "c": [True, False, True], "d": [0.5, None, 1.5]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    numbers = Cells(tmp_path / "t.csv", rows=[2, 1]).numbers()
    assert list(numbers) == ["a", "d"]
    assert numbers["a"].tolist() == [3, 2]
    assert np.isnan(numbers["d"][1])
    assert Texts(tmp_path / "t.csv", ["b"]).numbers() == {}


@pytest.mark.parametrize("width", [1280, 360])
def test_the_card_names_them(
    width: int,
    made_up: Callable[..., Examined],
    serving: Callable[..., AbstractContextManager[str]],
    tabs: Tabs,
    tmp_path: Path,
) -> None:
    n = 60
    truth = np.arange(n) % 4
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"weight": 10.0 * truth + rng.normal(size=n), "age": rng.normal(size=n), "<b>": ["x"] * n})
    frame.round(2).to_csv(tmp_path / "t.csv", index=False)
    source = {"kind": "row", "table": str(tmp_path / "t.csv"), "columns": list(frame.columns)}
    folder = made_up(n, source, suspects=0.1).write(tmp_path / "examined")
    with serving(folder, tmp_path / "d.sqlite") as address:
        page = tabs.open(address, viewport={"width": width, "height": 740})
        given, suggested = page.inner_text("#given"), page.inner_text("#suggested")
        weight = page.inner_text("#stage tr:first-child td")
        assert page.inner_text("#against-title") == f"Unusual for {given}"
        assert page.inner_text("#against li:first-child b") == f"weight {float(weight):.6g}"
        assert page.inner_text("#against .is-given").startswith(f"half of {given}: ")
        assert page.inner_text("#against .is-suggested").startswith(f"half of {suggested}: ")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert violations(page) == []
        page.close()
