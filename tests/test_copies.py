"""What counts as a copy, and what chance or dense data explain."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from truelabel import neighbours
from truelabel.copies import Copies, find_copies, folds_of


@pytest.fixture(scope="module")
def digits() -> np.ndarray:
    return load_digits().data[:600].astype(np.float32)


def of(x: np.ndarray, **settings) -> Copies | None:
    return find_copies({"features": np.asarray(x, dtype=np.float32)}, **settings)


class TestWhatIsFound:
    def test_digits_have_no_copies(self, digits):
        assert of(digits) is None

    def test_exact_copies_are_grouped_with_their_originals(self, digits):
        found = of(np.r_[digits, digits[:40], digits[:10]])
        assert len(found) == 40
        assert found.exact.all()
        assert np.isinf(found.nearer).all()
        np.testing.assert_array_equal(found.group[600:640], found.group[:40])
        np.testing.assert_array_equal(found.group[640:], found.group[:10])
        assert (found.group[40:600] == -1).all()

    def test_near_copies_are_grouped_and_are_not_exact(self, digits):
        noise = np.random.default_rng(0).normal(scale=0.3, size=(40, 64))
        found = of(np.r_[digits, digits[:40] + noise])
        kept = found.group[600:]
        assert (kept >= 0).mean() > 0.9
        np.testing.assert_array_equal(found.group[:40], kept)
        assert not found.exact.any()
        assert (found.nearer >= 4).all()
        assert np.isfinite(found.nearer).all()

    def test_copies_that_differ_by_rounding_alone_are_measured_as_such(self, digits):
        """Also where the search rounds more than they differ, and where it takes another way for many rows."""
        x = np.random.default_rng(0).normal(size=(2000, 3)).astype(np.float32) + 10
        found = of(np.r_[x, x[:50] * (1 + np.float32(3e-7))])
        np.testing.assert_array_equal(found.group[2000:], found.group[:50])
        assert (found.nearer > 1000).all()

    def test_among_many_they_are_found_by_cells(self, monkeypatch):
        monkeypatch.setattr(neighbours, "EXACT", 1000)
        monkeypatch.setattr(neighbours, "MANY", 2000)
        rng = np.random.default_rng(0)
        x = rng.normal(size=(4000, 12)).astype(np.float32)
        found = of(np.r_[x, x[:100] + rng.normal(scale=0.02, size=(100, 12)).astype(np.float32)])
        assert (found.group[4000:] == found.group[:100]).mean() > 0.95
        assert (found.group[100:4000] == -1).all()

    def test_a_copy_of_a_copy_is_in_the_group_of_both(self, digits):
        found = of(np.r_[digits, digits[:1], digits[:1] + 0.01, digits[:1] - 0.01])
        assert len(found) == 1
        assert np.flatnonzero(found.group == 0).tolist() == [0, 600, 601, 602]
        assert not found.exact[0]

    def test_a_whole_set_twice_is_found(self, digits):
        found = of(np.r_[digits, digits])
        assert len(found) == 600
        np.testing.assert_array_equal(found.group, np.tile(np.arange(600), 2))

    def test_the_sign_of_a_zero_makes_no_difference(self, digits):
        flipped = np.where(digits[:5] == 0, np.float32(-0.0), digits[:5])
        found = of(np.r_[digits, flipped])
        assert len(found) == 5
        assert found.exact.all()

    def test_all_views_have_to_agree(self, digits):
        twice = np.r_[digits, digits[:20]]
        other = np.random.default_rng(0).normal(size=(620, 8)).astype(np.float32)
        assert find_copies({"a": twice, "b": other}) is None
        other[600:] = other[:20]
        assert len(find_copies({"a": twice, "b": other})) == 20

    def test_columns_of_other_units_do_not_matter(self, digits):
        """Thousands in one column, which alone would hide all others."""
        money = np.random.default_rng(0).normal(scale=1e5, size=600)
        x = np.c_[digits, money]
        near = np.c_[digits[::-1][:50], money[:50] + 0.01]  # alike in money alone
        found = of(np.r_[x, x[:20], near])
        assert len(found) == 20


class TestWhatIsNone:
    @pytest.mark.parametrize(("kinds", "columns"), [(3, 4), (3, 10), (2, 8)])
    def test_equal_rows_of_a_few_categories(self, kinds, columns):
        x = np.random.default_rng(0).integers(kinds, size=(1500, columns))
        assert len(np.unique(x, axis=0)) < 1500
        assert of(x) is None

    @pytest.mark.parametrize(("kinds", "columns", "n"), [(4, 5, 1000), (3, 10, 1000), (2, 20, 3000)])
    def test_equal_rows_of_indicators_of_categories(self, kinds, columns, n):
        """Also where hardly any rows are equal, and few of those in half of the columns."""
        x = np.random.default_rng(0).integers(kinds, size=(n, columns))
        assert len(np.unique(x, axis=0)) < n
        assert of(np.eye(kinds)[x].reshape(n, -1)) is None

    def test_equal_rows_whose_columns_all_are_there_twice(self):
        x = np.random.default_rng(0).integers(2, size=(3000, 18))
        assert of(np.c_[x, 3 - 2 * x]) is None

    def test_equal_rows_of_rounded_numbers(self):
        from sklearn.datasets import load_iris

        assert len(np.unique(load_iris().data, axis=0)) < 150
        assert of(load_iris().data) is None

    def test_but_copied_rows_of_a_table_with_several_numbers_are(self):
        rng = np.random.default_rng(0)
        x = np.c_[rng.normal(size=(1000, 4)).round(2), np.eye(6)[rng.integers(6, size=1000)]]
        found = of(np.r_[x, x[:50]])
        assert (found.group[1000:] >= 0).mean() > 0.9
        np.testing.assert_array_equal(found.group[1000:], found.group[:50])

    @pytest.mark.parametrize("width", [1, 8])
    def test_constant_features(self, width):
        assert of(np.ones((300, width))) is None

    def test_two_different_rows_again_and_again(self):
        assert of(np.repeat(np.eye(8)[:2], 100, axis=0)) is None

    def test_rows_of_zeros_which_say_nothing(self, digits):
        assert of(np.r_[digits, np.zeros((30, 64))]) is None

    @pytest.mark.parametrize("dimensions", [1, 2, 3, 10, 40])
    def test_dense_data(self, dimensions):
        assert of(np.random.default_rng(0).normal(size=(3000, dimensions))) is None

    @pytest.mark.parametrize("dimensions", [2, 10])
    def test_clusters_far_apart(self, dimensions):
        rng = np.random.default_rng(0)
        centres = 1000 * rng.normal(size=(20, dimensions))
        assert of(centres[np.arange(2000) % 20] + rng.normal(size=(2000, dimensions))) is None

    def test_a_number_beside_categories_that_are_no_more_than_near(self):
        rng = np.random.default_rng(0)
        x = np.c_[rng.exponential(5e4, 1500).round(), np.eye(6)[rng.integers(6, size=1500)]]
        assert of(x) is None

    def test_too_little_to_tell(self):
        assert of(np.ones((4, 3))) is None
        assert find_copies({}) is None


class TestReference:
    def test_pairs_with_a_member_in_it_are_found(self, digits):
        noise = np.random.default_rng(0).normal(scale=0.2, size=(40, 64)).astype(np.float32)
        x = np.r_[digits, digits[:20], digits[:40] + noise]
        found = of(x, reference=np.arange(600))
        assert (found.group[:20] == found.group[600:620]).all()
        assert (found.group[:40] == found.group[620:]).mean() > 0.9

    def test_a_set_without_a_member_in_it_need_not_be(self, digits):
        near = digits[:10] + np.float32(0.01)
        found = of(np.r_[digits, digits[:10], near], reference=np.arange(10, 600))
        assert (found.group[:10] == found.group[600:610]).all()  # equal rows always are
        assert found.exact.all()


class TestFolds:
    def test_without_copies_they_are_drawn_as_ever(self, digits):
        """Also where copies are elsewhere, bit by bit."""
        rows = np.arange(100, 500)
        expected = np.random.default_rng(3).permutation(np.arange(400) % 5)
        elsewhere = of(np.r_[digits, digits[:20]])
        for copies in (None, elsewhere):
            np.testing.assert_array_equal(folds_of(copies, rows, 5, np.random.default_rng(3)), expected)

    def test_copies_are_in_one_and_all_are_used(self, digits):
        copies = of(np.r_[digits, digits[:100], digits[:50]])
        rows = np.random.default_rng(0).permutation(750)[:600]
        folds = folds_of(copies, rows, 5, np.random.default_rng(0))
        assert set(folds) == set(range(5))
        for group in range(len(copies)):
            assert len(set(folds[copies.group[rows] == group])) <= 1

    def test_a_copy_elsewhere_knows_the_fold(self, digits):
        copies = of(np.r_[digits, digits[:100]])
        folds = folds_of(copies, np.arange(600), 5, np.random.default_rng(0))
        elsewhere = copies.folds_elsewhere(np.arange(600), folds)
        np.testing.assert_array_equal(elsewhere[600:], folds[:100])
        assert (elsewhere[100:600] == -1).all()


def test_some_of_the_rows_keep_the_groups_that_are_left(digits):
    copies = of(np.r_[digits, digits[:3]])[np.r_[1:600, 601, 602]]
    assert len(copies) == 2
    assert np.flatnonzero(copies.group >= 0).tolist() == [0, 1, 599, 600]
