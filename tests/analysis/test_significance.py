import itertools

import numpy as np
import pytest
from scipy import stats

from truelabel.analysis import benjamini_hochberg, draw_significance, holm, paired, significance

BEFORE = np.array([60.1, 61.3, 59.2, 62.0, 60.8, 58.9])
AFTER = np.array([63.0, 61.0, 62.5, 64.1, 65.2, 59.7])


def test_the_t_test_its_interval_and_the_sign_test_are_scipy_s() -> None:
    found, expected = paired(BEFORE, AFTER), stats.ttest_rel(AFTER, BEFORE)
    assert found.t == pytest.approx(expected.pvalue)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval()))
    assert found.sign == pytest.approx(stats.binomtest(5, 6).pvalue)
    assert (found.before, found.after) == pytest.approx((BEFORE.mean(), AFTER.mean()))
    assert found.difference == pytest.approx(2.2)
    assert found.deviation == pytest.approx(np.std(AFTER - BEFORE, ddof=1))
    assert found.effect == pytest.approx(2.2 / np.std(AFTER - BEFORE, ddof=1))


@pytest.mark.parametrize("n", [3, 6, 12, 25])
def test_wilcoxon_s_test_is_scipy_s_exact_one_where_there_are_no_ties(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.4, size=n)
    expected = stats.wilcoxon(differences, method="exact").pvalue
    assert paired(np.zeros(n), differences).wilcoxon == pytest.approx(expected)


def test_wilcoxon_s_test_with_ties_counts_all_signs() -> None:
    differences = np.array([1.0, 1.0, -1.0, 2.0, 2.0, 3.0, -4.0])
    ranks = stats.rankdata(np.abs(differences))
    sums = np.array([np.dot(signs, ranks) for signs in itertools.product((-1, 1), repeat=7)])
    expected = np.mean(np.abs(sums) >= abs(np.dot(np.sign(differences), ranks)))
    assert paired(np.zeros(7), differences).wilcoxon == pytest.approx(expected)


def test_pairs_without_a_difference_are_left_out_of_the_exact_tests() -> None:
    some, more = paired([0, 0, 0], [1, 2, 3]), paired([0, 0, 0, 5, 6], [1, 2, 3, 5, 6])
    assert some.wilcoxon == more.wilcoxon == 0.25
    assert some.sign == more.sign == 0.25


def test_five_seeds_cannot_reach_five_percent_by_rank() -> None:
    found = paired(np.zeros(5), [5.0, 5.1, 4.9, 5.2, 4.8])
    assert found.wilcoxon == found.sign == 2**-4
    assert found.t < 1e-5


def test_equal_differences_leave_nothing_to_chance_and_no_difference_everything() -> None:
    same = paired([0.1, 0.2, 0.3], [0.4, 0.5, 0.6])
    assert (same.deviation, same.t, same.effect) == (0.0, 0.0, np.inf)
    none = paired([0.1, 0.2], [0.1, 0.2])
    assert (none.t, none.wilcoxon, none.sign, none.effect) == (1.0, 1.0, 1.0, 0.0)


def test_many_pairs_use_the_normal_approximation() -> None:
    differences = np.random.default_rng(0).normal(0.1, size=150)
    expected = stats.wilcoxon(differences, method="asymptotic").pvalue
    assert paired(np.zeros(150), differences).wilcoxon == pytest.approx(expected)


def test_holm_by_hand() -> None:
    # Sorted: 0.005·4, 0.01·3, 0.03·2, 0.04·1 = 0.02, 0.03, 0.06, 0.04, and none below its predecessor.
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.6, 0.7]), [1.0, 1.0])


def test_benjamini_hochberg_is_scipy_s() -> None:
    p = np.random.default_rng(1).random(30) ** 3
    np.testing.assert_allclose(benjamini_hochberg(p), stats.false_discovery_control(p, method="bh"))


def test_the_table_corrects_the_test_that_was_asked_for() -> None:
    rng = np.random.default_rng(2)
    cells = {f"cell {k}": (rng.normal(size=6), rng.normal(0.8 * k, size=6)) for k in range(4)}
    for test in ("t", "wilcoxon", "sign"):
        table = significance(cells, test)  # type: ignore[arg-type]
        np.testing.assert_allclose(table["holm"], holm(table[test]))
        np.testing.assert_allclose(table["benjamini_hochberg"], benjamini_hochberg(table[test]))
    row = table.loc["cell 3"]
    assert (row["low"], row["high"]) == paired(*cells["cell 3"]).interval
    assert list(table.index) == list(cells)


def test_holm_keeps_false_alarms_rare() -> None:
    rng = np.random.default_rng(3)
    alarms = [
        significance({str(k): (rng.normal(size=5), rng.normal(size=5)) for k in range(10)})["holm"].min() < 0.05
        for _ in range(60)
    ]
    assert np.mean(alarms) < 0.15  # uncorrected: 1 − 0.95¹⁰ = 0.40


def test_the_figure_fills_what_is_significant() -> None:
    rng = np.random.default_rng(4)
    base = rng.normal(size=8)
    noise = 0.1 * rng.normal(size=8)
    table = significance(
        {"up": (base, base + 1 + noise), "down": (base, base - 1 + noise), "flat": (base, base + noise)}
    )
    axis = draw_significance(table, "three cells").axes[0]
    faces = [line.get_markerfacecolor() for line in axis.lines if line.get_marker() == "o"]
    assert faces == ["#0072B2", "#D55E00", "white"]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["up", "down", "flat"]


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [([1], [2], "at least two seeds"), ([1, 2], [1, 2, 3], "one result a seed"), ([1, np.nan], [1, 2], "NaN")],
)
def test_what_cannot_be_compared_is_refused(before: list[float], after: list[float], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        paired(before, after)
    with pytest.raises(ValueError, match="cell 'IDN 40'.*" + complaint):
        significance({"IDN 40": (before, after)})


def test_what_is_no_probability_or_no_test_is_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        holm([0.2, 1.2])
    with pytest.raises(ValueError, match='"t", "wilcoxon" or "sign"'):
        significance({"a": ([1, 2], [2, 3])}, "z")  # type: ignore[arg-type]
