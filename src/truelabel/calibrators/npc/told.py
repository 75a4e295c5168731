"""What `NPC.fit` is told beside the predictions: a validation set, and labels that somebody looked at."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from truelabel.arrays import Array, Ints, as_numbers, float32
from truelabel.predictions import Predictions


def takes(function: Callable[..., object], name: str) -> bool:
    """Return whether a function has a parameter of this name, or takes any."""
    parameters = inspect.signature(function).parameters.values()
    return any(one.name == name or one.kind is one.VAR_KEYWORD for one in parameters)


def trusted_classes(trusted: Any, n: int, c: int) -> Ints:
    """Check trusted labels and return them as class indices, −1 where there is none."""
    known = as_numbers(trusted, "trusted")
    if known.shape != (n,):
        raise ValueError(f"trusted has shape {known.shape}, but there are {n} instances; pass a class or −1 for each.")
    whole = known.astype(np.int64)
    if not np.array_equal(whole, known) or whole.min(initial=0) < -1 or whole.max(initial=0) >= c:
        raise ValueError(f"trusted must hold classes from 0 to {c - 1}, or −1 where none is known.")
    return whole


def join(seen: Predictions, unseen: Predictions) -> Predictions:
    """Put training and validation set together; what only one of them has is left out."""
    if not isinstance(unseen, Predictions):
        raise TypeError(f"validation is a truelabel.Predictions, not {type(unseen).__name__}; wrap the arrays first.")
    if seen.labels is None or unseen.labels is None:
        raise ValueError("a validation set judges the classifier by noisy labels; pass labels in both Predictions.")
    if seen.n_classes != unseen.n_classes:
        raise ValueError(f"validation has {unseen.n_classes} classes, but the training set has {seen.n_classes}.")
    if seen.class_names and unseen.class_names and seen.class_names != unseen.class_names:
        raise ValueError("validation names other classes, or the same in another order; number the classes alike.")
    widths = [{name: view.shape[1] for name, view in part.views.items()} for part in (seen, unseen)]
    if widths[0] != widths[1]:
        raise ValueError(f"validation has the views {widths[1]}, but the training set has {widths[0]}.")
    if seen.hidden is not None and unseen.hidden is not None and seen.hidden.shape[1] != unseen.hidden.shape[1]:
        raise ValueError(
            f"hidden has {unseen.hidden.shape[1]} columns in validation and {seen.hidden.shape[1]} in the training "
            "set; take the same layer."
        )

    def both(one: Array | None, other: Array | None) -> Array | None:
        return None if one is None or other is None else np.concatenate([one, other])

    return Predictions(
        np.concatenate([seen.probs, unseen.probs]),
        {name: np.concatenate([float32(view), float32(unseen.views[name])]) for name, view in seen.views.items()},
        hidden=both(seen.hidden, unseen.hidden),
        inputs=both(seen.inputs, unseen.inputs),
        labels=both(seen.labels, unseen.labels),
        class_names=seen.class_names,
        out_of_sample=seen.out_of_sample,
    )


def withhold(predictions: Predictions, rows: Array) -> Predictions:
    """Return predictions that say nothing of these rows."""
    probs = np.array(predictions.probs, dtype=np.float32)
    probs[rows] = 1 / predictions.n_classes
    return predictions.replace(probs=probs)
