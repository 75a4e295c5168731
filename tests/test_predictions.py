import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import scipy.special
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from truelabel import Predictions

PROBS = np.array([[0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.25, 0.25, 0.5], [0.0, 1.0, 0.0]], dtype=np.float32)
FEATURES = np.arange(8, dtype=np.float32).reshape(4, 2)


class Unread:
    """Inputs that refuse to be read."""

    def __init__(self, names):
        self.names = np.asarray(names)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, rows):
        raise AssertionError("inputs were read")

    def unread(self, rows):
        return Unread(self.names[rows])


@pytest.mark.parametrize(
    "hold",
    [
        np.asarray,
        np.ndarray.tolist,
        pd.DataFrame,
        pl.DataFrame,
        torch.from_numpy,
        lambda a: torch.from_numpy(a.copy()).requires_grad_(),
        lambda a: a.astype(object),
    ],
    ids=["numpy", "list", "pandas", "polars", "torch", "torch with gradient", "objects"],
)
def test_whatever_a_user_holds_is_taken(hold):
    said = Predictions(hold(PROBS), hold(FEATURES), hidden=hold(FEATURES))
    for part, expected in ((said.probs, PROBS), (said.features, FEATURES), (said.hidden, FEATURES)):
        assert isinstance(part, np.ndarray)
        np.testing.assert_array_equal(part, expected)
    np.testing.assert_array_equal(said.hard, [0, 1, 2, 1])


@pytest.mark.parametrize("hold", [np.array, pd.Series, pl.Series, torch.tensor, list])
def test_labels_and_ids_are_taken_in_any_container(hold):
    said = Predictions(PROBS, labels=hold([2, 0, 1, 1]), ids=hold([7, 8, 9, 10]))
    assert said.labels.dtype == np.int64
    assert said.labels.tolist() == [2, 0, 1, 1]
    assert said.ids.tolist() == [7, 8, 9, 10]


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.uint64, np.bool_])
def test_any_number_type_is_kept_and_computed_with_in_float32(dtype):
    one_hot = np.eye(3)[[2, 0, 1]].astype(dtype)
    said = Predictions(one_hot, one_hot)
    assert said.probs.dtype == said.features.dtype == dtype
    assert said.block(slice(0, 2)).dtype == np.float32
    np.testing.assert_array_equal(said.block(slice(0, 2)), [[0, 0, 1], [1, 0, 0]])


def test_bfloat16_has_no_numpy_type_and_becomes_float32():
    said = Predictions(torch.tensor([[0.5, 0.5], [0.25, 0.75]], dtype=torch.bfloat16))
    assert said.probs.dtype == np.float32
    assert said.probs.tolist() == [[0.5, 0.5], [0.25, 0.75]]


