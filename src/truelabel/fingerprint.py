"""What predictions look like, in few numbers: to notice that others come from other features or another classifier."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truelabel.arrays import Array, Ints, float32, row_blocks
from truelabel.predictions import Predictions

SAMPLE = 4_096  # rows that distributions are taken of
FEWEST = 50  # rows below which chance decides, and nothing is compared
COLUMNS = 256  # of a view, evenly spaced
QUANTILES = (5, 25, 50, 75, 95)
FAR = 0.25  # usual ranges that quantiles may move on average; test sets move by less than 0.1
DIRECTIONS = 16  # in which the classes' means are compared
NUMBERS = 8_192  # of classes' means that are kept; with more classes in fewer directions
RELATED = 0.5  # share of what the predictions tell of the features that must be left
CLASS = 30  # instances of a class from which on it is compared by itself
KNOWN = 128  # instances whose predictions are kept, to be recognised
RECOGNISED, SAME, OTHER = 20, 0.02, 0.05  # so many; probabilities that differ by less; share that may differ by more
FEWEST_MET = 3  # instances of the fit that must be met before others are taken for its instances
CONFIDENCE = 0.1  # by which the classifier's confidence may move on average
ASKED = 65_536  # rows among which known instances are sought


@dataclass(frozen=True)
class Shift:
    """How predictions differ from those that a calibrator was fitted on.

    Attributes
    ----------
    findings : tuple of str
        What differs by more than chance and habit, in a sentence each; empty where all is as it was.
    measures : dict
        How much: for each view ``moved:NAME``, the distance of its quantiles in usual ranges, and ``related:NAME``, how
        much of what the predicted classes told of it they still tell (1: all, 0: nothing); ``confidence``, how far the
        classifier's confidence moved; ``differs``, the share of the known instances that it answers otherwise.
    """

    findings: tuple[str, ...] = ()
    measures: dict[str, float] | None = None

    def __str__(self) -> str:
        return "; ".join(self.findings) or "nothing differs"


@dataclass(frozen=True)
class View:
    """The distribution of a view's columns, and of the whole in each predicted class."""

    width: int
    quantiles: Array
    means: Array

    @property
    def columns(self) -> Ints:
        """Which columns the quantiles are of."""
        return _spread_out(self.width, COLUMNS)

    @property
    def usual(self) -> Array:
        """The range that nine in ten values of each column lie in; where that is 0, the other columns' median."""
        ranges = self.quantiles[-1] - self.quantiles[0]
        positive = ranges[ranges > 0]
        return np.asarray(np.where(ranges > 0, ranges, np.median(positive) if len(positive) else 1.0))


