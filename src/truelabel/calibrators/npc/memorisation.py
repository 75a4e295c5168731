"""How far a classifier memorised the noisy labels it was trained on, and what trust it therefore deserves.

Nothing here sees a true label. Two things give a memorising classifier away: it repeats labels that are surely wrong,
and it fits labels that its own hidden layer, asked about the neighbours of an instance, does not foresee.
"""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Floats, Ints, float32
from truelabel.neighbours import Neighbours
from truelabel.predictions import Predictions

SURELY_WRONG = 0.1  # a label with less than this probability of being right
HIDDEN_SHARE = 0.01  # what the hidden layer says counts as much as this share of all instances
HIDDEN_FEWEST = 10  # ... but not less than so many
PRESUMED = 0.3  # memorisation where nothing speaks
ASKED = 3_000  # instances whose neighbours in the hidden layer are looked up
NEIGHBOURS = 10
TRUSTED, DISTRUSTED = 0.4, 0.6  # memorisation up to which trust is whole, and from which there is none


def judge(
    right: Floats, predictions: Predictions, unseen: Ints | None, rng: np.random.Generator
) -> tuple[float, float]:
    """Judge a classifier by its predictions on the labels it was trained on.

    Parameters
    ----------
    right : (n,) array
        Probability that each label is right, by experts that had not seen it.
    predictions : Predictions
        With labels. A hidden layer decides where too few labels are surely wrong.
    unseen : array, optional
        Rows that the classifier was not trained on, and is not judged by.

    Returns
    -------
    share : float
        Share of the wrong labels that the classifier repeats, as far as the evidence goes.
    trust : float
        In [0, 1]: the part that its predictions deserve of the weight which the labels give them.
    """
    assert predictions.labels is not None
    seen = np.ones(len(right), dtype=bool)
    seen[[] if unseen is None else unseen] = False
    predicted, labels = predictions.hard[seen], predictions.labels[seen]
    wrong = right[seen] < SURELY_WRONG
    repeated = np.count_nonzero(predicted[wrong] == labels[wrong])
    weight = max(HIDDEN_SHARE * len(labels), HIDDEN_FEWEST)
    presumed, honest = PRESUMED, 1.0
    if predictions.hidden is not None:
        base = float(np.square(np.bincount(labels) / len(labels)).sum())
        foreseen, fitted = in_hidden(float32(predictions.hidden, np.flatnonzero(seen)), predicted, labels, rng)
        presumed = 0.0 if foreseen >= 1 else float(np.clip((fitted - foreseen) / (1 - foreseen), 0, 1))
        honest = float(np.clip((foreseen - base) / max(fitted - base, 1e-6), 0, 1))
    share = float((repeated + weight * presumed) / (np.count_nonzero(wrong) + weight))
    return share, honest * trust_in(share)


def in_hidden(hidden: Floats, predicted: Ints, labels: Ints, rng: np.random.Generator) -> tuple[float, float]:
    """Return the share of labels that neighbours in the hidden layer foresee, and the share the classifier fits.

    A classifier that generalises puts an instance among others of its label; one that memorised has to fit the label
    in spite of where the instance lies.
    """
    n = len(labels)
    asked = np.sort(rng.choice(n, min(n, ASKED), replace=False))
    _, found = Neighbours(hidden).search(hidden[asked], min(NEIGHBOURS, n - 1), asked)
    votes = np.zeros((len(asked), int(labels.max()) + 1))
    np.add.at(votes, (np.arange(len(asked))[:, None], labels[found]), 1)
    foreseen = np.mean(votes.argmax(axis=1) == labels[asked])
    return float(foreseen), float(np.mean(predicted[asked] == labels[asked]))


def trust_in(memorised: float) -> float:
    """Return how far a classifier that memorised so much deserves trust."""
    return float(np.clip((DISTRUSTED - memorised) / (DISTRUSTED - TRUSTED), 0, 1))
