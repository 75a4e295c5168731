import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from truelabel import Predictions, parquet

N = 50
RNG = np.random.default_rng(0)
PARTS = ("probs", "hidden", "inputs", "labels", "ids")


def everything(n=N, ids=None):
    return Predictions(
        RNG.dirichlet(np.ones(3), n).astype(np.float16),
        {"features": RNG.normal(size=(n, 4)), "pixels: 8/8": RNG.integers(255, size=(n, 6), dtype=np.uint8)},
        hidden=RNG.normal(size=(n, 5)).astype(np.float32),
        inputs=RNG.normal(size=(n, 1, 3, 2)).astype(np.float32),
        labels=RNG.integers(3, size=n),
        ids=np.arange(n) + 1000 if ids is None else ids,
        class_names=["cat", "dog", "eel"],
        out_of_sample=True,
    )


def assert_equal(one, other):
    assert list(one.views) == list(other.views)
    arrays = [(getattr(one, name), getattr(other, name)) for name in PARTS]
    arrays += [(one.views[name], other.views[name]) for name in one.views]
    for a, b in arrays:
        if a is None:
            assert b is None
            continue
        if a.dtype.kind in "fiub":
            assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    assert one.class_names == other.class_names
    assert one.out_of_sample == other.out_of_sample


@pytest.fixture
def path(tmp_path):
    return tmp_path / "said.parquet"


@pytest.fixture
def groups(monkeypatch):
    """Make the writer write small row groups."""
    monkeypatch.setattr("truelabel.arrays.blocks.__defaults__", (60,))


@pytest.mark.parametrize("ids", [None, np.array([f"image {k}.png" for k in range(N)])], ids=["ints", "strings"])
def test_everything_comes_back(path, ids):
    said = everything(ids=ids)
    said.to_parquet(path)
    assert_equal(said, Predictions.from_parquet(path))


def test_what_is_absent_stays_absent(path):
    said = Predictions([[0.5, 0.5], [0.25, 0.75]])
    said.to_parquet(path)
    back = Predictions.from_parquet(path)
    assert_equal(said, back)
    assert back.features is None
    assert back.class_names is None
    assert not back.out_of_sample


@settings(max_examples=15, deadline=None)
@given(
    logits=hnp.arrays(
        st.sampled_from([np.float16, np.float32, np.float64]),
        st.tuples(st.integers(1, 9), st.integers(2, 5)),
        elements=st.floats(-8, 8, width=16),
    ),
    names=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), unique=True, max_size=3),
)
def test_any_numbers_and_view_names_come_back(tmp_path_factory, logits, names):
    names = [name for name in names if name not in PARTS]
    said = Predictions(logits, {name: logits for name in names} or None, hidden=logits[:, ::-1], input="logits")
    path = tmp_path_factory.mktemp("round") / "trip.parquet"
    said.to_parquet(path)
    assert_equal(said, Predictions.from_parquet(path))


def test_rows_that_are_not_contiguous_are_written_right(path):
    said = everything()[::3]
    said = said.replace(probs=np.asfortranarray(said.probs), inputs=said.inputs.transpose(0, 3, 1, 2))
    said.to_parquet(path)
    assert_equal(said, Predictions.from_parquet(path))


def test_several_row_groups_come_back_as_one(path, groups):
    said = everything()
    said.to_parquet(path)
    assert pq.ParquetFile(path).num_row_groups > 3
    assert_equal(said, Predictions.from_parquet(path))


def test_inputs_that_are_read_lazily_are_left_out(path):
    class Lazy:
        def __len__(self):
            return 2

    Predictions([[0.5, 0.5], [0.25, 0.75]], inputs=Lazy()).to_parquet(path)
    assert Predictions.from_parquet(path).inputs is None


@pytest.mark.parametrize("ids", [None, np.array([f"{k}/" + "long" * 40 for k in range(N)])], ids=["ints", "strings"])
def test_spooled_arrays_are_memory_mapped_and_equal(path, tmp_path, groups, ids):
    said = everything(ids=ids)
    said.to_parquet(path)
    back = Predictions.from_parquet(path, spool=tmp_path / "a" / "spool")
    assert_equal(said, back)
    for part in (back.probs, back.hidden, back.inputs, back.labels, *back.views.values()):
        assert isinstance(part, np.memmap)
    assert list((tmp_path / "a" / "spool").glob("*.npy"))


def test_files_of_many_batches_are_spooled_whole(path, tmp_path):
    # pyarrow hands out 65,536 rows at a time.
    n = 150_000
    first = RNG.random(n, dtype=np.float32)
    said = Predictions(np.c_[first, 1 - first], labels=np.arange(n) % 2, ids=np.arange(n).astype(str))
    said.to_parquet(path)
    assert_equal(said, Predictions.from_parquet(path, spool=tmp_path / "spool"))


def test_views_with_like_names_are_spooled_apart(path, tmp_path):
    features = RNG.normal(size=(3, 2, 2))
    said = Predictions(np.full((2, 2), 0.5), {"a/b": features[0], "a_b": features[1], "a:b": features[2]})
    said.to_parquet(path)
    assert_equal(said, Predictions.from_parquet(path, spool=tmp_path / "spool"))


def test_spooling_another_file_leaves_the_first_as_it_was(path, tmp_path):
    first, second = everything(), everything(n=20)
    first.to_parquet(path)
    kept = Predictions.from_parquet(path, spool=tmp_path / "spool")
    second.to_parquet(path)
    assert_equal(second, Predictions.from_parquet(path, spool=tmp_path / "spool"))
    assert_equal(first, kept)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_pieces_of_a_stream_make_the_whole(path, groups, size):
    said = everything()
    said.to_parquet(path)
    pieces = list(parquet.stream(path, size))
    assert max(len(piece) for piece in pieces) <= size
    assert sum(len(piece) for piece in pieces) == N
    start = 0
    for piece in pieces:
        assert_equal(said[start : start + len(piece)], piece)
        start += len(piece)


