from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.neighbors import NearestNeighbors

import truelabel as tl
from truelabel.labels import LabelIssues, examine

COLUMNS = ["id", "given", "suggested", "p_wrong", "p_suggested", "uncertainty", "support"]


def test_planted_mistakes_come_first_with_their_true_class(problem: SimpleNamespace, found: LabelIssues) -> None:
    table = found.table
    assert table.columns.tolist() == COLUMNS
    assert len(table) == 300
    first = table.index[: problem.wrong.sum()]
    assert np.mean(problem.wrong[first]) > 0.97
    names = np.array(["cat", "dog", "elk"])
    assert np.mean(table["suggested"] == names[problem.truth[table.index]]) > 0.97
    assert table["given"].tolist() == names[problem.noisy[table.index]].tolist()
    assert table["id"].tolist() == [f"i{k}" for k in table.index]
    assert table["p_wrong"].is_monotonic_decreasing


def test_the_number_of_wrong_labels_is_in_its_interval(problem: SimpleNamespace, found: LabelIssues) -> None:
    total = found.wrong.total
    assert total.low <= problem.wrong.sum() <= total.high
    assert total.number == pytest.approx(problem.wrong.sum(), rel=0.15)
    assert list(found.wrong.by_class) == ["cat", "dog", "elk"]
    for k, count in enumerate(found.wrong.by_class.values()):
        assert count.of == np.sum(problem.noisy == k)
        assert count.low <= problem.wrong[problem.noisy == k].sum() <= count.high


def test_the_columns_come_from_the_posterior(problem: SimpleNamespace, found: LabelIssues) -> None:
    table = found.table.sort_index()
    np.testing.assert_allclose(table["uncertainty"], entropy(found.probs, axis=1), atol=1e-5)
    np.testing.assert_allclose(table["p_suggested"], found.probs.max(axis=1))
    np.testing.assert_allclose(table["p_wrong"], 1 - found.probs[np.arange(300), problem.noisy], atol=1e-6)


def test_support_counts_neighbours_that_are_labelled_as_suggested(problem: SimpleNamespace, found: LabelIssues) -> None:
    x = problem.x
    if found.calibrator.report_.views["features"] == "columns":
        x = x / x.std(axis=0)
    near = NearestNeighbors(n_neighbors=11).fit(x).kneighbors(x, return_distance=False)[:, 1:]
    expected = (problem.noisy[near] == found.suggested[:, None]).sum(axis=1)
    assert found.table.sort_index()["support"].tolist() == expected.tolist()


def test_masks_ranks_and_qualities_are_in_the_instances_own_order(problem: SimpleNamespace, found: LabelIssues) -> None:
    np.testing.assert_array_equal(found.mask(), found.suggested != problem.noisy)
    assert np.mean(found.mask() == problem.wrong) > 0.98
    np.testing.assert_array_equal(found.mask(0.9), found.p_wrong >= 0.9)
    ranked = found.ranked()
    assert set(ranked) == set(np.flatnonzero(found.mask()))
    assert (np.diff(found.quality()[ranked]) >= 0).all()
    with pytest.raises(ValueError, match="threshold is a probability between 0 and 1, not 3"):
        found.mask(3)


def test_find_label_issues_gives_the_table_again(problem: SimpleNamespace, found: LabelIssues) -> None:
    table = tl.find_label_issues(problem.said, progress=False)
    assert table.equals(found.table)


def test_classes_without_names_and_instances_without_ids_are_numbered(problem: SimpleNamespace) -> None:
    rows = slice(0, 60)
    said = tl.Predictions(
        0.9 * np.eye(3)[problem.truth[rows]] + 0.1 / 3, labels=problem.noisy[rows], out_of_sample=True
    )
    found = examine(said)
    assert found.table["given"].tolist() == problem.noisy[rows][found.table["id"]].tolist()
    assert found.table["support"].isna().all()
    assert list(found.wrong.by_class) == [0, 1, 2]


def test_clean_labels_are_left_alone(problem: SimpleNamespace) -> None:
    said = problem.said.replace(labels=problem.truth, probs=0.91 * np.eye(3)[problem.truth] + 0.03)
    found = examine(said, progress=False)
    assert not found.mask().any()
    assert found.wrong.total.low == 0
    assert found.wrong.total.number < 6
