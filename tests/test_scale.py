import numpy as np
import pytest

from truelabel.scale import Scale, moments

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(500, 4)) * [1, 10, 0.1, 3] + [0, 5, -2, 100]).astype(np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32])
def test_moments_are_those_of_numpy(dtype):
    array = X.astype(dtype)
    mean, deviation = moments(array)
    assert mean.dtype == deviation.dtype == np.float32
    np.testing.assert_allclose(mean, array.astype(np.float64).mean(axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(deviation, array.astype(np.float64).std(axis=0), rtol=1e-5)


def test_moments_do_not_depend_on_where_blocks_end():
    # 2,000,000 values are one block, so this array has four, the last of them short.
    wide = RNG.normal(size=(700, 9_000)).astype(np.float32) + 50
    mean, deviation = moments(wide)
    np.testing.assert_allclose(mean, wide.mean(axis=0, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(deviation, wide.std(axis=0, dtype=np.float64), rtol=1e-5)


def test_a_small_spread_far_from_zero_is_not_lost():
    array = (RNG.normal(size=(1000, 1)) + 1e5).astype(np.float32)
    _, deviation = moments(array)
    np.testing.assert_allclose(deviation, array.std(axis=0, dtype=np.float64), rtol=1e-6)


def test_the_deviation_of_a_constant_column_is_exactly_zero():
    assert moments(np.full((1000, 2), 0.1, dtype=np.float32))[1].tolist() == [0, 0]


def test_columns_gives_every_column_variance_one():
    scaled = Scale("columns", *moments(X))(X)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(scaled.std(axis=0), 1, rtol=1e-4)


def test_whole_divides_all_columns_by_one_number():
    scaled = Scale("whole", *moments(X))(X)
    centred = X - X.mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(scaled, centred / np.sqrt(np.square(centred).mean()), atol=1e-4)


def test_unit_gives_every_centred_row_the_same_length_and_values_a_mean_square_of_one():
    scaled = Scale("unit", *moments(X))(X)
    centred = X - X.mean(axis=0, dtype=np.float64)
    expected = 2 * centred / np.linalg.norm(centred, axis=1, keepdims=True)  # the root of four columns
    np.testing.assert_allclose(scaled, expected, atol=1e-4)


@pytest.mark.parametrize("name", Scale.NAMES)
def test_columns_without_variance_become_zero_and_leave_others_alone(name):
    constant = np.c_[X, np.full(len(X), 7.3, np.float32), np.zeros(len(X), np.float32)]
    scaled = Scale(name, *moments(constant))(constant)
    assert np.isfinite(scaled).all()
    np.testing.assert_array_equal(scaled[:, 4:], 0)
    if name == "columns":
        np.testing.assert_allclose(scaled[:, :4].std(axis=0), 1, rtol=1e-4)


@pytest.mark.parametrize("name", Scale.NAMES)
def test_no_variance_at_all_is_borne(name):
    same = np.full((10, 3), 2.5, dtype=np.float32)
    assert Scale(name, *moments(same))(same).tolist() == [[0, 0, 0]] * 10
