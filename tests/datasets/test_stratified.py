import numpy as np
import pytest

from truelabel.datasets.stratified import stratified_rows, train_test_rows

LABELS = np.repeat([0, 1, 2], [600, 300, 100])


def test_the_classes_keep_their_shares():
    assert np.bincount(LABELS[stratified_rows(LABELS, 100, seed=0)]).tolist() == [60, 30, 10]


@pytest.mark.parametrize("n", [1, 7, 333, 1000])
def test_exactly_n_distinct_rows_come_back_in_order(n):
    rows = stratified_rows(LABELS, n, seed=1)
    assert len(rows) == n
    assert (np.diff(rows) > 0).all()
    shares = np.bincount(LABELS[rows], minlength=3) - n * np.array([0.6, 0.3, 0.1])
    assert np.abs(shares).max() < 1


def test_the_seed_decides_the_rows():
    assert np.array_equal(stratified_rows(LABELS, 50, seed=0), stratified_rows(LABELS, 50, seed=0))
    assert not np.array_equal(stratified_rows(LABELS, 50, seed=0), stratified_rows(LABELS, 50, seed=1))


def test_a_smaller_sample_lies_within_a_larger_one():
    assert np.isin(stratified_rows(LABELS, 50, seed=0), stratified_rows(LABELS, 200, seed=0)).all()


def test_train_and_test_rows_share_nothing_and_leave_nothing():
    train, test = train_test_rows(LABELS, 0.2, seed=0)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(1000))
    assert np.bincount(LABELS[test]).tolist() == [120, 60, 20]


@pytest.mark.parametrize("n", [0, 1001])
def test_more_than_there_is_cannot_be_had(n):
    with pytest.raises(ValueError, match="there are 1000 instances"):
        stratified_rows(LABELS, n, seed=0)


@pytest.mark.parametrize("share", [0, 1, 20])
def test_a_test_share_lies_between_0_and_1(share):
    with pytest.raises(ValueError, match=r"a fifth is 0\.2"):
        train_test_rows(LABELS, share, seed=0)