PROBS = [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]
VIEW = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
LISTS = {"probs": PROBS, "features": VIEW, "features:words": PROBS, "hidden": PROBS, "labels": [1, 0, 0]}


@pytest.mark.parametrize(
    "write",
    [
        lambda path: pd.DataFrame(LISTS).to_parquet(path),
        lambda path: pl.DataFrame(LISTS).write_parquet(path),
        lambda path: pl.DataFrame(LISTS).cast({"probs": pl.Array(pl.Float32, 2)}).write_parquet(path),
        lambda path: pl.DataFrame(LISTS).write_parquet(path, row_group_size=1, use_pyarrow=True),
    ],
    ids=["pandas", "polars", "polars arrays", "polars through pyarrow"],
)
@pytest.mark.parametrize("spooled", [False, True])
def test_list_columns_that_others_wrote_are_read(path, tmp_path, write, spooled):
    write(path)
    said = Predictions.from_parquet(path, spool=tmp_path / "spool" if spooled else None)
    np.testing.assert_allclose(said.probs, PROBS)
    assert list(said.views) == ["features", "words"]
    np.testing.assert_array_equal(said.views["features"], VIEW)
    np.testing.assert_array_equal(said.hidden, PROBS)
    assert said.labels.tolist() == [1, 0, 0]


@pytest.mark.parametrize("categorical", [False, True])
def test_prefixed_columns_name_the_classes(path, categorical):
    labels = ["dog", "cat", "dog"]
    frame = pd.DataFrame(
        {
            "weight": [1, 2, 3],
            "probs_cat": [0.2, 0.5, 0.9],
            "probs_dog": [0.8, 0.5, 0.1],
            "features_age": [1.0, 2.0, 3.0],
            "features_size": [4.0, 5.0, 6.0],
            "hidden_0": [0, 0, 1],
            "labels": pd.Categorical(labels) if categorical else labels,
            "ids": ["x", "y", "z"],
        }
    )
    frame.to_parquet(path)
    said = Predictions.from_parquet(path)
    assert said.class_names == ("cat", "dog")
    np.testing.assert_array_equal(said.probs, PROBS)
    np.testing.assert_array_equal(said.features, [[1, 4], [2, 5], [3, 6]])
    assert said.hidden.tolist() == [[0], [0], [1]]
    assert said.labels.tolist() == [1, 0, 1]
    assert said.ids.tolist() == ["x", "y", "z"]


def test_numbered_columns_are_put_in_order_and_name_nothing(path):
    probs = RNG.dirichlet(np.ones(12), 5)
    features = RNG.normal(size=(5, 11))
    columns = {f"probs_{k}": probs[:, k] for k in range(12)} | {f"features_{k}": features[:, k] for k in range(11)}
    pd.DataFrame({name: columns[name] for name in sorted(columns)}).assign(labels=[0, 10, 2, 11, 1]).to_parquet(path)
    said = Predictions.from_parquet(path)
    np.testing.assert_array_equal(said.probs, probs)
    np.testing.assert_array_equal(said.features, features)
    assert said.labels.tolist() == [0, 10, 2, 11, 1]
    assert said.class_names is None


BAD = {
    "no probs": ({"prob": PROBS, "x": [1, 2, 3]}, "has no column probs .* its columns are prob, x"),
    "missing rows": ({"probs": [[0.5, 0.5], None, None]}, "column probs has 2 missing values; fill them or drop"),
    "missing labels": ({"probs": PROBS, "labels": [0, None, 1]}, "column labels has 1 missing values"),
    "missing inside": ({"probs": [[0.5, None], [0.5, 0.5]]}, "column probs has missing values inside its lists"),
    "ragged": ({"probs": PROBS, "features": [[1.0], [1.0, 2.0], [1.0]]}, "column features has lists of 2 different"),
    "no rows": ({"probs": pa.array([], pa.list_(pa.float32()))}, "has no rows; pass a file with at least one"),
    "wrong sums": ({"probs": [[0.5, 0.5], [0.5, 0.9]]}, r"do not sum to 1 \(row 1 sums to 1\.4\)"),
}


@pytest.mark.parametrize(("columns", "message"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("spooled", [False, True])
def test_bad_files_are_refused(path, tmp_path, columns, message, spooled):
    pq.write_table(pa.table(columns), path)
    with pytest.raises(ValueError, match=message):
        Predictions.from_parquet(path, spool=tmp_path / "spool" if spooled else None)


def test_what_is_no_parquet_file_is_refused(path):
    path.write_text("probs,labels\n0.5,1\n")
    with pytest.raises(ValueError, match=r"said\.parquet is not a Parquet file, or is damaged"):
        Predictions.from_parquet(path)
    everything().to_parquet(path)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match="is not a Parquet file, or is damaged"):
        Predictions.from_parquet(path)
    with pytest.raises(FileNotFoundError):
        Predictions.from_parquet(path.with_name("none.parquet"))


def test_the_file_carries_its_metadata_as_json(path):
    everything().to_parquet(path)
    about = json.loads(pq.ParquetFile(path).schema_arrow.metadata[b"truelabel"])
    assert about["class_names"] == ["cat", "dog", "eel"]
    assert about["shapes"]["inputs"] == [1, 3, 2]