def test_float16_rounding_passes_and_blocks_sum_to_one_exactly():
    probs = np.random.default_rng(0).dirichlet(np.ones(100), 500).astype(np.float16)
    assert np.abs(probs.astype(np.float64).sum(axis=1) - 1).max() > 1e-5
    sums = Predictions(probs).block(slice(None)).sum(axis=1, dtype=np.float64)
    np.testing.assert_allclose(sums, 1, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_arrays_are_not_copied(dtype):
    probs, features = PROBS.astype(dtype), FEATURES.astype(dtype)
    labels, ids = np.array([0, 1, 2, 1]), np.array(list("abcd"))
    said = Predictions(probs, {"a": features}, hidden=features, inputs=features, labels=labels, ids=ids)
    for given_, kept in (
        (probs, said.probs),
        (features, said.views["a"]),
        (features, said.hidden),
        (features, said.inputs),
        (labels, said.labels),
        (ids, said.ids),
    ):
        assert np.shares_memory(given_, kept)


def test_torch_tensors_and_data_frames_of_one_type_are_not_copied():
    tensor, frame = torch.from_numpy(PROBS.copy()), pd.DataFrame(FEATURES)
    said = Predictions(tensor, frame)
    assert np.shares_memory(said.probs, tensor.numpy())
    assert np.shares_memory(said.features, frame.to_numpy())


def test_memory_mapped_arrays_stay_mapped(tmp_path):
    np.save(tmp_path / "probs.npy", PROBS)
    mapped = np.load(tmp_path / "probs.npy", mmap_mode="r")
    said = Predictions(mapped, mapped)
    assert isinstance(said.probs, np.memmap)
    assert isinstance(said[1:3].features, np.memmap)
    np.testing.assert_array_equal(said.probs, PROBS)


def test_a_slice_shares_memory():
    said = Predictions(PROBS, FEATURES, hidden=FEATURES, inputs=FEATURES, labels=[0, 1, 2, 1], ids=list("abcd"))
    part = said[1:3]
    for name in ("probs", "features", "hidden", "inputs", "labels", "ids"):
        assert np.shares_memory(getattr(part, name), getattr(said, name)), name
        np.testing.assert_array_equal(getattr(part, name), getattr(said, name)[1:3])


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_rows_are_picked_as_numpy_picks_them(data):
    n = data.draw(st.integers(1, 12))
    rows = data.draw(
        st.one_of(
            st.slices(n),
            hnp.arrays(np.int64, st.integers(1, 20), elements=st.integers(-n, n - 1)),
            hnp.arrays(np.bool_, n),
            st.lists(st.integers(0, n - 1), min_size=1),
        )
    )
    probs = np.random.default_rng(n).dirichlet(np.ones(3), n)
    everything = {
        "hidden": np.arange(2 * n).reshape(n, 2),
        "inputs": np.arange(4 * n).reshape(n, 2, 2),
        "labels": np.arange(n) % 3,
        "ids": np.arange(n) + 100,
    }
    said = Predictions(probs, {"a": probs[:, :1], "b": probs}, **everything, class_names="xyz", out_of_sample=True)
    part = said[rows]
    assert len(part) == len(probs[rows])
    np.testing.assert_array_equal(part.probs, probs[rows])
    np.testing.assert_array_equal(part.hard, probs.argmax(axis=1)[rows])
    np.testing.assert_array_equal(part.views["a"], probs[rows][:, :1])
    for name, whole in everything.items():
        np.testing.assert_array_equal(getattr(part, name), whole[rows])
    assert part.class_names == ("x", "y", "z")
    assert part.out_of_sample


def test_rows_are_not_picked_by_anything_else():
    said = Predictions(PROBS)
    for rows in (0, "probs", [0.5, 1.0], np.zeros((2, 2), dtype=int)):
        with pytest.raises(TypeError, match="by a slice, a one-dimensional index array or a mask"):
            said[rows]
    with pytest.raises(TypeError, match="cannot be looped over; slice it"):
        list(said)


def test_absent_parts_stay_absent():
    said = Predictions(PROBS)
    assert said.features is None
    assert said.views == {}
    for name in ("hidden", "inputs", "labels", "ids", "class_names"):
        assert getattr(said, name) is None
        assert getattr(said[:2], name) is None
    assert not said.out_of_sample


def test_features_are_given_back_as_they_came():
    one = Predictions(PROBS, FEATURES)
    assert one.features is FEATURES
    assert list(one.views) == ["features"]
    several = Predictions(PROBS, {"pixels": FEATURES, "text": PROBS})
    assert list(several.features) == ["pixels", "text"]
    assert several.features["text"] is PROBS
    assert list(Predictions(PROBS, {"pixels": FEATURES}).features) == ["pixels"]


@pytest.mark.parametrize("hold", [list, np.array, pd.Series, pl.Series, pd.Categorical, lambda v: np.array(v, object)])
def test_labels_may_be_class_names(hold):
    said = Predictions(PROBS, labels=hold(["dog", "cat", "eel", "dog"]), class_names=["cat", "dog", "eel"])
    assert said.labels.tolist() == [1, 0, 2, 1]
    assert said.labels.dtype == np.int64
    assert said.class_names == ("cat", "dog", "eel")


def test_labels_may_be_whole_floats_booleans_or_one_column():
    assert Predictions(PROBS, labels=[0.0, 2.0, 1.0, 1.0]).labels.tolist() == [0, 2, 1, 1]
    assert Predictions(PROBS[:, :2] * 0 + 0.5, labels=[True, False, True, True]).labels.tolist() == [1, 0, 1, 1]
    assert Predictions(PROBS, labels=[[0], [2], [1], [1]]).labels.tolist() == [0, 2, 1, 1]


@settings(max_examples=50, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64, np.int16]),
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=8),
        elements=st.integers(-300, 300),
    )
)
def test_logits_go_through_a_softmax(logits):
    said = Predictions(logits, input="logits")
    assert said.probs.dtype == np.float32
    np.testing.assert_allclose(said.probs, scipy.special.softmax(logits.astype(np.float64), axis=1), atol=1e-6)


def test_huge_logits_do_not_overflow():
    probs = Predictions([[1e30, -1e30, 0.0], [1000.0, 1001.0, 0.0]], input="logits").probs
    np.testing.assert_allclose(probs, [[1, 0, 0], [0.26894143, 0.7310586, 0]], atol=1e-6)


def test_replace_changes_what_is_named_and_checks_it():
    said = Predictions(PROBS, {"a": FEATURES}, hidden=FEATURES, labels=[0, 1, 2, 1], class_names="xyz")
    other = said.replace(labels=["z", "z", "y", "x"], out_of_sample=True)
    assert other.labels.tolist() == [2, 2, 1, 0]
    assert other.out_of_sample
    assert other.probs is said.probs
    assert other.views["a"] is FEATURES
    assert other.hidden is FEATURES
    assert said.labels.tolist() == [0, 1, 2, 1]
    assert said.replace(features=None).features is None
    with pytest.raises(ValueError, match="labels has 2 rows, but probs has 4"):
        said.replace(labels=[0, 1])


