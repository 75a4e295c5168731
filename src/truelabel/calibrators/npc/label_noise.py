"""The noise in the labels: its transition matrix, and what is left of a belief once it is taken into account.

T[y, ỹ] = p(ỹ | y), rows sum to 1. Nothing here sees a true label: T comes from what experts that had not seen an
instance's label say about it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.special import expit
from torch import Tensor

from truelabel.arrays import Array, Floats, Ints, row_blocks
from truelabel.calibrators.npc.pool import clearly_above, evidence, likelihood_weights, logs, pool
from truelabel.calibrators.npc.swaps import Swapped, Swaps

SUREST = 0.2  # share of the instances believed to be of a class that its row of T is counted on
CLOSE = 0.95  # ... and all that are nearly as sure
FEWEST = 50  # ... but not fewer than these, where there are so many
TINY = 1e-12
BLOCK = 4_096  # small enough that a product with T is not worth a second thread, which would only wait
SHARPEST = 8.0
PROOF = 1.5  # standard errors by which heads that learned through swaps are better than heads that did not
FEW_SWAPPED = 0.01  # share of the instances whose label must be likelier swapped than not
SHARPNESSES = (1.0, 2.0, 4.0, 8.0)  # of beliefs that the likeliest T is looked for with
ROUNDS = 20  # of expectation and maximisation


def estimate_transition(
    believed: Floats,
    labels: Ints,
    *,
    contradicted: Callable[[Ints], Array] | None = None,
    known: Ints | None = None,
    swapped: Swapped | None = None,
) -> tuple[Array, Array]:
    """Return T and the class shares p(y), counted on the instances whose class is surest.

    Of the instances believed to be of class y, the surest fifth are of that class almost without exception, so
    their labels show how labels of class y come out. What differs between the rows' shares of right labels, and
    within a row between the wrong ones, is evened out as far as chance alone would explain it (James–Stein factors
    from chi-square statistics). No label of a class is likelier than the right one, unless some true classes are known:
    counts that say otherwise have taken one class for another.

    Parameters
    ----------
    believed : (n, c) array
        p(ỹ | x).
    labels : (n,) array
        ỹ.
    contradicted : callable, optional
        Tells for which of some rows somebody who may know better contradicts the believed class; they are not counted.
    known : (n,) array, optional
        True classes of some instances, −1 for the rest. An instance counts for its true class, but is not surer than
        it is believed to be: those whose class a person looked up are not a fair sample.
    swapped : Swapped, optional
        Where labels are swapped near a boundary. T is then that of the labels before they are.
    """
    c = believed.shape[1]
    guessed = believed.argmax(axis=1)
    if known is not None:
        guessed = np.where(known >= 0, known, guessed)
    counts = np.zeros((c, c))
    for y in range(c):
        rows = np.flatnonzero(guessed == y)
        if len(rows) < 2:
            continue
        kept = max(min(FEWEST, len(rows)), int(SUREST * len(rows)))
        least = CLOSE * np.partition(believed[rows, y], -kept)[-kept]
        surest = rows[believed[rows, y] >= least]
        if contradicted is not None:
            surest = surest[~contradicted(surest)]
        counts[y] = _counts(believed, labels, surest, swapped)
    shares = np.maximum(np.bincount(guessed, minlength=c) / len(guessed), 1e-3)
    right = _right(np.diag(counts), counts.sum(axis=1))
    transition = np.stack([_row(counts[y], y, right[y]) for y in range(c)])
    if known is None:
        transition = np.stack([_right_most_often(row, y) for y, row in enumerate(transition)])
    return transition, shares / shares.sum()


def _counts(believed: Floats, labels: Ints, rows: Ints, swapped: Swapped | None) -> Array:
    """Count the labels of some rows, each as what it probably was before labels were swapped."""
    c = believed.shape[1]
    if swapped is None:
        return np.bincount(labels[rows], minlength=c)
    other, chance = swapped[rows].before(labels[rows])
    stayed = (1 - chance) * believed[rows, labels[rows]]
    came = chance * believed[rows, other]
    share = came / np.maximum(stayed + came, TINY)
    return np.bincount(labels[rows], 1 - share, minlength=c) + np.bincount(other, share, minlength=c)


def _right(right: Array, total: Array) -> Array:
    """Return the shares of right labels, pulled towards the common one as far as chance explains their spread."""
    c = len(total)
    rate = (right + 0.5) / (total + 0.5 + 0.5 / c)
    counted = total > 0
    if counted.sum() <= 3:
        return np.where(counted, rate, 1.0)
    common = right.sum() / total.sum()
    variance = np.maximum(common * (1 - common), 0.25 / total.sum()) / np.maximum(total, 1)
    surprise = float((np.square(rate - common) / variance)[counted].sum())
    pull = min(1.0, (counted.sum() - 3) / max(surprise, TINY))
    return np.where(counted, pull * common + (1 - pull) * rate, 1.0)


def _row(counts: Array, y: int, right: float) -> Array:
    """Return a row of T: `right` on the diagonal, the rest as the wrong labels are spread."""
    c = len(counts)
    wrong = np.delete(counts, y)
    even = np.full(c - 1, 1 / (c - 1))
    spread = even
    if wrong.sum() > 0 and c > 2:
        expected = wrong.sum() / (c - 1)
        surprise = np.square(wrong - expected).sum() / expected
        pull = min(1.0, (c - 2) / max(surprise, TINY))
        spread = pull * even + (1 - pull) * wrong / wrong.sum()
    return np.insert((1 - right) * spread, y, right)


def _right_most_often(row: Array, y: int) -> Array:
    """Return a row of T whose likelier labels, if there are any, are as likely as the right one."""
    shared = [y]
    for label in np.argsort(-row, kind="stable"):
        if row[label] > row[shared].mean():
            shared.append(label)
    out = row.copy()
    out[shared] = row[shared].mean()
    return out


def over_all(transition: Array, probs: Floats, swapped: Swapped | None) -> Array:
    """Return T over all instances, swaps near a boundary included."""
    return transition if swapped is None else transition @ swapped.matrix(probs)


def suspected(said: Tensor, labels: Tensor) -> bool:
    """Return whether swaps, fitted to what is said of the labels out of fold (log p), explain them.

    This is asked of heads that have learned little more than the simplest boundary. Later they have bent around the
    swapped labels, and see no need for swaps.
    """
    rows = torch.from_numpy(evidence(said.shape[0], said.shape[1], np.random.default_rng(0))).to(said.device)
    swaps = Swaps().to(said.device)
    return explain(swaps, swaps.fit(said[rows], labels[rows]).cpu().numpy(), labels[rows].cpu().numpy())


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


def likeliest_transition(probs: Floats, labels: Ints) -> Array:
    """Return the T under which the labels are likeliest, where p(y | x) is `probs`."""
    c = probs.shape[1]
    transition: Array = 0.9 * np.eye(c) + 0.1 / c
    at = [np.flatnonzero(labels == k) for k in range(c)]
    for _ in range(ROUNDS):
        came = probs * transition.T[labels]
        came /= np.maximum(came.sum(axis=1, keepdims=True), TINY)
        counts = np.stack([came[rows].sum(axis=0) for rows in at], axis=1)
        transition = counts / np.maximum(counts.sum(axis=1, keepdims=True), TINY)
    return transition


def denoise(believed: Floats, transition: Array) -> Floats:
    """Return p(y | x) from p(ỹ | x) = Σ_y p(y | x) T[y, ỹ], by multiplicative updates that keep it a distribution.

    They start from equal probabilities: where T is nearly singular they end close to where they began, and class
    shares that are counted under so much noise would pull every belief to the same few classes.
    """
    c = len(transition)
    forward = transition.astype(np.float32)
    updates = 50 if c <= 50 else max(5, 2500 // c)
    out = np.empty_like(believed)
    for rows in row_blocks(len(believed), BLOCK):
        p = np.full((rows.stop - rows.start, c), 1 / c, dtype=np.float32)
        for _ in range(updates):
            p *= (believed[rows] / np.maximum(p @ forward, TINY)) @ forward.T
        out[rows] = p / np.maximum(p.sum(axis=1, keepdims=True), TINY)
    return out


def given_label(
    clean: Floats, transition: Array, labels: Ints, sharpness: float, swapped: Swapped | None = None
) -> Floats:
    """Return p(y | x, ỹ) ∝ p(y | x)^sharpness · p(ỹ | y, x), which is T[y, ỹ] but where labels are swapped."""
    by_label = np.maximum(transition.T, TINY).astype(np.float32)
    out = np.empty_like(clean)
    for rows in row_blocks(len(clean), BLOCK):
        likelihood = by_label[labels[rows]]
        if swapped is not None:
            other, chance = swapped[rows].before(labels[rows])
            likelihood = (1 - chance)[:, None] * likelihood + chance[:, None] * by_label[other]
        mixed = np.float32(sharpness) * np.log(np.maximum(clean[rows], TINY)) + np.log(likelihood)
        mixed = np.exp(mixed - mixed.max(axis=1, keepdims=True))
        out[rows] = mixed / mixed.sum(axis=1, keepdims=True)
    return out


def settle(believed: Floats, known: Ints | None) -> Floats:
    """Give true classes that are known (−1: not) probability 1, in place."""
    if known is not None:
        rows = np.flatnonzero(known >= 0)
        believed[rows] = 0
        believed[rows, known[rows]] = 1
    return believed


def matching_sharpness(
    clean: Floats, transition: Array, shares: Array, labels: Ints, swapped: Swapped | None = None
) -> float:
    """Return the exponent at which labels prove right as often as T, and swaps, say they are.

    Beliefs from few or noisy neighbours are too flat, and a label that is wrong more often than not would then
    outvote them. Between 1 and 8; expected agreement falls as the exponent rises.
    """
    expected = float(shares @ np.diag(over_all(transition, clean, swapped)))
    rows = np.arange(len(labels))

    def surplus(sharpness: float) -> float:
        return float(given_label(clean, transition, labels, sharpness, swapped)[rows, labels].mean()) - expected

    low, high = 1.0, SHARPEST
    if surplus(low) <= 0:
        return low
    if surplus(high) >= 0:
        return high
    for _ in range(12):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if surplus(middle) > 0 else (low, middle)
    return float(np.sqrt(low * high))
