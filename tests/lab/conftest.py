"""A cell that runs in a blink."""

from __future__ import annotations

import pytest

from truelabel.lab import Cell, Grid, Place
from truelabel.lab.grid import parse_grid

TINY = {
    "dataset": "digits",
    "subset": 80,
    "test_subset": 60,
    "noise": "sn:0.2",
    "network": "mlp",
    "method_settings": {"epochs": 2, "batch_size": 32},
    "calibrator": "identity",
}


@pytest.fixture
def tiny():
    """Make a cell of a few milliseconds; what is given replaces its fields."""

    def make(**fields) -> Cell:
        return Cell(**(TINY | fields))

    return make


@pytest.fixture
def tiny_grid():
    """Make a grid of such cells; what is given are axes."""

    def make(**axes) -> Grid:
        return parse_grid({"block": [TINY | axes]}, "tiny")

    return make


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path / "cache")
