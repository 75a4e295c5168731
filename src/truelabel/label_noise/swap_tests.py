"""Whether labels are swapped near a class boundary: what has to be shown before swaps are believed."""

from __future__ import annotations

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.special import expit
from torch import Tensor

from truelabel.arrays import Floats, Ints
from truelabel.label_noise.likelihood import likeliest_transition
from truelabel.label_noise.swaps import Swaps
from truelabel.pool import clearly_above, evidence, likelihood_weights, logs, pool

PROOF = 1.5  # standard errors by which heads that learned through swaps are better than heads that did not
FEW_SWAPPED = 0.01  # share of the instances whose label must be likelier swapped than not
SHARPNESSES = (1.0, 2.0, 4.0, 8.0)  # of beliefs that the likeliest T is looked for with


def suspected(said: Tensor, labels: Tensor) -> bool:
    """Return whether swaps, fitted to what is said of the labels out of fold (log p), explain them.

    This is asked of heads that have learned little more than the simplest boundary. Later they have bent around the
    swapped labels, and see no need for swaps.
    """
    rows = torch.from_numpy(evidence(said.shape[0], said.shape[1], np.random.default_rng(0))).to(said.device)
    swaps = Swaps().to(said.device)
    try:
        probs = swaps.fit(said[rows], labels[rows]).cpu().numpy()
    except RuntimeError as error:
        if "overflow" not in str(error):
            raise
        return False  # where all instances are equally near to the boundary, the search may leave all bounds
    return bool(np.isfinite(probs).all()) and explain(swaps, probs, labels[rows].cpu().numpy())


def proven(swaps: Swaps, probs: Floats, plain: Floats, labels: Ints) -> bool:
    """Return whether `probs` predict the labels out of fold better through swaps than `plain` does without.

    Where more labels are swapped than not somewhere, which is what no noise does that leaves most labels of each class
    right, a little better is enough. Otherwise it has to be clear, and a transition matrix must not help `plain` to do
    as well.
    """
    rows = np.arange(len(labels))
    swapped = swaps.at(probs)
    through, without = logs(swapped.exchange(probs)[rows, labels]), logs(plain[rows, labels])
    if np.mean(swapped.chance > 0.5) >= FEW_SWAPPED:
        return clearly_above(through, without, PROOF)
    helped = logs((plain @ likeliest_transition(plain, labels).astype(np.float32))[rows, labels])
    return clearly_above(through, without) and clearly_above(through, helped)


def explain(swaps: Swaps, probs: Floats, labels: Ints) -> bool:
    """Return whether `probs` predict the labels clearly better through swaps than through any transition matrix.

    With two classes, or noise that goes one way, a transition matrix does what swaps do, and does it from a count. It
    may have `probs` at any temperature. Heads that learned from few labels, many of which such noise has moved, know
    the two classes but not which comes first; that is no swap either, as long as the odds of the two are as far off
    everywhere.
    """
    rows = np.arange(len(labels))
    through_swaps = logs(swaps.at(probs).exchange(probs))[rows, labels]
    if not clearly_above(through_swaps, logs(flattened_odds(probs, labels))[rows, labels]):
        return False
    for sharpness in (*SHARPNESSES, likelihood_weights([probs], labels)[0]):
        clean = pool([probs], np.array([sharpness]))
        otherwise = clean @ likeliest_transition(clean, labels).astype(np.float32)
        if not clearly_above(through_swaps, logs(otherwise)[rows, labels]):
            return False
    return True


def flattened_odds(probs: Floats, labels: Ints) -> Floats:
    """Return `probs` with the odds of the two likeliest classes at the power under which the labels are likeliest."""
    rows = np.arange(len(labels))
    pair = np.argpartition(-probs, 1, axis=1)[:, :2]
    both = probs[rows[:, None], pair]
    odds = logs(both[:, 0]) - logs(both[:, 1])
    at = np.flatnonzero((labels[:, None] == pair).any(axis=1))
    towards = np.where(labels[at] == pair[at, 0], odds[at], -odds[at])
    power = minimize_scalar(lambda power: np.logaddexp(0, -power * towards).mean(), bounds=(0, 2), method="bounded").x
    out, first = probs.copy(), expit(power * odds)
    out[rows[:, None], pair] = both.sum(axis=1, keepdims=True) * np.stack([first, 1 - first], axis=1)
    return out
