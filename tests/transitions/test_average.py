"""One matrix for a whole set."""

from __future__ import annotations

import numpy as np
import pytest

from truelabel.transitions import class_average, count_transition


def some(n: int = 50, c: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(c), size=(n, c)), rng.dirichlet(np.ones(c), size=n)


def blocks(T: np.ndarray) -> list[np.ndarray]:
    return [T[:20], T[20:21], T[21:]]


def test_an_instance_counts_for_its_class_alone_when_classes_are_given() -> None:
    T, p = some()
    classes = p.argmax(axis=1)
    expected = [np.mean([T[i, y] for i in range(50) if classes[i] == y], axis=0) for y in range(4)]
    np.testing.assert_allclose(class_average(blocks(T), classes), expected)


def test_an_instance_counts_for_every_class_when_their_probabilities_are_given() -> None:
    T, p = some()
    expected = np.zeros((4, 4))
    for y in range(4):
        for k in range(4):
            expected[y, k] = sum(p[i, y] * T[i, y, k] for i in range(50)) / sum(p[i, y] for i in range(50))
    found = class_average(iter(blocks(T)), p)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_a_class_without_instances_keeps_its_label() -> None:
    T, _ = some()
    assert class_average([T], np.zeros(50, dtype=int))[2].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("rows", [40, 60])
def test_another_number_of_instances_is_refused(rows: int) -> None:
    T, _ = some()
    with pytest.raises(ValueError, match=f"given for 50 instances, but weights has {rows} rows"):
        class_average(blocks(T), np.zeros(rows, dtype=int))


def test_labels_are_counted_by_class() -> None:
    found = count_transition([0, 0, 0, 0, 2, 2], [0, 0, 0, 1, 1, 2], 3)
    assert found.tolist() == [[0.75, 0.25, 0], [0, 1, 0], [0, 0.5, 0.5]]


def test_a_class_of_less_than_one_instance_is_averaged_as_well() -> None:
    T, _ = some(2)
    p = np.array([[0.3, 0.2, 0.1, 0.4], [0.1, 0.2, 0.3, 0.4]])
    expected = np.einsum("iy,iyk->yk", p, T) / p.sum(axis=0)[:, None]
    np.testing.assert_allclose(class_average([T], p), expected)
