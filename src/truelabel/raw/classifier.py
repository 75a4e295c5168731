"""Small classifiers that learn the given labels, each asked only about what it has not seen.

Predictions made so are worth more than those of a classifier that may repeat its labels, and cost little here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from truelabel.arrays import Array, Floats, Ints
from truelabel.copies import ALONE, Copies, folds_of
from truelabel.progress import Progress

FOLDS = 5
TREES, FOREST_SAMPLE, LEAF = 300, 20_000, 3
MOST_COEFFICIENTS = 4_000_000  # of a linear classifier of words; beyond, their topics are learned from
UNSURE = 1e-3  # probability that is shared by all classes

Classifier = Callable[[Any, Ints, int, int, str, Progress, Copies | None], Floats]


def head(
    x: Floats, labels: Ints, n_classes: int, seed: int, device: str, progress: Progress, copies: Copies | None = None
) -> Floats:
    """Return p(label | x) by small networks on dense features; a label of −1 is not learned from.

    Who is asked about an instance has not seen its copies either.
    """
    from truelabel import device as devices
    from truelabel.experts.heads import out_of_fold
    from truelabel.scale import Scale, moments
    from truelabel.seeding import seeded

    scale = Scale("whole", *moments(x))
    known = np.flatnonzero(labels >= 0)
    with seeded(seed):
        foretold = out_of_fold(
            x,
            scale,
            labels,
            known,
            n_classes,
            device=devices.resolve(device),
            seed=seed,
            progress=progress,
            copies=copies,
        )
    return _unsure(foretold.said)


def words(
    counts: Any, labels: Ints, n_classes: int, seed: int, device: str, progress: Progress, copies: Copies | None = None
) -> Floats:
    """Return p(label | x) by logistic regression on sparse counts of words; see `head`."""
    from sklearn.linear_model import LogisticRegression

    if counts.shape[1] * n_classes > MOST_COEFFICIENTS:
        from truelabel.raw.text import topics

        return head(topics(counts, 256, seed), labels, n_classes, seed, device, progress, copies)
    known = np.flatnonzero(labels >= 0)
    fold_of = np.full(len(labels), -1)
    fold_of[known] = folds_of(copies, known, FOLDS, np.random.default_rng(seed))
    unseen_by = np.full(len(labels), ALONE) if copies is None else copies.folds_elsewhere(known, fold_of[known])
    out = np.zeros((len(labels), n_classes), dtype=np.float32)
    for fold in progress.track(range(FOLDS), "Training a classifier"):
        seen, asked = (fold_of >= 0) & (fold_of != fold), fold_of == fold
        if not asked.any() or len(np.unique(labels[seen])) < 2:
            continue
        model: Any = LogisticRegression(max_iter=200).fit(counts[seen], labels[seen])
        columns = model.classes_
        out[np.ix_(asked, columns)] = model.predict_proba(counts[asked])
        others = (unseen_by == ALONE) | (unseen_by == fold)
        others &= fold_of < 0
        if others.any():
            out[np.ix_(others, columns)] += model.predict_proba(counts[others])
    return _unsure(out)


def forest(
    x: Floats, labels: Ints, n_classes: int, seed: int, device: str, progress: Progress, copies: Copies | None = None
) -> Floats:
    """Return p(label | x) by the trees of a random forest that did not see x; see `head`."""
    known = labels >= 0
    model = _trees(TREES, int(known.sum()), seed, oob_score=True)
    (once,) = progress.track([model], "Training a classifier")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        once.fit(x[known], labels[known])
    out = np.zeros((len(labels), n_classes), dtype=np.float32)
    out[np.ix_(known, model.classes_)] = np.nan_to_num(model.oob_decision_function_)
    if not known.all():
        out[np.ix_(~known, model.classes_)] = model.predict_proba(x[~known])
    if copies is not None:
        _ask_about_copies(out, x, labels, copies, seed)
    return _unsure(out)


def _trees(number: int, n: int, seed: int, **settings: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    drawn = FOREST_SAMPLE if n > 2 * FOREST_SAMPLE else None
    return RandomForestClassifier(
        number, min_samples_leaf=LEAF, max_samples=drawn, n_jobs=-1, random_state=seed, **settings
    )


def _ask_about_copies(out: Floats, x: Floats, labels: Ints, copies: Copies, seed: int) -> None:
    """Say anew what the labels of copies are, by trees that learned from all but a fifth of the copies."""
    rows = np.flatnonzero(copies.group != ALONE)
    fold_of = np.full(len(labels), -1)
    fold_of[rows] = folds_of(copies, rows, FOLDS, np.random.default_rng(seed))
    for fold in range(FOLDS):
        asked, seen = fold_of == fold, (fold_of != fold) & (labels >= 0)
        if asked.any():
            model = _trees(TREES // FOLDS, int(seen.sum()), seed).fit(x[seen], labels[seen])
            out[asked] = 0
            out[np.ix_(asked, model.classes_)] = model.predict_proba(x[asked])


def _unsure(said: Array) -> Floats:
    """Leave each class a little, and bring rows to sum to 1; a row that nothing is said of gets equal shares."""
    total = said.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, said / np.maximum(total, 1e-12), 1 / said.shape[1])
    return np.asarray((shares + UNSURE / said.shape[1]) / (1 + UNSURE), dtype=np.float32)
