"""Columns matched by their names: whoever learned from some columns gets the same ones in the same order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Ints

if TYPE_CHECKING:
    from truelabel.predictions import Predictions

Names = tuple[str, ...]


@dataclass(frozen=True)
class Columns:
    """The classes and, view by view, the feature columns that something was fitted on, where they have names."""

    classes: Names | None = None
    features: Mapping[str, Names] | None = None

    @classmethod
    def of(cls, predictions: Predictions) -> Columns:
        """Take the names from predictions."""
        return cls(predictions.class_names, dict(predictions.feature_names))

    def places(self, predictions: Predictions) -> Ints | None:
        """Return for each class of `predictions` its number here; None where the two are in the same order."""
        if self.classes is None or predictions.class_names is None or self.classes == predictions.class_names:
            return None
        return _places(predictions.class_names, self.classes, "class")

    def arrange(self, predictions: Predictions) -> Predictions:
        """Return the predictions with classes and feature columns in this order; those without names stay."""
        places = self.places(predictions)
        views = dict(predictions.views)
        names = dict(predictions.feature_names)
        for view, wanted in (self.features or {}).items():
            given = names.get(view)
            if given is not None and given != wanted:
                order = np.argsort(_places(given, wanted, f"column of {view}"))
                views[view], names[view] = views[view][:, order], wanted
        if places is None:
            return predictions if names == predictions.feature_names else _with(predictions, views, names)
        labels = None if predictions.labels is None else places[predictions.labels]
        order = np.argsort(places)
        return _with(
            predictions, views, names, probs=predictions.probs[:, order], labels=labels, class_names=self.classes
        )


def names_of(value: Any) -> Names | None:
    """Return the names of a data frame's columns (pandas, polars), if each is a text of its own."""
    columns = getattr(value, "columns", None)
    if columns is None:
        return None
    names = tuple(columns)
    return names if all(isinstance(name, str) for name in names) and len(set(names)) == len(names) else None


def in_order(value: Any, wanted: Sequence[str] | None) -> Any:
    """Return a data frame's columns in the order of `wanted`, if those are its names."""
    names = names_of(value)
    if wanted is None or names is None or names == tuple(wanted) or set(names) != set(wanted):
        return value
    return value[list(wanted)]


def _places(given: Names, wanted: Names, what: str) -> Ints:
    number = {name: place for place, name in enumerate(wanted)}
    unknown = [name for name in given if name not in number]
    missing = [name for name in wanted if name not in set(given)]
    if unknown or missing:
        fault = f"there is no {what} {missing[0]!r}" if missing else f"there is a {what} {unknown[0]!r} too much"
        raise ValueError(
            f"{fault}: the names are {_some(given)}, but the calibrator was fitted on {_some(wanted)}; name them "
            "alike, or pass arrays without names if only the names differ."
        )
    return np.array([number[name] for name in given], dtype=np.int64)


def _some(names: Names) -> str:
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "")


def _with(predictions: Predictions, views: dict[str, Any], names: dict[str, Names], **parts: Any) -> Predictions:
    return predictions._with(views=views, feature_names=names, **parts)