class Fingerprint:
    """What predictions look like.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    views : dict of names to View
        What the views (and "hidden") look like.
    confidence : array or None
        Quantiles of the classifier's confidence in what it had not seen, if that is known.
    known : dict of int to (int, float)
        By a hash of their features, the predicted class of some instances, and its probability.
    learned, instances : int, default 0
        How many of these, the first ones, are instances that were fitted on, and of how many they are a sample.
    """

    def __init__(
        self,
        n_classes: int,
        views: dict[str, View],
        confidence: Array | None,
        known: dict[int, tuple[int, float]],
        learned: int = 0,
        instances: int = 0,
    ) -> None:
        self.n_classes, self.views, self.confidence, self.known = n_classes, views, confidence, known
        self.learned, self.instances = learned, instances

    @classmethod
    def of(cls, predictions: Predictions, unseen: Predictions | None = None) -> Fingerprint:
        """Take the fingerprint of a training set, and of what the classifier said of instances it had not seen."""
        judged = predictions if unseen is None else unseen
        arrays, others = _views(predictions), _views(judged)
        views = {}
        for name, array in arrays.items():
            rows = _spread_out(len(array), SAMPLE)
            quantiles = np.percentile(_columns(array, rows), QUANTILES, axis=0)
            view = View(array.shape[1], quantiles, np.zeros((0, 0)))
            seen, by = (others[name], judged) if name in others else (array, predictions)
            views[name] = View(view.width, quantiles, _means(view, seen, by)[0])
        known = dict(_known(predictions))
        learned = len(known)
        known |= {} if unseen is None else dict(_known(unseen))
        confidence = None
        if unseen is not None or predictions.out_of_sample:
            confidence = np.percentile(_confidence(judged), QUANTILES)
        return cls(predictions.n_classes, views, confidence, known, learned, len(predictions))

    def share_learned(self, predictions: Predictions) -> float:
        """Return about what share of these instances was fitted on; 0 where too few are known to tell."""
        known = dict(list(self.known.items())[: self.learned])
        met = len(_met(predictions, known))
        return min(1.0, met / len(known) * self.instances / len(predictions)) if met >= FEWEST_MET else 0.0

    def compare(self, predictions: Predictions, class_names: Iterable[str] | None = None) -> Shift:
        """Say how other predictions, with columns in the same order, differ."""
        if len(predictions) < FEWEST:
            return Shift((), {})
        findings: list[str] = []
        measures: dict[str, float] = {}
        names = list(class_names or map(str, range(self.n_classes)))
        chance = 1 / math.sqrt(min(len(predictions), SAMPLE))
        for name, array in _views(predictions).items():
            view = self.views.get(name)
            if view is not None and view.width == array.shape[1]:
                self._compare_view(name, view, array, predictions, names, chance, findings, measures)
        if self.confidence is not None:
            now = np.percentile(_confidence(predictions), QUANTILES)
            measures["confidence"] = float(np.abs(now - self.confidence).mean())
            if measures["confidence"] > CONFIDENCE + chance:
                findings.append(
                    f"the classifier's confidence moved from {self.confidence[2]:.2f} to {now[2]:.2f} (medians)"
                )
        self._compare_known(predictions, findings, measures)
        return Shift(tuple(findings), measures)

    def _compare_view(
        self,
        name: str,
        view: View,
        array: Array,
        predictions: Predictions,
        names: list[str],
        chance: float,
        findings: list[str],
        measures: dict[str, float],
    ) -> None:
        now = np.percentile(_columns(array, _spread_out(len(array), SAMPLE)), QUANTILES, axis=0)
        moved = float(np.mean(np.abs(now - view.quantiles) / view.usual))
        measures[f"moved:{name}"] = moved
        if moved > FAR + chance:
            findings.append(f"the columns of {name} moved by {moved:.3g} of their usual range on average")
        means, held = _means(view, array, predictions)
        related, error = _related(view.means, means, held, view, array, predictions)
        if related is None:
            return
        measures[f"related:{name}"] = related
        if related + 3 * error < RELATED:
            findings.append(f"the predicted classes tell {max(related, 0):.0%} of what they told of {name}")
        for k, j in _taken(view.means, means, held):
            findings.append(f"class {names[k]} lies where class {names[j]} lay in {name}")

    def _compare_known(self, predictions: Predictions, findings: list[str], measures: dict[str, float]) -> None:
        met = _met(predictions, self.known)
        if len(met) < RECOGNISED:
            return
        rows, before = (np.array(part) for part in zip(*met, strict=True))
        probs = predictions.block(rows)
        answers = probs[np.arange(len(rows)), before[:, 0].astype(np.int64)]
        measures["differs"] = float(np.mean(np.abs(answers - before[:, 1]) > SAME))
        if measures["differs"] > OTHER:
            findings.append(
                f"the classifier answers otherwise for {measures['differs']:.0%} of {len(rows)} instances that it was "
                "asked about before"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        views = {
            name: {"width": view.width, "quantiles": _short(view.quantiles), "means": _short(view.means)}
            for name, view in self.views.items()
        }
        confidence = None if self.confidence is None else _short(self.confidence)
        known = [[str(key), k, round(p, 4)] for key, (k, p) in self.known.items()]
        return {
            "n_classes": self.n_classes,
            "views": views,
            "confidence": confidence,
            "known": known,
            "learned": self.learned,
            "instances": self.instances,
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Fingerprint:
        """Read what `to_dict` gave."""
        c = int(stored["n_classes"])
        views = {}
        for name, part in stored["views"].items():
            view = View(int(part["width"]), _floats(part["quantiles"]), _floats(part["means"]))
            if view.quantiles.shape != (len(QUANTILES), len(view.columns)) or view.means.shape != (
                c,
                _directions(view, c).shape[1],
            ):
                raise ValueError(f"the fingerprint of {name} is not whole")
            views[str(name)] = view
        confidence = None if stored["confidence"] is None else _floats(stored["confidence"])
        if confidence is not None and confidence.shape != (len(QUANTILES),):
            raise ValueError("the fingerprint of the confidence is not whole")
        known = {int(key): (int(k), float(p)) for key, k, p in stored["known"]}
        if any(not 0 <= k < c for k, _ in known.values()):
            raise ValueError("the fingerprint names a class that there is not")
        return cls(c, views, confidence, known, *(int(stored.get(name, 0)) for name in ("learned", "instances")))


def _views(predictions: Predictions) -> dict[str, Array]:
    hidden = {} if predictions.hidden is None else {"hidden": predictions.hidden}
    return {**predictions.views, **hidden}


def _spread_out(n: int, most: int) -> Ints:
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def _columns(array: Array, rows: Ints) -> Array:
    return float32(array, rows)[:, _spread_out(array.shape[1], COLUMNS)].astype(np.float64)


def _confidence(predictions: Predictions) -> Array:
    return np.asarray(predictions.block(_spread_out(len(predictions), SAMPLE)).max(axis=1))


def _directions(view: View, c: int) -> Array:
    """Return fixed directions, in which classes' means are compared: columns themselves where there are few."""
    d, most = len(view.columns), max(2, min(DIRECTIONS, NUMBERS // c))
    if d <= most:
        return np.eye(d)
    return np.random.default_rng(0).normal(size=(d, most)) / math.sqrt(d)


def _means(view: View, array: Array, predictions: Predictions, rows: Ints | None = None) -> tuple[Array, Array]:
    """Return the mean of each predicted class in the fixed directions, less that of all, and how much it holds."""
    rows = _spread_out(len(array), SAMPLE) if rows is None else rows
    scaled = np.clip((_columns(array, rows) - view.quantiles[2]) / view.usual, -3, 3)
    projected = scaled @ _directions(view, predictions.n_classes)
    probs = predictions.block(rows).astype(np.float64)
    held = probs.sum(axis=0)
    means = (probs.T @ projected) / np.maximum(held, 1e-12)[:, None]
    return means - held @ means / held.sum(), held


def _related(
    before: Array, now: Array, held: Array, view: View, array: Array, predictions: Predictions
) -> tuple[float | None, float]:
    """Return the slope of the classes' means on those before, and its standard error, from five parts of the rows."""
    if (held >= CLASS).sum() < 2:  # one class alone says nothing of how classes differ
        return None, 0.0
    strength = float(held @ np.square(before - held @ before / held.sum()).sum(axis=1))
    if strength / held.sum() < 1e-3:  # the predictions told nothing of this view
        return None, 0.0
    rows = _spread_out(len(array), SAMPLE)
    slopes = []
    for part in range(5):
        means, inside = _means(view, array, predictions, rows[part::5])
        slopes.append(
            float(inside @ (before * means).sum(axis=1)) / max(float(inside @ np.square(before).sum(1)), 1e-9)
        )
    return float(held @ (before * now).sum(axis=1)) / strength, float(np.std(slopes, ddof=1) / math.sqrt(5))


def _taken(before: Array, now: Array, held: Array) -> list[tuple[int, int]]:
    """Return the classes whose mean is where another's was, and which that is."""
    distances = np.square(now[:, None] - before[None]).sum(axis=2)
    nearest = distances.argmin(axis=1)
    own = np.diagonal(distances)
    apart = np.square(before[nearest] - before).sum(axis=1)  # must be far more than chance moves a mean
    chance = now.shape[1] / np.maximum(held, 1)
    there = (nearest != np.arange(len(now))) & (distances.min(axis=1) < 0.1 * own) & (held >= CLASS)
    return [(int(k), int(nearest[k])) for k in np.flatnonzero(there & (apart > chance))]


def _hashes(predictions: Predictions, rows: Array | slice) -> NDArray[np.uint64] | None:
    """Return a number for each instance by its features, the same for the same numbers in float32."""
    if not predictions.views:
        return None
    total = np.zeros(len(np.arange(len(predictions))[rows]), dtype=np.uint64)
    for name in sorted(predictions.views):
        bits = (float32(predictions.views[name], rows) + np.float32(0)).view(np.uint32).astype(np.uint64)
        factors = np.random.default_rng(len(name)).integers(1, 2**63, size=bits.shape[1], dtype=np.uint64)
        total += (bits * (2 * factors + np.uint64(1))).sum(axis=1, dtype=np.uint64)
    return total


def _known(predictions: Predictions) -> list[tuple[int, tuple[int, float]]]:
    rows = _spread_out(len(predictions), KNOWN)
    keys = _hashes(predictions, rows)
    if keys is None:
        return []
    probs = predictions.block(rows)
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    alone = first[times == 1]  # of two with the same features nobody knows which one is asked about
    return [(int(keys[row]), (int(probs[row].argmax()), float(probs[row].max()))) for row in alone]


def _met(predictions: Predictions, known: dict[int, tuple[int, float]]) -> list[tuple[int, tuple[int, float]]]:
    """Return the rows of known instances, and what was said of them before."""
    found: list[tuple[int, tuple[int, float]]] = []
    asked: list[int] = []
    wanted = np.array(sorted(known), dtype=np.uint64)
    for rows in row_blocks(min(len(predictions), ASKED), 8_192):
        keys = _hashes(predictions, rows)
        if keys is None or not len(wanted):
            return []
        hits = np.flatnonzero(np.isin(keys, wanted))
        found += [(rows.start + int(hit), known[int(keys[hit])]) for hit in hits]
        asked += [int(keys[hit]) for hit in hits]
    often = Counter(asked)
    return [what for what, key in zip(found, asked, strict=True) if often[key] == 1]


def _short(values: Array) -> Any:
    """Return numbers with six digits, which is all that is compared."""
    return np.vectorize(lambda value: float(f"{value:.6g}"), otypes=[np.float64])(values).tolist()


def _floats(values: Any) -> Array:
    array = np.array(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("the fingerprint holds a number that is not finite")
    return array
