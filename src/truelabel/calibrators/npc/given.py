"""What a prior is given: the predictions, and whatever else `NPC.fit` was told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch

from truelabel.arrays import Array, Ints, as_numbers, float32
from truelabel.predictions import Predictions
from truelabel.progress import Progress

Sample = Literal["random", "picked"]
SUREST = 1e-6  # a class is taken to have this probability at least


@dataclass(frozen=True)
class Given:
    """All that is known when a prior is asked.

    Attributes
    ----------
    predictions : Predictions
        What the classifier says of its training set, and of a validation set behind it, if there is one.
    device : torch.device
        Where networks are trained.
    seed : int
        Of everything that is drawn.
    progress : Progress
        Where long work is shown.
    unseen : array, optional
        Rows that the classifier was not trained on.
    unlabelled : Predictions, optional
        What it says of instances it was not trained on, without labels.
    trusted : (n,) array, optional
        True classes, −1 where they are not known.
    sample : {"random", "picked"}
        How the instances of `trusted` were chosen; only a random sample tells how often labels are wrong.
    weights : (n,) array, optional
        How many instances each of a random sample stands for, where not all were as likely to be drawn.
    transition : (c, c) array, optional
        T of the labels, where it is known.
    """

    predictions: Predictions
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    seed: int = 0
    progress: Progress = field(default_factory=lambda: Progress(False))
    unseen: Ints | None = None
    unlabelled: Predictions | None = None
    trusted: Ints | None = None
    sample: Sample = "random"
    weights: Array | None = None
    transition: Array | None = None

    @property
    def extras(self) -> dict[str, Any]:
        """What was given beside the predictions, by the name it has in `NPC.fit`."""
        told = {
            "validation": self.unseen,
            "unlabelled": self.unlabelled,
            "trusted": self.trusted,
            "label_transition": self.transition,
        }
        return {name: value for name, value in told.items() if value is not None}


def trusted_classes(trusted: Any, n: int, c: int) -> Ints:
    """Check trusted labels and return them as class indices, −1 where there is none."""
    known = as_numbers(trusted, "trusted")
    if known.shape != (n,):
        raise ValueError(f"trusted has shape {known.shape}, but there are {n} instances; pass a class or −1 for each.")
    whole = known.astype(np.int64)
    if not np.array_equal(whole, known) or whole.min(initial=0) < -1 or whole.max(initial=0) >= c:
        raise ValueError(f"trusted must hold classes from 0 to {c - 1}, or −1 where none is known.")
    return whole


def sample_weights(sample: Any, trusted: Ints | None, n: int) -> Array | None:
    """Check how trusted instances were drawn: "random", "picked", or how many instances each stands for.

    Returns
    -------
    (n,) array or None
        The last, None where a word was given.
    """
    if isinstance(sample, str):
        if sample not in ("random", "picked"):
            raise ValueError(f'trusted_sample must be "random", "picked" or an array of weights, not {sample!r}.')
        return None
    weights = as_numbers(sample, "trusted_sample").astype(np.float64)
    if weights.shape != (n,):
        raise ValueError(
            f"trusted_sample has shape {weights.shape}, but there are {n} instances; pass how many instances each "
            "trusted one stands for, and 0 for the others."
        )
    if trusted is None or not (
        np.isfinite(weights).all() and (weights >= 0).all() and (weights[trusted >= 0] > 0).all()
    ):
        raise ValueError("trusted_sample must be above 0 for each trusted instance, and never negative or infinite.")
    return weights


def transition_matrix(transition: Any, c: int) -> Array:
    """Check a transition matrix that somebody knows."""
    matrix = as_numbers(transition, "label_transition").astype(np.float64)
    if matrix.shape != (c, c):
        raise ValueError(
            f"label_transition has shape {matrix.shape}, but there are {c} classes; pass a {c}×{c} matrix."
        )
    if (matrix < 0).any() or not np.allclose(matrix.sum(axis=1), 1, atol=1e-3):
        raise ValueError("the rows of label_transition are p(label | true class): at least 0, and 1 in sum.")
    return matrix


def comparable(seen: Predictions, other: Predictions, name: str) -> None:
    """Check that two sets of predictions are of the same classes and views."""
    if not isinstance(other, Predictions):
        raise TypeError(f"{name} is a truelabel.Predictions, not {type(other).__name__}; wrap the arrays first.")
    if seen.n_classes != other.n_classes:
        raise ValueError(f"{name} has {other.n_classes} classes, but the training set has {seen.n_classes}.")
    if seen.class_names and other.class_names and seen.class_names != other.class_names:
        raise ValueError(f"{name} names other classes, or the same in another order; number the classes alike.")
    widths = [{view: array.shape[1] for view, array in part.views.items()} for part in (seen, other)]
    if widths[0] != widths[1]:
        raise ValueError(f"{name} has the views {widths[1]}, but the training set has {widths[0]}.")


def join(seen: Predictions, unseen: Predictions) -> Predictions:
    """Put training and validation set together; what only one of them has is left out."""
    comparable(seen, unseen, "validation")
    if seen.labels is None or unseen.labels is None:
        raise ValueError("a validation set judges the classifier by noisy labels; pass labels in both Predictions.")
    if seen.hidden is not None and unseen.hidden is not None and seen.hidden.shape[1] != unseen.hidden.shape[1]:
        raise ValueError(
            f"hidden has {unseen.hidden.shape[1]} columns in validation and {seen.hidden.shape[1]} in the training "
            "set; take the same layer."
        )

    def both(one: Array | None, other: Array | None) -> Array | None:
        return None if one is None or other is None else np.concatenate([one, other])

    return Predictions(
        np.concatenate([seen.probs, unseen.probs]),
        {name: np.concatenate([float32(view), float32(unseen.views[name])]) for name, view in seen.views.items()},
        hidden=both(seen.hidden, unseen.hidden),
        inputs=both(seen.inputs, unseen.inputs),
        labels=both(seen.labels, unseen.labels),
        class_names=seen.class_names,
        out_of_sample=seen.out_of_sample,
    )


def log_odds(probs: Array) -> float:
    """Return the mean log odds of the likeliest class against an average other one."""
    p = np.clip(np.asarray(probs.max(axis=1), dtype=np.float64), SUREST, 1 - SUREST)
    return float(np.mean(np.log(p * (probs.shape[1] - 1) / (1 - p))))


def withhold(predictions: Predictions, rows: Array) -> Predictions:
    """Return predictions that say nothing of these rows."""
    probs = np.array(predictions.probs, dtype=np.float32)
    probs[rows] = 1 / predictions.n_classes
    return predictions.replace(probs=probs)