def test_its_repr_says_what_is_there():
    full = Predictions(
        PROBS, {"a": FEATURES}, hidden=PROBS, inputs=PROBS, labels=[0] * 4, ids=range(4), out_of_sample=True
    )
    assert repr(full) == ("Predictions(n=4, classes=3, features['a']=2, hidden=3, inputs, labels, ids, out_of_sample)")
    assert repr(Predictions(PROBS, FEATURES)) == "Predictions(n=4, classes=3, features=2)"


def test_lazily_read_inputs_stay_unread():
    said = Predictions(PROBS, inputs=Unread(["a", "b", "c", "d"]))
    assert said[1:3].inputs.names.tolist() == ["b", "c"]
    assert said[said.hard == 1].inputs.names.tolist() == ["b", "d"]
    assert said.replace(labels=[0, 1, 2, 0]).inputs is said.inputs
    assert "inputs" in repr(said)


def with_value(array, row, column, value):
    array = np.array(array, dtype=np.float64)
    array[row, column] = value
    return array


BAD_PROBS = {
    "NaN": (with_value(PROBS, 2, 1, np.nan), r"probs has a NaN or infinite value \(row 2, column 1\); impute"),
    "infinity": (with_value(PROBS, 3, 0, np.inf), r"probs has a NaN or infinite value \(row 3, column 0\)"),
    "too large for float32": (with_value(PROBS, 0, 2, 1e300), r"probs has a NaN or infinite value \(row 0, column 2\)"),
    "sums": (with_value(PROBS, 1, 0, 3.4), r"rows that do not sum to 1 \(row 1 sums to 4\.2\); pass logits through"),
    "low sums": (PROBS * 0.99, r"rows that do not sum to 1 \(row 0 sums to 0\.99\)"),
    "logits": ([[2.0, -1.5], [0.1, 0.2]], r'negative values \(row 0 has -1\.5\); .* use input="logits"'),
    "logits that sum to 1": ([[0.5, 0.5], [3.0, -2.0]], r"negative values \(row 1 has -2\)"),
    "one column": (np.ones((4, 1)), "probs has one class only; a column for each of at least two classes is needed"),
    "one-dimensional": ([0.2, 0.8], r"n×c array, but has shape \(2,\); for two classes pass np\.column_stack"),
    "three-dimensional": (np.ones((2, 2, 2)) / 2, r"must have two dimensions, .* shape \(2, 2, 2\); reshape it"),
    "no rows": (np.empty((0, 3)), r"probs is empty \(shape \(0, 3\)\); pass at least one instance"),
    "nothing": ([], "probs is empty"),
    "strings": ([["a", "b"]], "probs must hold real numbers, not <U1; convert it first"),
    "objects": (np.array([["a", 1]], dtype=object), "probs holds values that are not numbers .*; encode them first"),
    "complex": (PROBS * 1j, "probs must hold real numbers, not complex"),
    "sparse": (scipy.sparse.csr_matrix(PROBS), "probs is a sparse matrix; reduce it to a dense one"),
}


@pytest.mark.parametrize(("probs", "message"), BAD_PROBS.values(), ids=BAD_PROBS)
def test_bad_probs_are_refused(probs, message):
    with pytest.raises(ValueError, match=message) as refused:
        Predictions(probs)
    assert one_sentence(refused)


def test_the_row_is_named_in_arrays_of_many_blocks(monkeypatch):
    monkeypatch.setattr("truelabel.arrays.blocks.__defaults__", (20,))
    probs = np.tile([0.25, 0.75], (100, 1))
    probs[77] = 0.75
    with pytest.raises(ValueError, match=r"row 77 sums to 1\.5"):
        Predictions(probs)
    features = np.zeros((100, 3))
    features[93, 2] = np.nan
    with pytest.raises(ValueError, match=r"features has a NaN or infinite value \(row 93, column 2\)"):
        Predictions(np.full((100, 2), 0.5), features)


