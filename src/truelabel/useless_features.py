"""Do features say anything about the labels? Asked of two plain models, on instances that these have not seen."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from truelabel.arrays import Array, Ints, float32
from truelabel.notices import UselessFeaturesWarning

SAMPLE = 2_000  # rows that are asked about
FEWEST = 50  # rows below which nothing is said
WIDEST = 1_024  # columns; more are projected to so many
NEIGHBOURS = 10
CLEARLY = 2.5  # standard errors above chance


def warn_of_useless_features(views: Mapping[str, Array], labels: Ints, consequence: str) -> None:
    """Warn where no view says anything about the labels: rows in another order, zeros, other instances."""
    if views and len(labels) >= FEWEST and not informative(views, labels):
        named = "features" if len(views) == 1 else "views of the features"
        warnings.warn(
            f"the {named} say nothing about the labels: neighbours and a linear model predict these no better than "
            f"chance, so that {consequence}; check that the rows of features are the instances of probs.",
            UselessFeaturesWarning,
            stacklevel=4,
        )


def informative(views: Mapping[str, Array], labels: Ints) -> bool:
    """Return whether neighbours or a linear model predict labels clearly better than chance from any view."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(labels))[:SAMPLE]
    return any(_predicts(_scaled(float32(view, rows), rng), labels[rows]) for view in views.values())


def _scaled(view: Array, rng: np.random.Generator) -> Array:
    spread = view.std(axis=0)
    scaled = np.clip((view - view.mean(axis=0)) / np.where(spread > 0, spread, 1), -5, 5)
    if scaled.shape[1] > WIDEST:
        scaled = scaled @ rng.normal(size=(scaled.shape[1], WIDEST)).astype(np.float32) / np.sqrt(WIDEST)
    return np.asarray(scaled, dtype=np.float32)


def _predicts(x: Array, labels: Ints) -> bool:
    """Return whether a model of each half agrees with the labels of the other more often than by chance."""
    from sklearn.linear_model import RidgeClassifier
    from sklearn.neighbors import KNeighborsClassifier

    if not x.std(axis=0).any():
        return False
    halves = np.array_split(np.arange(len(x)), 2)
    if any(len(np.unique(labels[half])) < 2 for half in halves):
        return True  # one class alone: nothing can be said
    for model in (KNeighborsClassifier(NEIGHBOURS), RidgeClassifier(alpha=x.shape[1])):
        guessed = [model.fit(x[one], labels[one]).predict(x[other]) for one, other in (halves, halves[::-1])]
        if _above_chance(np.concatenate(guessed[::-1]), labels) > CLEARLY:
            return True
    return False


def _above_chance(guessed: Ints, labels: Ints) -> float:
    """Return by how many standard errors guesses agree with labels more often than if they had been shuffled."""
    classes = int(max(guessed.max(), labels.max())) + 1
    shares = [np.bincount(part, minlength=classes) / len(labels) for part in (guessed, labels)]
    chance = float(shares[0] @ shares[1])
    error = np.sqrt(max(chance * (1 - chance), 1 / len(labels)) / len(labels))
    return float((np.mean(guessed == labels) - chance) / error)
