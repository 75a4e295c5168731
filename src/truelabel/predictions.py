"""What some classifier said about some instances: the one thing that flows through the whole system."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from truelabel import columns
from truelabel.arrays import Array, Floats, Ints, RowError, Rows, as_array, as_numbers, blocks, float32, matrix, pick
from truelabel.notices import warn_of_wild_values

PARTS = ("probs", "hidden", "inputs", "labels", "ids")
SUM_TOLERANCE = 2e-3  # float16 rounds every entry by up to 0.05 %


class Predictions:
    """What a classifier said about n instances, and what else is known of them.

    Arrays may come from NumPy (memory-mapped too), pandas, polars or torch, in any numeric dtype. They are
    checked once, here, and not copied; whoever computes with them turns the rows at hand into float32.

    Parameters
    ----------
    probs : (n, c) array
        p(ŷ | x): the classifier's probability of each class. Logits if ``input="logits"``.
    features : (n, d) array or mapping of names to such arrays, optional
        What is known of the instances *without* the noisy labels: the raw input reduced, an embedding of a
        pretrained encoder, the columns of a table. A mapping holds several views.
    hidden : (n, h) array, optional
        The classifier's own last hidden layer.
    inputs : array of length n, optional
        The raw inputs, for whatever runs a network on them. Read lazily, row by row.
    labels : (n,) array, optional
        The noisy labels: class indices, or class names where `class_names` is given.
    ids : (n,) array, optional
        A name for each instance.
    class_names : sequence of str, optional
        A name for each class. Those of the columns of a data frame by default; where they are the same in another
        order, its columns are put into this one.
    feature_names : sequence of str or mapping of views to such, optional
        A name for each column of `features`; likewise. Calibrators match named columns by name.
    out_of_sample : bool, default False
        Whether the classifier made these predictions on instances it had not trained on.
    input : {"probs", "logits"}, default "probs"
        What `probs` holds. Logits go through a softmax.

    Examples
    --------
    >>> import truelabel as tl
    >>> said = tl.Predictions(probs=[[0.9, 0.1], [0.4, 0.6]], features=[[0.0, 1.0], [1.0, 0.0]], labels=[0, 0])
    >>> said
    Predictions(n=2, classes=2, features=2, labels)
    >>> said.hard
    array([0, 1])
    """

    def __init__(
        self,
        probs: Any,
        features: Any = None,
        *,
        hidden: Any = None,
        inputs: Any = None,
        labels: Any = None,
        ids: Any = None,
        class_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        out_of_sample: bool = False,
        input: Literal["probs", "logits"] = "probs",
    ) -> None:
        class_names = columns.names_of(probs) if class_names is None else class_names
        probs = columns.in_order(probs, class_names)
        self.probs: Array = _probs(probs, input)
        n, c = self.probs.shape
        self.class_names: tuple[str, ...] | None = _class_names(class_names, c)
        features, names = _named_views(features, feature_names)
        self.views: dict[str, Array] = _views(features)
        self.feature_names: dict[str, columns.Names] = _feature_names(names, self.views)
        self.hidden: Array | None = None if hidden is None else matrix(hidden, "hidden")
        self.inputs: Any = inputs
        self.labels: Ints | None = None if labels is None else _labels(labels, c, self.class_names)
        self.ids: Array | None = None if ids is None else as_array(ids, "ids")
        self.out_of_sample = bool(out_of_sample)
        self._check_lengths(n)
        for name, view in (self.views | ({} if self.hidden is None else {"hidden": self.hidden})).items():
            warn_of_wild_values(view, name if name in ("features", "hidden") else _view_title(name))

    def _check_lengths(self, n: int) -> None:
        parts = {"hidden": self.hidden, "inputs": self.inputs, "labels": self.labels, "ids": self.ids}
        parts |= {_view_title(name): view for name, view in self.views.items()}
        for name, part in parts.items():
            if part is not None and len(part) != n:
                raise ValueError(
                    f"{name} has {len(part)} rows, but probs has {n}; pass one row an instance in every array."
                )

    @property
    def features(self) -> Array | dict[str, Array] | None:
        """The label-free features as they were given: one array, several named views, or None."""
        if not self.views:
            return None
        return self.views["features"] if set(self.views) == {"features"} else self.views

    @property
    def n_classes(self) -> int:
        """Number of classes c."""
        return int(self.probs.shape[1])

    @property
    def hard(self) -> Ints:
        """ŷ: the class the classifier gives each instance."""
        out = np.empty(len(self), dtype=np.int64)
        for rows in blocks(self.probs):
            out[rows] = np.argmax(self.probs[rows], axis=1)
        return out

    def block(self, rows: Rows) -> Floats:
        """Return rows of `probs` in float32, scaled to sum to 1 exactly."""
        part = float32(self.probs, rows)
        return np.asarray(part / part.sum(axis=1, keepdims=True), dtype=np.float32)

    def __len__(self) -> int:
        return len(self.probs)

    def __iter__(self) -> Iterator[Predictions]:
        raise TypeError("Predictions cannot be looped over; slice it, as in predictions[:100].")

    def __getitem__(self, rows: Rows) -> Predictions:
        """Return the rows that a slice, an index array or a mask picks; a slice shares memory."""
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            if rows.ndim != 1 or rows.dtype.kind not in "iub":
                raise TypeError("Pick rows of Predictions by a slice, a one-dimensional index array or a mask.")
        return self._with(
            probs=self.probs[rows],
            views={name: view[rows] for name, view in self.views.items()},
            **{
                name: None if getattr(self, name) is None else pick(getattr(self, name), rows)
                for name in ("hidden", "inputs", "labels", "ids")
            },
        )

    def _with(self, **parts: Any) -> Predictions:
        """Return a copy with some parts replaced by ones that need no checking."""
        other = object.__new__(Predictions)
        other.__dict__.update(self.__dict__, **parts)
        return other

    def replace(self, **parts: Any) -> Predictions:
        """Return Predictions with some parts replaced, checked anew.

        Examples
        --------
        >>> import truelabel as tl
        >>> said = tl.Predictions(probs=[[0.9, 0.1], [0.4, 0.6]])
        >>> said.replace(labels=[1, 1]).labels
        array([1, 1])
        """
        kept = {
            "probs": self.probs,
            "features": self.views or None,
            "hidden": self.hidden,
            "inputs": self.inputs,
            "labels": self.labels,
            "ids": self.ids,
            "class_names": self.class_names,
            "feature_names": None if "features" in parts else self.feature_names,
            "out_of_sample": self.out_of_sample,
        }
        return Predictions(**(kept | parts))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write everything but lazily read `inputs` to one Parquet file, a block of rows at a time."""
        from truelabel import parquet

        parquet.write(self, path)

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str], *, spool: str | os.PathLike[str] | None = None) -> Predictions:
        """Read what `to_parquet` wrote, or any Parquet file with the same column names.

        The columns are lists (`probs`, `features`, `features:NAME` for a named view, `hidden`) or plain numbers
        with a prefix (`probs_cat`, `probs_dog`; `features_0`, `features_1`, …), and `labels` and `ids`.

        Parameters
        ----------
        path : path
            The file.
        spool : path, optional
            A folder. The arrays are written there as `.npy` files and memory-mapped, so that a file larger than
            memory can be used.
        """
        from truelabel import parquet

        return parquet.read(path, spool=spool)

    def __repr__(self) -> str:
        parts = [f"n={len(self)}", f"classes={self.n_classes}"]
        for name, view in self.views.items():
            parts.append(f"{_view_title(name)}={view.shape[1]}")
        if self.hidden is not None:
            parts.append(f"hidden={self.hidden.shape[1]}")
        parts += [name for name in ("inputs", "labels", "ids") if getattr(self, name) is not None]
        parts += ["out_of_sample"] if self.out_of_sample else []
        return f"Predictions({', '.join(parts)})"


