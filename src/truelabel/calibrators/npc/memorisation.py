"""How far a classifier memorised the noisy labels it was trained on, and what trust it therefore deserves.

Nothing here sees a true label. Two things give a memorising classifier away: it repeats labels that are surely wrong,
and it fits labels that its own hidden layer, asked about the neighbours of an instance, does not foresee. A few labels
that weak features hold wrong, while the hidden layer foresees them, are no evidence of memorising.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truelabel.arrays import Array, Floats, Ints, float32, row_blocks
from truelabel.calibrators.npc.pool import FLOOR
from truelabel.neighbours import Neighbours
from truelabel.predictions import Predictions

SURELY_WRONG = 0.1  # a label with less than this probability of being right
PROBABLY_WRONG = 0.5  # ... where labels are swapped near a boundary, of which none is sure
HIDDEN_SHARE = 0.01  # what the hidden layer says counts as much as this share of all instances
HIDDEN_FEWEST = 10  # ... but not less than so many
UNFORESEEN = 0.2  # share of repeated labels that the hidden layer must not foresee for repeating to count in full
MOST_EXCUSED = 0.05  # share of all labels up to which a hidden layer that foresees them excuses repeating
PRESUMED = 0.3  # memorisation where nothing speaks
ASKED = 3_000  # instances whose neighbours in the hidden layer are looked up
NEIGHBOURS = 10
BLOCK = 16_384
TRUSTED = 0.4  # memorisation up to which trust is whole
DISTRUSTED = 0.8, 0.6  # ... from which there is none, with labels that are nearly clean and with noisy ones
NEARLY_CLEAN, NOISY = 0.1, 0.3  # noise rates
LEAST, MOST = 1 / 3, 2 / 3  # of the weight, that it may have: where it knows no more than experts, and where it does
KNOWS_MORE = 0.06  # share of the labels that its hidden layer foresees beyond what experts foresee


class Judgement(NamedTuple):
    """What is thought of a classifier that saw the labels.

    Attributes
    ----------
    memorised : float
        Share of the wrong labels that it repeats, as far as the evidence goes.
    trust : float
        In [0, 1]: the part that its predictions deserve of the weight which the labels give them.
    most : float
        Share of all weight that it gets at most, for labels speak too loudly for one who saw them.
    """

    memorised: float
    trust: float
    most: float


class HiddenLayer:
    """The classifier's hidden layer: what the neighbours of an instance in it are labelled with.

    Parameters
    ----------
    predictions : Predictions
        With labels and a hidden layer.
    unseen : array, optional
        Rows that the classifier was not trained on; they are nobody's neighbours.
    """

    def __init__(self, predictions: Predictions, unseen: Ints | None = None) -> None:
        assert predictions.labels is not None
        assert predictions.hidden is not None
        self.hidden = predictions.hidden
        self.labels = predictions.labels
        self.seen = np.delete(np.arange(len(self.labels)), [] if unseen is None else unseen)
        self.place = np.full(len(self.labels), -1)
        self.place[self.seen] = np.arange(len(self.seen))
        self.index = Neighbours(float32(self.hidden, self.seen), approximate=True)

    def voted(self, rows: Ints) -> Ints:
        """Return the class that most neighbours of each of the rows are labelled with."""
        k = min(NEIGHBOURS, len(self.seen) - 1)
        _, found = self.index.search(float32(self.hidden, rows), k, self.place[rows])
        votes = np.zeros((len(rows), int(self.labels.max()) + 1))
        np.add.at(votes, (np.arange(len(rows))[:, None], self.labels[self.seen[found]]), 1)
        return np.asarray(votes.argmax(axis=1))

    def foresees(self, rows: Ints) -> Array:
        """Return for which of the rows the neighbours vote for the label.

        A classifier that generalises puts an instance among others of its label; one that memorised has to fit the
        label in spite of where the instance lies.
        """
        return np.asarray(self.voted(rows) == self.labels[rows])

    def contradicts(self, predicted: Ints, believed: Ints, rows: Ints) -> Array:
        """Return for which of the rows the classifier, and the neighbours with it, say another class than is believed.

        What it says of an instance that it was trained on may be memory; what the labels of the neighbours say is not.
        """
        out = np.asarray(predicted[rows] != believed[rows])
        if out.any():
            out[out] = self.voted(rows[out]) == predicted[rows[out]]
        return out


def judge(
    right: Floats,
    foretold: Array,
    predictions: Predictions,
    layer: HiddenLayer | None,
    unseen: Ints | None,
    rng: np.random.Generator,
    *,
    noise_rate: float,
    swaps: bool = False,
) -> Judgement:
    """Judge a classifier by its predictions on the labels it was trained on.

    Parameters
    ----------
    right : (n,) array
        Probability that each label is right, by experts that had not seen it.
    foretold : (n,) bool array
        Whether the experts had expected the label.
    predictions : Predictions
        With labels.
    layer : HiddenLayer, optional
        It decides where too few labels are surely wrong, and shows whether the classifier knows more than the experts.
    unseen : array, optional
        Rows that the classifier was not trained on, and is not judged by.
    noise_rate : float
        Share of wrong labels: to have memorised a few does less harm.
    swaps : bool
        Whether labels are swapped near a boundary.
    """
    assert predictions.labels is not None
    seen = np.delete(np.arange(len(right)), [] if unseen is None else unseen)
    predicted, labels = predictions.hard[seen], predictions.labels[seen]
    fits = predicted == labels
    wrong = right[seen] < (PROBABLY_WRONG if swaps else SURELY_WRONG)
    evidence, presumed, honest, most = 1.0, PRESUMED, 1.0, MOST
    if layer is not None:
        asked = np.sort(rng.choice(len(labels), min(len(labels), ASKED), replace=False))
        foreseen, fitted = float(layer.foresees(seen[asked]).mean()), float(fits[asked].mean())
        base = float(np.square(np.bincount(labels) / len(labels)).sum())
        presumed = 0.0 if foreseen >= 1 else float(np.clip((fitted - foreseen) / (1 - foreseen), 0, 1))
        honest = float(np.clip((foreseen - base) / max(fitted - base, 1e-6), 0, 1))
        more = foreseen - float(foretold[seen][asked].mean())
        most = LEAST + (MOST - LEAST) * float(np.clip(more / KNOWS_MORE, 0, 1))
        repeated = np.flatnonzero(wrong & fits)
        if len(repeated) > 0 and np.mean(wrong) <= MOST_EXCUSED:
            evidence = min(1.0, (1 - float(layer.foresees(seen[repeated]).mean())) / UNFORESEEN)
    weight = max(HIDDEN_SHARE * len(labels), HIDDEN_FEWEST)
    against = evidence * np.count_nonzero(wrong & fits) + weight * presumed
    share = float(against / (evidence * np.count_nonzero(wrong) + weight))
    return Judgement(share, honest * trust_in(share, noise_rate), most)


def discount(probs: Array, labels: Ints, memorised: float) -> Floats:
    """Return what a classifier says of instances it was trained on, less what memory explains.

    It says the label of an instance whose label is right, and of a share m of those whose label is wrong; so that it
    says the label is evidence for the label of at most 1 : m against the next class. That it says something else is
    no memory, and is left alone.

    Parameters
    ----------
    probs : (n, c) array
        Its probabilities.
    labels : (n,) array
        What it was trained on.
    memorised : float
        m.
    """
    out = np.empty(probs.shape, dtype=np.float32)
    for rows in row_blocks(len(out), BLOCK):
        block, own = np.maximum(float32(probs, rows), FLOOR), labels[rows]
        at = np.arange(len(own)), own
        said = block[at]
        block[at] = 0
        block[at] = np.minimum(said, block.max(axis=1) / max(memorised, FLOOR))
        out[rows] = block / block.sum(axis=1, keepdims=True)
    return out


def trust_in(memorised: float, noise_rate: float) -> float:
    """Return how far a classifier that memorised so much of so much noise deserves trust."""
    none = float(np.interp(noise_rate, (NEARLY_CLEAN, NOISY), DISTRUSTED))
    return float(np.clip((none - memorised) / (none - TRUSTED), 0, 1))