BAD_FEATURES = {
    "NaN": (with_value(FEATURES, 1, 1, np.nan), r"features has a NaN or infinite value \(row 1, column 1\)"),
    "infinity": (with_value(FEATURES, 3, 0, -np.inf), r"features has a NaN or infinite value \(row 3, column 0\)"),
    "sparse": (scipy.sparse.csr_array(FEATURES), r"features is a sparse matrix; .*TruncatedSVD"),
    "strings": ([["a"], ["b"], ["c"], ["d"]], "features must hold real numbers, not <U1"),
    "a frame with strings": (pd.DataFrame({"x": [1, 2, 3, 4], "y": list("abcd")}), "features holds values .* encode"),
    "dates": (np.zeros((4, 1), dtype="datetime64[s]"), "features must hold real numbers, not datetime64"),
    "one-dimensional": (np.arange(4), r"features must have two dimensions.*shape \(4,\); reshape it first"),
    "no columns": (np.empty((4, 0)), "features has no columns; pass at least one"),
    "empty mapping": ({}, "features is an empty mapping; pass at least one named view"),
    "nameless view": ({"": FEATURES}, "features has a view named ''; name every view with a non-empty string"),
    "numbered view": ({3: FEATURES}, "features has a view named 3; name every view"),
    "view named as a part": ({"hidden": FEATURES}, "view named 'hidden', as another part is; give the view another"),
    "a bad view": ({"a": FEATURES, "b": FEATURES[:, 0]}, r"features\['b'\] must have two dimensions"),
}


@pytest.mark.parametrize(("features", "message"), BAD_FEATURES.values(), ids=BAD_FEATURES)
def test_bad_features_are_refused(features, message):
    with pytest.raises(ValueError, match=message) as refused:
        Predictions(PROBS, features)
    assert one_sentence(refused)


def test_a_bad_hidden_layer_is_refused():
    with pytest.raises(ValueError, match=r"hidden has a NaN or infinite value \(row 0, column 0\)"):
        Predictions(PROBS, hidden=with_value(FEATURES, 0, 0, np.nan))
    with pytest.raises(ValueError, match="hidden must have two dimensions"):
        Predictions(PROBS, hidden=np.zeros((4, 2, 2)))


@pytest.mark.parametrize(
    ("part", "title"),
    [
        ({"features": FEATURES[:3]}, "features"),
        ({"features": {"a": FEATURES, "b": FEATURES[:3]}}, r"features\['b'\]"),
        ({"hidden": FEATURES[:3]}, "hidden"),
        ({"inputs": FEATURES[:3]}, "inputs"),
        ({"inputs": Unread(["a", "b", "c"])}, "inputs"),
        ({"labels": [0, 1, 2]}, "labels"),
        ({"ids": ["a", "b", "c"]}, "ids"),
    ],
)
def test_parts_of_another_length_are_refused(part, title):
    with pytest.raises(ValueError, match=f"^{title} has 3 rows, but probs has 4; pass one row an instance"):
        Predictions(PROBS, **part)


BAD_LABELS = {
    "above": ([0, 1, 3, 2], r"labels has 3 in row 2, but probs has 3 columns \(classes 0 to 2\); use the index"),
    "below": ([0, -1, 3, 2], "labels has -1 in row 1, but probs has 3 columns"),
    "not whole": ([0, 1.5, 1, 2], r"labels has 1\.5 in row 1; use whole class indices"),
    "NaN": ([0, 1, np.nan, 2], "labels has nan in row 2; use whole class indices"),
    "infinity": ([0, 1, 2, np.inf], "labels has inf in row 3; use whole class indices"),
    "one-hot": (np.eye(3)[[0, 1, 2, 0]], r"has shape \(4, 3\); take the argmax of one-hot rows"),
    "names without class_names": (list("abca"), r"labels holds names \(row 0 is .*'a'.*\); pass class_names"),
    "dates": (np.zeros(4, "datetime64[s]"), "labels must be class indices or class names, not datetime64"),
    "none at all": (np.array([], dtype=object), "labels has 0 rows, but probs has 4"),
}


@pytest.mark.parametrize(("labels", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message) as refused:
        Predictions(PROBS, labels=labels)
    assert one_sentence(refused)


def test_names_that_are_no_class_are_refused():
    with pytest.raises(ValueError, match=r"labels has .*'eel'.* in row 2, which is not in class_names; add it or fix"):
        Predictions(PROBS, labels=["cat", "dog", "eel", "cat"], class_names=["cat", "dog", "fish"])


def test_class_names_are_one_for_each_class_and_different():
    with pytest.raises(ValueError, match="class_names has 2 names, but probs has 3 columns; name each class once"):
        Predictions(PROBS, class_names=["cat", "dog"])
    with pytest.raises(ValueError, match="class_names names a class twice; give each class a name of its own"):
        Predictions(PROBS, class_names=["cat", "dog", "cat"])


def test_what_probs_holds_is_one_of_two():
    with pytest.raises(ValueError, match='input must be "probs" or "logits", not \'log-probs\''):
        Predictions(PROBS, input="log-probs")


def one_sentence(refused):
    """Whether an error is one line that ends in a full stop."""
    message = str(refused.value)
    return message.endswith(".") and "\n" not in message