def _probs(value: Any, input: str) -> Array:
    if input not in ("probs", "logits"):
        raise ValueError(f'input must be "probs" or "logits", not {input!r}.')
    array = as_numbers(value, "probs")
    if array.size == 0:
        raise ValueError(f"probs is empty (shape {array.shape}); pass at least one instance.")
    if array.ndim == 1:
        raise ValueError(
            f"probs must be an n×c array, but has shape {array.shape}; for two classes pass "
            "np.column_stack([1 - p, p])."
        )
    array = matrix(array, "probs")
    if array.shape[1] < 2:
        raise ValueError("probs has one class only; a column for each of at least two classes is needed.")
    if input == "logits":
        return _softmax(array)
    below = False
    for rows in blocks(array):
        block = float32(array, rows)
        sums = block.sum(axis=1, dtype=np.float64)
        least = block.min(axis=1)
        below |= bool((least < 0).any())
        wrong = np.flatnonzero((np.abs(sums - 1) > SUM_TOLERANCE) | (least < -SUM_TOLERANCE))
        if len(wrong):
            row = wrong[0]
            low = block[row].min()
            fault = (
                f"has negative values (row {{row}} has {low:.4g})"
                if low < -SUM_TOLERANCE
                else f"has rows that do not sum to 1 (row {{row}} sums to {sums[row]:.4g})"
            )
            raise RowError(f'probs {fault}; pass logits through softmax first or use input="logits".', rows.start + row)
    return np.maximum(array, 0) if below else array  # 1 − p may round to −1e-9, of which there is no logarithm


