from types import SimpleNamespace

import numpy as np
import pytest

import truelabel as tl
from truelabel.labels import MultiLabel, MultiLabelIssues, correct_labels, examine


@pytest.fixture(scope="module")
def several() -> SimpleNamespace:
    """Two labels that two coordinates decide, a seventh of each wrong, and a classifier that says the labels."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 4)).astype(np.float32)
    truth = (rng.random((300, 2)) < (0.5, 0.3)).astype(int)
    x[:, :2] += 8 * truth
    moved = rng.random(truth.shape) < 0.15
    noisy = np.where(moved, 1 - truth, truth)
    said = MultiLabel(0.9 * noisy + 0.05, noisy, x, ids=[f"i{k}" for k in range(300)], class_names=["red", "round"])
    return SimpleNamespace(truth=truth, moved=moved, noisy=noisy, said=said)


@pytest.fixture(scope="module")
def issues(several: SimpleNamespace) -> MultiLabelIssues:
    return examine(several.said, progress=False)


def test_planted_mistakes_of_every_class_come_first(several: SimpleNamespace, issues: MultiLabelIssues) -> None:
    table = issues.table
    assert len(table) == 600
    assert table.columns[:4].tolist() == ["id", "class", "given", "suggested"]
    assert table["p_wrong"].is_monotonic_decreasing
    first = table.head(several.moved.sum())
    column = first["class"].map({"red": 0, "round": 1})
    assert several.moved[first.index, column].mean() > 0.95
    assert np.mean(issues.mask() == several.moved) > 0.94
    np.testing.assert_array_equal(issues.labels, several.noisy)


def test_each_class_has_its_own_count(several: SimpleNamespace, issues: MultiLabelIssues) -> None:
    for k, found in enumerate(issues.by_class.values()):
        total = found.wrong.total
        assert total.low <= several.moved[:, k].sum() <= total.high


def test_corrections_give_an_indicator_matrix(several: SimpleNamespace, issues: MultiLabelIssues) -> None:
    done = correct_labels(issues, rule="all")
    assert np.mean(done.labels != several.truth) < 0.06
    assert len(done.changes) == np.sum(done.labels != several.noisy)
    assert done.table.columns[:2].tolist() == ["id", "class"]
    assert len(correct_labels(issues, rule="all", budget=7).changes) == 7


def test_rows_that_do_not_sum_to_one_are_welcome_and_others_told_apart() -> None:
    labels = np.tile([[1, 0, 1], [1, 1, 0], [0, 0, 0]], (20, 1))
    said = MultiLabel(labels * 0.5 + 0.25, labels, np.eye(60))
    assert said.class_names == ("0", "1", "2")
    assert said.of_class(0).labels.tolist() == labels[:, 0].tolist()
    np.testing.assert_allclose(said.of_class(2).probs[0], [0.25, 0.75])
    with pytest.raises(ValueError, match=r"truelabel\.labels\.MultiLabel"):
        tl.Predictions(np.full((60, 3), 1 / 3), labels=labels)


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"labels": np.eye(60, 3)}, r"1 of 60 instances are labelled with class '0'; at least 20"),
        ({"labels": np.ones((60, 2))}, r"labels has shape \(60, 2\), but probs \(60, 3\)"),
        ({"labels": np.full((60, 3), 2)}, "an indicator matrix of 0 and 1"),
        ({"probs": np.full((60, 3), 1.5)}, "through a sigmoid first"),
        ({"class_names": ["a", "a", "b"]}, "name each of the 3 columns"),
    ],
)
def test_what_cannot_be_judged_is_refused(parts: dict, complaint: str) -> None:
    labels = np.tile([[1, 0, 1], [1, 1, 0], [0, 0, 0]], (20, 1))
    with pytest.raises(ValueError, match=complaint):
        MultiLabel(**({"probs": labels * 0.5 + 0.25, "labels": labels} | parts))
