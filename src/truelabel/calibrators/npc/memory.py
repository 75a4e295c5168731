"""How far a classifier repeats the noisy labels it was trained on instead of saying what it knows.

Nothing here sees a true label. What a classifier says of an instance whose label it has seen may be memory. Three
things tell: whether it repeats labels that are probably wrong; whether its own hidden layer, asked about an instance's
neighbours, foresees what it fits; and whether it contradicts the experts more often on instances whose label it has
seen than on others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from truelabel.arrays import Array, Floats, Ints, float32
from truelabel.neighbours import Neighbours
from truelabel.predictions import Predictions

ROUNDS = 30  # of expectation and maximisation


@dataclass(frozen=True)
class MemorySettings:
    """What is assumed of a classifier that saw the labels.

    Attributes
    ----------
    presumed : float
        Share of wrong labels it repeats where nothing speaks: none, so that its answer stands unless there is a reason.
    weight : float
        What that presumption counts, as a share of all labels: as much as one label in a hundred that is wrong.
    doubtful_weight : float
        ... where the noise is not proven by its form: then up to one label in ten may only look wrong to weak features.
    asked : int
        Instances whose neighbours in the hidden layer are looked up: the share they foresee is then known to a point.
    neighbours : int
        Neighbours that vote there, as in the paper.
    least, most : float
        Its share of the weight in sample, at most: one voice among vote, head and classifier where it knows no more
        than the experts, nearly all where it does. The labels themselves speak too loudly for one who saw them.
    knows_more : float
        Share of the labels it must foresee beyond the experts to know more for sure: the spread between networks that
        were trained alike.
    """

    presumed: float = 0.0
    weight: float = 0.01
    doubtful_weight: float = 0.1
    asked: int = 3_000
    neighbours: int = 10
    least: float = 1 / 3
    most: float = 0.9
    knows_more: float = 0.06


class Memory(NamedTuple):
    """What is thought of a classifier that saw the labels.

    Attributes
    ----------
    share : float
        Share of the wrong labels that it repeats.
    knows_more : float
        In [0, 1]: whether it knows more than the experts do.
    """

    share: float
    knows_more: float

    @property
    def trust(self) -> float:
        """The part of its word that is its own."""
        return 1 - self.share


def judge(
    wrong: Floats,
    guessed: Ints,
    predictions: Predictions,
    unseen: Ints | None,
    rng: np.random.Generator,
    settings: MemorySettings,
    *,
    expected: float,
    proven: bool,
    contradicts: tuple[float, float] | None = None,
) -> Memory:
    """Judge a classifier by what it says of instances whose labels it has seen.

    Parameters
    ----------
    wrong : (n,) array
        Probability that each label is wrong, by experts that had not seen it, as far as noise is proven.
    guessed : (n,) array
        The class that the experts had expected.
    predictions : Predictions
        With labels.
    unseen : array, optional
        Rows that the classifier was not trained on, and is not judged by.
    rng : Generator
        Picks the instances whose neighbours are looked up.
    settings : MemorySettings
        What is assumed.
    expected : float
        The share of the instances on which the experts are right, as they see it themselves. One who knows more agrees
        with them no more often; one who does has learned their mistakes, too.
    proven : bool
        Whether the noise is proven by its form.
    contradicts : pair of float, optional
        Share of the instances on which it contradicts the experts, of those whose label it has seen and of others.
    """
    assert predictions.labels is not None
    seen = np.delete(np.arange(len(wrong)), [] if unseen is None else unseen)
    fits = predictions.hard[seen] == predictions.labels[seen]
    fitted, presumed = float(fits.mean()), settings.presumed
    if predictions.hidden is not None:
        asked = np.sort(rng.choice(len(seen), min(len(seen), settings.asked), replace=False))
        knows = float(np.mean(_neighbours_say(predictions, seen, asked, settings.neighbours)))
        presumed = 0.0 if knows >= 1 else float(np.clip((fitted - knows) / (1 - knows), 0, 1))
    weight = settings.weight if proven else settings.doubtful_weight
    share = repeated(wrong[seen], fits, presumed, weight * len(seen))
    if contradicts is not None and contradicts[0] > 0:
        # A label that it contradicts the experts by, and would not have said had it not seen it, is memory.
        share = max(share, 1 - contradicts[1] / contradicts[0])
    # What it foresees of right labels, less what it has only memorised of wrong ones.
    honest = knows if predictions.hidden is not None else fitted - share * float(wrong[seen].mean())
    more = honest - float(np.mean(guessed[seen] == predictions.labels[seen]))
    copied = float(np.mean(guessed[seen] == predictions.hard[seen])) - expected
    rise = np.clip(more / settings.knows_more, 0, 1) * np.clip(1 - copied / settings.knows_more, 0, 1)
    return Memory(share, float(rise) * (1 - share))


def repeated(wrong: Floats, fits: Array, presumed: float, weight: float) -> float:
    """Return the share of wrong labels that are repeated, where labels are wrong with these probabilities.

    By expectation–maximisation: of wrong labels a share m is repeated, of right ones another share.

    Parameters
    ----------
    wrong : (n,) array
        Probability that each label is wrong.
    fits : (n,) bool array
        Whether the classifier says the label.
    presumed, weight : float
        What m is where no label is wrong, and how many labels that counts.
    """
    m, f = 0.5, max(float(fits.mean()), 0.5)  # from an end m would never move
    for _ in range(ROUNDS):
        if_wrong = wrong * np.where(fits, m, 1 - m)
        if_right = (1 - wrong) * np.where(fits, f, 1 - f)
        share = if_wrong / np.maximum(if_wrong + if_right, 1e-12)
        m = float((share[fits].sum() + weight * presumed) / (share.sum() + weight))
        f = float(np.clip((1 - share)[fits].sum() / max((1 - share).sum(), 1e-12), 0.5, 1 - 1e-6))
    return m


def _neighbours_say(predictions: Predictions, seen: Ints, asked: Ints, k: int) -> Array:
    """Return for which of the asked instances most neighbours in the hidden layer have the same label.

    A classifier that generalises puts an instance among others of its label; one that memorised has to fit the label
    in spite of where the instance lies.
    """
    assert predictions.hidden is not None
    assert predictions.labels is not None
    labels = predictions.labels[seen]
    index = Neighbours(float32(predictions.hidden, seen), approximate=True)
    _, found = index.search(float32(predictions.hidden, seen[asked]), min(k, len(seen) - 1), asked)
    votes = np.zeros((len(asked), predictions.n_classes))
    np.add.at(votes, (np.arange(len(asked))[:, None], labels[found]), 1)
    return np.asarray(votes.argmax(axis=1) == labels[asked])
