"""Errors against a known T."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truelabel.transitions import error_table, transition_error

TRUTH = np.array([[0.8, 0.2, 0.0], [0.1, 0.6, 0.3], [0.0, 0.0, 1.0]])


def test_the_errors_are_means_over_all_entries() -> None:
    estimate = TRUTH + np.array([[-0.3, 0.3, 0.0], [0.0, 0.1, -0.1], [0.0, 0.0, 0.0]])
    error = transition_error(estimate, TRUTH)
    assert error.squared == pytest.approx((0.09 + 0.09 + 0.01 + 0.01) / 9)
    assert error.absolute == pytest.approx((0.3 + 0.3 + 0.1 + 0.1) / 9)
    assert transition_error(TRUTH, TRUTH) == (0, 0)


def test_the_table_has_a_row_an_estimate_in_the_order_given() -> None:
    table = error_table({"none": np.eye(3), "right": TRUTH}, TRUTH)
    assert list(table.index) == ["none", "right"]
    assert table.loc["none", "mean squared error"] == pytest.approx((0.08 + 0.01 + 0.16 + 0.09) / 9)
    assert table.loc["none", "mean absolute error"] == pytest.approx((0.4 + 0.8) / 9)
    assert table["mean diagonal"].tolist() == pytest.approx([1, 0.8])


@pytest.mark.parametrize(
    ("estimate", "complaint"),
    [
        (np.eye(4), "estimate is for 4 classes, but there are 3"),
        (np.ones((3, 2)), r"must be a c×c matrix T\[y, ỹ\], but has shape \(3, 2\)"),
        (np.array([[1.0, 0, 0], [0, 1, 0], [0, 0.5, 1]]), r"row 2 of estimate .* sums to 1.5"),
        (np.array([[1.5, -0.5, 0], [0, 1, 0], [0, 0, 1]]), "row 0 of estimate is no distribution"),
        (np.full((3, 3), np.nan), "row 0 of estimate is no distribution"),
    ],
)
def test_what_is_no_transition_matrix_is_refused(estimate: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        transition_error(estimate, TRUTH)
