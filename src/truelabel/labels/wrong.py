"""How many labels are wrong, in all and of each class, with an interval; no clean label is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, Ints
from truelabel.labels.posterior import LabelPosterior

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.9
UNSEEN = 0.1  # relative error that the opinions have in common, so that it does not show
DOUBTED = 0.01  # ... and share of all labels: some right ones are always doubted


@dataclass(frozen=True)
class Count:
    """An estimated number of wrong labels among `of`, between `low` and `high`."""

    number: float
    low: float
    high: float
    of: int

    @property
    def share(self) -> float:
        """The estimated share of wrong labels."""
        return self.number / self.of if self.of else 0.0

    def to_dict(self) -> dict[str, float]:
        """Return plain JSON values."""
        return {"number": self.number, "low": self.low, "high": self.high, "of": self.of, "share": self.share}

    def __str__(self) -> str:
        return f"{self.number:,.0f} of {self.of:,} ({self.share:.1%}; {self.low:,.0f} to {self.high:,.0f})"


@dataclass(frozen=True)
class WrongLabels:
    """How many labels are probably wrong.

    Attributes
    ----------
    total : Count
        In all.
    by_class : dict of names to `Count`
        Of those that have each class as their given label.
    level : float
        Probability with which an interval is meant to hold the true number.
    """

    total: Count
    by_class: dict[Any, Count]
    level: float = LEVEL

    def to_frame(self) -> pd.DataFrame:
        """Return a row a class: `given`, `number`, `low`, `high`, `of`, `share`."""
        import pandas as pd

        return pd.DataFrame([{"given": name} | count.to_dict() for name, count in self.by_class.items()])

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        by_class = [{"given": name} | count.to_dict() for name, count in self.by_class.items()]
        return self.total.to_dict() | {"level": self.level, "by_class": by_class}


def count_wrong(posterior: LabelPosterior, labels: Ints, names: Sequence[Any]) -> WrongLabels:
    """Estimate how many labels are wrong.

    The estimate is the mean of the posterior's opinions, which err in different directions. Its variance has three
    parts: chance, Σ p_wrong (1 − p_wrong); the sample variance of the opinions; and what they have in common, a tenth
    of the estimate and a hundredth of the labels. The interval is normal, and cut to what is possible; that of
    the total holds all that the model of the noise leaves open.
    """
    wrong = 1 - posterior.probs[np.arange(len(labels)), labels].astype(np.float64)
    opinions = np.stack(posterior.opinions)
    chance = np.bincount(labels, weights=wrong * (1 - wrong), minlength=opinions.shape[1])
    held = np.bincount(labels, minlength=opinions.shape[1])
    (total,) = _counts(opinions.sum(axis=1, keepdims=True), chance.sum(keepdims=True), held.sum(keepdims=True))
    if posterior.noise_interval is not None:
        low, high = (len(labels) * share for share in posterior.noise_interval)
        total = replace(total, low=min(total.low, low), high=max(total.high, high))
    by_class = _counts(opinions, chance, held)
    return WrongLabels(total, dict(zip(names, by_class, strict=True)))


def _counts(opinions: Array, chance: Array, held: Array) -> list[Count]:
    from scipy.stats import norm

    number = opinions.mean(axis=0)
    variance = chance + opinions.var(axis=0, ddof=1) + np.square(UNSEEN * number) + np.square(DOUBTED * held)
    half = norm.ppf((1 + LEVEL) / 2) * np.sqrt(variance)
    low, high = np.maximum(number - half, 0), np.minimum(number + half, held)
    return [Count(float(n), float(a), float(b), int(m)) for n, a, b, m in zip(number, low, high, held, strict=True)]
