"""The rows of `benchmarks/elsewhere.py`: data, noises and classifiers that the scoreboard does not have.

Nothing of the default recipe was chosen on them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_wine,
    make_classification,
    make_gaussian_quantiles,
    make_moons,
)
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, train_test_split
from sklearn.tree import DecisionTreeClassifier

from scoreboard.cells import FOLDS, SMALL_BATCH, Case, Cell, UntilMemorised
from truelabel import Predictions, datasets, methods
from truelabel.datasets import Dataset

KEPT_RIGHT = 0.6  # least diagonal of the random T
SWAMPED = 0.4  # share of the labels of every class that become the first class
MOVED = 0.4  # ... that become the next one, or the other one of two
LABELS_A_CLASS, DEPTH = 10, 5  # what the weak labeller is fitted on, and how deep it goes
MOST_FLIPPED, REACH = 0.9, 0.2  # chance of a flip at the boundary, and how soon it falls off (in ranks of the margin)
EPOCHS = 120
LARGE = 2_000  # instances from which batches are of 128
SMALLEST_CLASS = 1 / 20


class OtherCell(Cell):
    """A row; all classifiers on one noise have the same features."""

    @property
    def weak(self) -> bool:
        return False


ROWS = (
    "cancer/random-T/mlp/memorised",
    "cancer/random-T/logistic/out-of-fold",
    "cancer/weak/boosting/in-sample",
    "cancer/weak/mlp/stopped",
    "cancer/clean/forest/out-of-fold",
    "wine/random-T/mlp/memorised",
    "wine/random-T/forest/out-of-fold",
    "wine/weak/logistic/out-of-fold",
    "wine/next/forest/in-sample",
    "wine/pairs/forest/in-sample",
    "digits-300/clean/mlp/memorised",
    "digits-300/swamped/mlp/memorised",
    "digits-300/swamped/mlp/stopped",
    "digits-300/boundary/forest/out-of-fold",
    "digits-300/boundary/boosting/in-sample",
    "digits-300/next/forest/in-sample",
    "digits-1200/next/forest/in-sample",
    "digits-1200/pairs/forest/in-sample",
    "moons/boundary/mlp/memorised",
    "moons/boundary/logistic/out-of-fold",
    "moons/swamped/boosting/in-sample",
    "moons/weak/mlp/stopped",
    "shells/random-T/mlp/memorised",
    "shells/random-T/boosting/in-sample",
    "shells/weak/forest/out-of-fold",
    "imbalanced/clean/mlp/stopped",
    "imbalanced/random-T/mlp/memorised",
    "imbalanced/random-T/logistic/out-of-fold",
    "imbalanced/swamped/mlp/memorised",
    "imbalanced/swamped/forest/out-of-fold",
    "hundred/random-T/mlp/memorised",
    "hundred/random-T/mlp/stopped",
)


def other_cells() -> list[OtherCell]:
    """Every row."""
    return [OtherCell(*row.split("/")) for row in ROWS]


def other_case(cell: OtherCell, seed: int) -> Case:
    """Load the data, corrupt the labels, train the classifier and let it speak."""
    data = load(cell.data, seed)
    labels = corrupted(cell.data, cell.noise, seed)
    train, test = said(cell, labels, seed)
    _, clean = said(cell, data.train.labels, seed)
    facts = {
        "noise_rate": float(np.mean(labels != data.train.labels)),
        "fitted": float(np.mean(train.hard == labels)),
    }
    return Case(cell, seed, train, test, data.test.labels, clean.probs, "columns", facts)


@lru_cache(maxsize=2)
def load(name: str, seed: int) -> Dataset:
    """Load a dataset, each column of its training set scaled to mean 0 and variance 1."""
    x, y, n = DATA[name](seed)
    x, x_test, y, y_test = train_test_split(x, y, train_size=n, stratify=y, random_state=seed)
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    deviation[deviation == 0] = 1
    x, x_test = (((part - mean) / deviation).astype(np.float32) for part in (x, x_test))
    return datasets.arrays(x, y, x_test, y_test, name=name)


Drawn = tuple[np.ndarray, np.ndarray, int]


def _hundred(seed: int) -> Drawn:
    x, y = make_classification(
        15_000,
        40,
        n_informative=30,
        n_redundant=0,
        n_classes=100,
        n_clusters_per_class=1,
        class_sep=2.0,
        flip_y=0,
        random_state=seed,
    )
    return x, y, 10_000


def _imbalanced(seed: int) -> Drawn:
    weights = SMALLEST_CLASS ** np.linspace(0, 1, 5)
    x, y = make_classification(
        10_000,
        20,
        n_informative=10,
        n_redundant=4,
        n_classes=5,
        weights=weights / weights.sum(),
        class_sep=1.5,
        flip_y=0,
        random_state=seed,
    )
    return x, y, 5_000


DATA: dict[str, Callable[[int], Drawn]] = {
    "cancer": lambda seed: (*load_breast_cancer(return_X_y=True), 400),
    "wine": lambda seed: (*load_wine(return_X_y=True), 118),
    "digits-300": lambda seed: (*load_digits(return_X_y=True), 300),
    "digits-1200": lambda seed: (*load_digits(return_X_y=True), 1_200),
    "hundred": _hundred,
    "imbalanced": _imbalanced,
    "moons": lambda seed: (*make_moons(3_000, noise=0.25, random_state=seed), 1_000),
    "shells": lambda seed: (
        *make_gaussian_quantiles(n_samples=5_000, n_features=6, n_classes=4, random_state=seed),
        2_000,
    ),
}


@lru_cache(maxsize=2)
def corrupted(name: str, kind: str, seed: int) -> np.ndarray:
    """Corrupt the training labels."""
    train = load(name, seed).train
    return NOISES[kind](train.inputs, train.labels, train.n_classes, np.random.default_rng([seed, 4]))


def _random_transition(x: np.ndarray, y: np.ndarray, c: int, rng: np.random.Generator) -> np.ndarray:
    """Labels by a T of which each row is 60 % of the identity's and 40 % of one drawn evenly from all there are."""
    transition = KEPT_RIGHT * np.eye(c) + (1 - KEPT_RIGHT) * rng.dirichlet(np.ones(c), size=c)
    return (rng.random((len(y), 1)) > transition[y].cumsum(axis=1)).sum(axis=1).clip(max=c - 1)


