"""The minimum covariance determinant: outliers, scikit-learn's, and what it does where rows are few."""

import numpy as np
import pytest
from sklearn.covariance import MinCovDet

from truelabel.calibrators.mcd import _concentrate, _moments, _nearest, robust_gaussians


def contaminated(n, d, share, seed=0):
    """Gaussian rows, a share of them replaced by a cluster elsewhere; the covariance, and which are outliers."""
    rng = np.random.default_rng(seed)
    root = np.eye(d) + rng.normal(size=(d, d)) / (2 * np.sqrt(d))
    x = rng.normal(size=(n, d)) @ root.T
    out = np.arange(n) < share * n
    x[out] += 5
    return x, root @ root.T, out


def log_det(rows):
    return np.linalg.slogdet(np.cov(rows.T, bias=True))[1]


@pytest.mark.parametrize("d", [2, 10, 40])
def test_forty_percent_outliers_leave_mean_and_covariance_alone(d):
    x, covariance, out = contaminated(1000, d, 0.4)
    found = robust_gaussians([x], np.random.default_rng(0))[0]
    clean_mean, clean = x[~out].mean(axis=0), np.cov(x[~out].T)
    assert found.kept[out].mean() < 0.01
    assert np.linalg.norm(found.mean - clean_mean) < 0.05 * np.linalg.norm(x.mean(axis=0) - clean_mean)
    assert np.linalg.norm(found.covariance - clean) < 0.1 * np.linalg.norm(np.cov(x.T) - clean)
    allowed = 1.2 * np.linalg.norm(clean - covariance) + 0.1 * np.linalg.norm(covariance)
    assert np.linalg.norm(found.covariance - covariance) < allowed


def test_it_finds_no_larger_a_determinant_than_scikit_learn():
    for seed in range(5):
        x, _, _ = contaminated(300, 3, 0.25, seed)
        theirs = MinCovDet(random_state=0, support_fraction=0.6).fit(x)
        ours = robust_gaussians([x], np.random.default_rng(0), support=0.6)[0]
        assert ours.support.sum() == theirs.raw_support_.sum() == 180
        assert log_det(x[ours.support]) <= log_det(x[theirs.raw_support_]) + 1e-3
        np.testing.assert_allclose(ours.mean, theirs.location_, atol=0.05)


def test_it_finds_the_clean_rows_where_starts_of_few_rows_do_not():
    """21 rows drawn at random, which scikit-learn starts from, are all clean with probability 0.6^21."""
    x, _, out = contaminated(500, 20, 0.4)
    away = np.linalg.norm(x.mean(axis=0) - x[~out].mean(axis=0))
    theirs = np.linalg.norm(MinCovDet(random_state=0).fit(x).location_ - x[~out].mean(axis=0))
    ours = np.linalg.norm(robust_gaussians([x], np.random.default_rng(0))[0].mean - x[~out].mean(axis=0))
    assert ours < 0.05 * away
    assert theirs > 0.5 * away


def test_clean_gaussians_are_estimated_without_bias():
    x, covariance, _ = contaminated(20_000, 5, 0.0)
    found = robust_gaussians([x], np.random.default_rng(0))[0]
    assert 0.96 < found.kept.mean() < 0.985
    np.testing.assert_allclose(found.covariance, covariance, atol=0.06)
    np.testing.assert_allclose(found.mean, 0, atol=0.04)


def test_a_concentration_step_never_raises_the_determinant():
    x, _, _ = contaminated(200, 4, 0.3)
    rng = np.random.default_rng(1)
    x, valid, h = x[None], np.ones((1, 200), bool), np.array([110])
    chosen = _nearest(rng.random((1, 6, 200)), valid, h)
    before = np.linalg.slogdet(_moments(x, chosen, h)[1])[1]
    for _ in range(8):
        chosen, after = _concentrate(x, valid, chosen, h, 1)
        assert (chosen.sum(axis=2) == 110).all()
        assert (after <= before + 1e-9).all()
        before = after


def test_classes_together_are_as_each_alone():
    groups = [contaminated(n, 3, 0.3, seed=n)[0] + n for n in (40, 200, 90, 400)]
    together = robust_gaussians(groups, np.random.default_rng(0), starts=1)  # the median: no start is drawn
    for group, found in zip(groups, together, strict=True):
        alone = robust_gaussians([group], np.random.default_rng(5), starts=1)[0]
        np.testing.assert_array_equal(found.support, alone.support)
        np.testing.assert_allclose(found.mean, alone.mean)


def test_many_classes_come_in_chunks_and_in_order(monkeypatch):
    from truelabel.calibrators import mcd

    groups = [contaminated(n, 3, 0.2, seed=n)[0] + 100 * n for n in (50, 10, 80, 20)]
    whole = [found.mean for found in robust_gaussians(groups, np.random.default_rng(0))]
    monkeypatch.setattr(mcd, "CHUNK_VALUES", 200)
    pieces = [found.mean for found in robust_gaussians(groups, np.random.default_rng(0))]
    np.testing.assert_allclose(pieces, whole, atol=0.5)
    np.testing.assert_allclose([mean.mean() / 100 for mean in pieces], [50, 10, 80, 20], atol=0.05)


@pytest.mark.parametrize(("n", "d"), [(60, 50), (40, 30), (30, 60)])
def test_fewer_rows_than_twice_the_columns_still_leave_outliers_out(n, d):
    x, _, out = contaminated(n, d, 0.3)
    found = robust_gaussians([x], np.random.default_rng(0))[0]
    assert not found.support[out].any()
    assert np.linalg.norm(found.mean - x[~out].mean(axis=0)) < 0.25 * np.linalg.norm(x.mean(axis=0))


@pytest.mark.parametrize("rows", [[[1.0, 2.0]], [[1.0, 2.0], [3.0, 2.0]], [[1.0, 2.0]] * 20])
def test_one_row_two_rows_and_twenty_equal_ones_are_taken(rows):
    found = robust_gaussians([np.array(rows)], np.random.default_rng(0))[0]
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.covariance).all()
    np.testing.assert_allclose(found.mean[1], 2)


def test_a_covariance_is_drawn_towards_a_sphere_where_its_subset_is_small():
    """By 1 - h / 2d, so by half with as many rows as columns, and hardly where there are twice as many or more."""
    rng = np.random.default_rng(0)
    for rows, share in ((4, 0.5), (6, 0.25), (8, 0.0), (30, 0.0)):
        x = rng.normal(size=(1, rows, 4)) * [1, 2, 3, 4]
        chosen = np.ones((1, 1, rows), dtype=bool)
        mean, covariance = _moments(x, chosen, np.array([rows]))
        plain = np.cov(x[0].T, bias=True)
        expected = (1 - share) * plain + share * np.trace(plain) / 4 * np.eye(4)
        np.testing.assert_allclose(covariance[0, 0], expected, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(mean[0, 0], x[0].mean(axis=0))


def test_no_chunk_of_several_classes_is_larger_than_allowed_and_none_could_take_one_more(monkeypatch):
    from truelabel.calibrators import mcd

    monkeypatch.setattr(mcd, "CHUNK_VALUES", 300)
    sizes = np.array([50, 10, 80, 20, 10, 5, 200])
    chunks = mcd._chunks(sizes, 3)
    assert [chunk.tolist() for chunk in chunks] == [[5, 1, 4, 3], [0], [2], [6]]  # 4·20·3 fit; 5·50·3 do not
