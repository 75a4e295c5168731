import numpy as np
import pandas as pd
import pytest

from truelabel import datasets

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(20, 60, 50),
        "income": RNG.normal(40_000, 10_000, 50),
        "name": ["somebody"] * 50,
        "kind": ["b", "a"] * 25,
    }
)


@pytest.fixture(params=["csv", "parquet"])
def path(request, tmp_path):
    file = tmp_path / f"people.{request.param}"
    FRAME.to_csv(file, index=False) if request.param == "csv" else FRAME.to_parquet(file)
    return file


def test_numeric_columns_are_the_inputs(path):
    data = datasets.table(path, label="kind", standardise=False)
    assert data.name == "people"
    assert data.class_names == ("a", "b")
    assert (data.train.inputs.shape, data.test.inputs.shape) == ((40, 2), (10, 2))
    assert data.train.inputs.dtype == np.float32
    for split in (data.train, data.test):
        for x, y in zip(split.inputs, split.labels, strict=True):
            row = FRAME[np.isclose(FRAME.income, x[1], rtol=1e-6)]
            assert (row.age.item(), row.kind.item()) == (x[0], "ab"[y])


def test_columns_are_standardised_by_the_training_rows(path):
    data = datasets.table(path, label="kind")
    np.testing.assert_allclose(data.train.inputs.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(data.train.inputs.std(axis=0), 1, atol=1e-5)
    raw = datasets.table(path, label="kind", standardise=False)
    expected = (raw.test.inputs - raw.train.inputs.mean(axis=0)) / raw.train.inputs.std(axis=0)
    np.testing.assert_allclose(data.test.inputs, expected, atol=1e-5)


def test_a_second_file_is_the_test_set(path, tmp_path):
    FRAME.tail(7).to_csv(tmp_path / "test.csv", index=False)
    data = datasets.table(path, label="kind", test=tmp_path / "test.csv", columns=["income"])
    assert (data.train.inputs.shape, data.test.inputs.shape) == ((50, 1), (7, 1))


def test_numbers_may_be_labels(tmp_path):
    pd.DataFrame({"x": RNG.random(30), "y": np.arange(30) % 3 + 9}).to_csv(tmp_path / "t.csv", index=False)
    data = datasets.table(tmp_path / "t.csv", label="y")
    assert data.class_names == ("9", "10", "11")
    assert data.train.in_shape == (1,)


def test_bad_tables_are_refused(path, tmp_path):
    with pytest.raises(ValueError, match="no column 'type'; choose from age, income, name, kind"):
        datasets.table(path, label="type")
    with pytest.raises(ValueError, match="no column 'size'"):
        datasets.table(path, label="kind", columns=["size"])
    with pytest.raises(ValueError, match=r"neither a \.csv nor a \.parquet"):
        datasets.table(tmp_path / "t.xlsx", label="kind")
    other = tmp_path / "other.csv"
    FRAME[["name", "kind"]].to_csv(other, index=False)
    with pytest.raises(ValueError, match="no column of numbers"):
        datasets.table(other, label="kind")
    FRAME.assign(kind=[None, *FRAME.kind[1:]]).to_csv(other, index=False)
    with pytest.raises(ValueError, match="no label in row 0"):
        datasets.table(other, label="kind")
    FRAME.assign(income=[np.nan, *FRAME.income[1:]]).to_csv(other, index=False)
    with pytest.raises(ValueError, match=r"NaN or infinite value \(row 0, column 1\)"):
        datasets.table(other, label="kind")
    FRAME.assign(kind="c").to_csv(other, index=False)
    with pytest.raises(ValueError, match="the class 'c' in row 0"):
        datasets.table(path, label="kind", test=other)