def _weak_labeller(x: np.ndarray, y: np.ndarray, c: int, rng: np.random.Generator) -> np.ndarray:
    """What a shallow tree says that saw ten true labels of each class."""
    rows = [rng.choice(np.flatnonzero(y == k), LABELS_A_CLASS, replace=False) for k in range(c)]
    tree = DecisionTreeClassifier(max_depth=DEPTH, random_state=int(rng.integers(2**31)))
    return tree.fit(x[np.concatenate(rows)], y[np.concatenate(rows)]).predict(x)


def _near_boundary(x: np.ndarray, y: np.ndarray, c: int, rng: np.random.Generator) -> np.ndarray:
    """The nearer an instance to its class's boundary, as a forest on true labels sees it, the likelier the other class.

    The boundary is that of the true class and the most probable of the others.
    """
    forest = RandomForestClassifier(random_state=int(rng.integers(2**31)))
    probs = _out_of_fold(forest, x, y, c, int(rng.integers(2**31)))
    rows = np.arange(len(y))
    own = probs[rows, y].copy()
    probs[rows, y] = -1
    rank = (own - probs.max(axis=1) + 1e-6 * rng.random(len(y))).argsort().argsort() / len(y)
    flipped = rng.random(len(y)) < MOST_FLIPPED * np.exp(-rank / REACH)
    return np.where(flipped, probs.argmax(axis=1), y)


def _swamped(x: np.ndarray, y: np.ndarray, c: int, rng: np.random.Generator) -> np.ndarray:
    """Labels of which 40 %, of whatever class, become the first class."""
    return np.where(rng.random(len(y)) < SWAMPED, 0, y)


def _next(x: np.ndarray, y: np.ndarray, c: int, rng: np.random.Generator) -> np.ndarray:
    """Labels of which 40 % become the next class, and those of the last class the first."""
    return np.where(rng.random(len(y)) < MOVED, (y + 1) % c, y)


def _pairs(x: np.ndarray, y: np.ndarray, c: int, rng: np.random.Generator) -> np.ndarray:
    """Labels of which 40 % become the other class of a pair: the first two, the next two, …; a last one stays."""
    other = y ^ 1
    return np.where((rng.random(len(y)) < MOVED) & (other < c), other, y)


NOISES: dict[str, Callable[[np.ndarray, np.ndarray, int, np.random.Generator], np.ndarray]] = {
    "clean": lambda x, y, c, rng: y,
    "random-T": _random_transition,
    "weak": _weak_labeller,
    "boundary": _near_boundary,
    "swamped": _swamped,
    "next": _next,
    "pairs": _pairs,
}


def said(cell: OtherCell, labels: np.ndarray, seed: int) -> tuple[Predictions, Predictions]:
    """What the classifier of a cell, trained on these labels, says of the training set and of the test set."""
    data = load(cell.data, seed)
    x, x_test, c = data.train.inputs, data.test.inputs, data.train.n_classes
    if cell.network == "mlp":
        settings = {"epochs": EPOCHS, "batch_size": 128 if len(x) >= LARGE else SMALL_BATCH}
        method = UntilMemorised(**settings) if cell.memorised else methods.EarlyStop(**settings)
        split = data.train.with_labels(labels)
        trained = method.fit(split, "mlp", seed=seed, progress=False)
        train = trained.predictions(split, out_of_sample=False)
        test = trained.predictions(data.test, out_of_sample=True)
        return train.replace(features=x, inputs=None), test.replace(features=x_test, inputs=None, labels=None)
    estimator = ESTIMATORS[cell.network](seed)
    fitted = clone(estimator).fit(x, labels)
    outside = cell.way == "out-of-fold"
    probs = _out_of_fold(estimator, x, labels, c, seed) if outside else _probs(fitted, x, c)
    train = Predictions(probs, x, labels=labels, out_of_sample=outside)
    return train, Predictions(_probs(fitted, x_test, c), x_test)


ESTIMATORS: dict[str, Callable[[int], ClassifierMixin]] = {
    "logistic": lambda seed: LogisticRegression(max_iter=1_000),
    "forest": lambda seed: RandomForestClassifier(random_state=seed),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
}


def _out_of_fold(estimator: ClassifierMixin, x: np.ndarray, y: np.ndarray, c: int, seed: int) -> np.ndarray:
    probs = np.empty((len(y), c))
    for seen, held in KFold(FOLDS, shuffle=True, random_state=seed).split(x):
        probs[held] = _probs(clone(estimator).fit(x[seen], y[seen]), x[held], c)
    return probs


def _probs(fitted: ClassifierMixin, x: np.ndarray, c: int) -> np.ndarray:
    """Probabilities of all classes, 0 for those that the classifier never saw."""
    probs = np.zeros((len(x), c))
    probs[:, fitted.classes_] = fitted.predict_proba(x)
    return probs
