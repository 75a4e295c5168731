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
        ... where the noise is not proven by its form: five in a hundred may only look wrong to weak features.
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
    shared : float
        Correlation of its errors with the experts' on new instances: networks that learned from the same labels make
        most of their mistakes together.
    """

    presumed: float = 0.0
    weight: float = 0.01
    doubtful_weight: float = 0.05
    asked: int = 3_000
    neighbours: int = 10
    least: float = 1 / 3
    most: float = 0.9
    knows_more: float = 0.06
    shared: float = 0.7


class Memory(NamedTuple):
    """What is thought of a classifier that saw the labels.

    Attributes
    ----------
    share : float
        Share of the wrong labels that it repeats.
    knows_more : float
        In [0, 1]: whether it knows more than the experts do.
    trust : float
        In [0, 1]: what its word counts on instances that it was not trained on, beside one that memorised nothing.
    most : float
        What the log probabilities of instances that it was trained on weigh at most.
    """

    share: float
    knows_more: float
    trust: float
    most: float


def judge(
    wrong: Floats,
    guessed: Ints,
    predictions: Predictions,
    unseen: Ints | None,
    rng: np.random.Generator,
    settings: MemorySettings,
    *,
    expected: float,
    noise_rate: float,
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
    noise_rate : float
        Share of the labels that are wrong.
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
    share, of_right = repeated(wrong[seen], fits, presumed, weight * len(seen))
    if contradicts is not None and contradicts[0] > 0:
        # A label that it contradicts the experts by, and would not have said had it not seen it, is memory.
        share = max(share, 1 - contradicts[1] / contradicts[0])
    by_experts = float(np.mean(guessed[seen] == predictions.labels[seen]))
    if proven:
        more = foreseen(wrong[seen], fits, by_experts)
    else:
        # What it foresees of right labels, less what it has only memorised of wrong ones.
        honest = knows if predictions.hidden is not None else fitted - share * float(wrong[seen].mean())
        more = min(honest - by_experts, settings.knows_more) * (1 - share)
    copied = float(np.mean(guessed[seen] == predictions.hard[seen])) - expected
    rise = float(np.clip(more / settings.knows_more, 0, 1) * np.clip(1 - copied / settings.knows_more, 0, 1))
    trust = weight_of_worse(share * noise_rate / max(1 - expected, 1e-6), settings.shared)
    most = _evidence(share, of_right) / _log_odds(predictions, seen)
    return Memory(share, rise, rise + (1 - rise) * trust, most)


def foreseen(wrong: Floats, fits: Array, otherwise: float) -> float:
    """Return the share of labels that it foresees, at least, beyond the share that the experts do.

    A share m of the labels is memorised, as the wrong ones show, and the rest foreseen. m is the likeliest share and
    two standard errors more. Of what it has memorised, it is taken to foresee no more than the experts.
    """
    m, f = repeated(wrong, fits, 0.0, 0.0)
    said = wrong * m + (1 - wrong) * f
    slope = np.where(fits, 1 / np.maximum(said, 1e-9), -1 / np.maximum(1 - said, 1e-9))
    gradient = np.stack([wrong * slope, (1 - wrong) * slope]).astype(np.float64)
    m = min(m + 2 * float(np.sqrt(np.linalg.pinv(gradient @ gradient.T)[0, 0])), 1.0)
    return float(fits.mean()) - m - (1 - m) * otherwise


def weight_of_worse(more: float, shared: float) -> float:
    """Return the best weight of the worse of two estimates, as a share of what it would be if both were as good.

    Parameters
    ----------
    more : float
        How much larger its error (variance) is, as a share of the other's.
    shared : float
        Correlation of their errors.
    """
    together = shared * np.sqrt(1 + more)
    return float(np.clip(2 * (1 - together) / (2 + more - 2 * together), 0, 1))


def _evidence(of_wrong: float, of_right: float) -> float:
    """Return how much likelier it is to say a label that is right than one that is wrong, as a logarithm."""
    return float(np.log(max(of_right, of_wrong) / max(of_wrong, 1e-6)))


def _log_odds(predictions: Predictions, rows: Ints) -> float:
    """Return the mean log odds of the class it names against an average other one."""
    surest = np.clip(np.asarray(predictions.probs[rows].max(axis=1), dtype=np.float64), 1e-4, 1 - 1e-4)
    return max(float(np.mean(np.log(surest * (predictions.n_classes - 1) / (1 - surest)))), 1e-3)


def repeated(wrong: Floats, fits: Array, presumed: float, weight: float) -> tuple[float, float]:
    """Return the shares of wrong and of right labels that are repeated.

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
        m = float((share[fits].sum() + weight * presumed) / max(share.sum() + weight, 1e-12))
        f = float(np.clip((1 - share)[fits].sum() / max((1 - share).sum(), 1e-12), 0.5, 1 - 1e-6))
    return m, f


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