def _softmax(logits: Array) -> Floats:
    out = np.empty(logits.shape, dtype=np.float32)
    for rows in blocks(logits):
        block = float32(logits, rows)
        block = np.exp(block - block.max(axis=1, keepdims=True))
        out[rows] = block / block.sum(axis=1, keepdims=True)
    return out


def _views(features: Any) -> dict[str, Array]:
    if features is None:
        return {}
    if not isinstance(features, Mapping):
        return {"features": matrix(features, "features")}
    if not features:
        raise ValueError("features is an empty mapping; pass at least one named view.")
    for name in features:
        if not isinstance(name, str) or not name:
            raise ValueError(f"features has a view named {name!r}; name every view with a non-empty string.")
        if name in PARTS:
            raise ValueError(f"features has a view named {name!r}, as another part is; give the view another name.")
    return {name: matrix(view, _view_title(name)) for name, view in features.items()}


def _named_views(features: Any, names: Any) -> tuple[Any, dict[str, columns.Names]]:
    """Return the views with the columns of data frames in the order of the names, and the names by view."""
    views = features if isinstance(features, Mapping) else {} if features is None else {"features": features}
    given = names if isinstance(names, Mapping) else {} if names is None else {"features": names}
    for view in given:
        if view not in views:
            raise ValueError(f"feature_names names the columns of {view!r}, but there is no such view.")
    found = {view: given[view] if view in given else columns.names_of(array) for view, array in views.items()}
    known = {view: tuple(map(str, titles)) for view, titles in found.items() if titles is not None}
    arranged = {view: columns.in_order(array, known.get(view)) for view, array in views.items()}
    return (arranged if isinstance(features, Mapping) else arranged.get("features")), known


def _feature_names(names: Mapping[str, columns.Names], views: Mapping[str, Array]) -> dict[str, columns.Names]:
    for view, titles in names.items():
        title, width = _view_title(view), views[view].shape[1]
        if len(titles) != width:
            raise ValueError(f"feature_names has {len(titles)} names, but {title} has {width} columns; name each once.")
        if len(set(titles)) != width:
            raise ValueError(f"feature_names names a column of {title} twice; give each a name of its own.")
    return dict(names)


def _view_title(name: str) -> str:
    return name if name == "features" else f"features[{name!r}]"


def _class_names(names: Sequence[str] | None, c: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    names = tuple(str(name) for name in names)
    if len(names) != c:
        raise ValueError(f"class_names has {len(names)} names, but probs has {c} columns; name each class once.")
    if len(set(names)) != c:
        raise ValueError("class_names names a class twice; give each class a name of its own.")
    return names


def _labels(value: Any, c: int, names: tuple[str, ...] | None) -> Ints:
    array = as_array(value, "labels")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"labels must be one class index an instance, but has shape {array.shape}; take the argmax of one-hot "
            "rows, or examine several labels an instance by truelabel.labels.MultiLabel."
        )
    if array.dtype.kind in "OUST":
        return _named_labels(array, names)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"labels must be class indices or class names, not {array.dtype}.")
    indices = array.astype(np.int64, copy=False) if array.dtype.kind != "f" else _whole(array)
    wrong = np.flatnonzero((indices < 0) | (indices >= c))
    if len(wrong):
        raise RowError(
            f"labels has {indices[wrong[0]]} in row {{row}}, but probs has {c} columns "
            f"(classes 0 to {c - 1}); use the index of a column of probs.",
            wrong[0],
        )
    return indices


def _whole(array: Array) -> Ints:
    wrong = np.flatnonzero(~(np.isfinite(array) & (array == np.floor(array))))
    if len(wrong):
        raise RowError(f"labels has {array[wrong[0]]} in row {{row}}; use whole class indices.", wrong[0])
    return array.astype(np.int64)


def _named_labels(array: Array, names: tuple[str, ...] | None) -> Ints:
    if names is None and len(array):
        raise ValueError(
            f"labels holds names (row 0 is {array[0]!r}); pass class_names in the order of the columns of probs."
        )
    index = {name: k for k, name in enumerate(names or ())}
    missing = [(row, name) for row, name in enumerate(array) if str(name) not in index]
    if missing:
        row, name = missing[0]
        shown = repr(name).replace("{row}", "{ row }")
        raise RowError(f"labels has {shown} in row {{row}}, which is not in class_names; add it or fix the label.", row)
    return np.array([index[str(name)] for name in array], dtype=np.int64)
