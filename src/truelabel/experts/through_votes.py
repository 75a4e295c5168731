"""Out-of-fold heads that learn from the votes of several annotators, through what is known of these annotators.

A head says p(y | x), and is asked for the votes: its loss is −log Σ_y p(y | x) p(votes | y). So heads can learn from an
instance whose class is not settled, and an annotator who is known to confuse two classes teaches accordingly.
"""

from __future__ import annotations

import copy
import math

import numpy as np
import torch
from torch import Tensor

from truelabel.arrays import Array, Floats, Ints, float32
from truelabel.copies import Copies, folds_of
from truelabel.experts.heads import FOLDS, PATIENT_STEPS, FoldHeads, HeadSettings, everywhere
from truelabel.progress import Progress
from truelabel.scale import Scale
from truelabel.seeding import seeded

BLOCK = 16_384


def through_votes(
    view: Array,
    scale: Scale,
    log_likelihood: Array,
    reference: Ints,
    *,
    device: torch.device,
    seed: int,
    progress: Progress,
    settings: HeadSettings | None = None,
    copies: Copies | None = None,
) -> Floats:
    """Return p(y | x) of every row of `view` by heads that have not seen the votes for it.

    Parameters
    ----------
    view, scale : (n, d) array, Scale
        The features.
    log_likelihood : (n, c) array
        log p(votes | y) of each instance.
    reference : (m,) array
        Rows that heads learn from, cut into folds; other rows are predicted by the mean of all heads.
    device, seed, progress
        Where, from which random numbers, and how visibly they learn.
    settings : HeadSettings, optional
        How. Of the states after each epoch the one under which votes out of fold are likeliest is kept.
    copies : Copies, optional
        Instances that are copies of each other, which are in one fold.
    """
    settings = settings or HeadSettings()
    rng = np.random.default_rng(seed)
    fold_of = folds_of(copies, reference, FOLDS, rng)
    folds = int(fold_of.max()) + 1
    x = torch.from_numpy(scale(float32(view, reference))).to(device)
    highest = log_likelihood[reference].max(axis=1, keepdims=True)
    votes = torch.from_numpy((log_likelihood[reference] - highest).astype(np.float32)).to(device)
    seen = [torch.from_numpy(np.flatnonzero(fold_of != f)) for f in range(folds)]
    fold = torch.from_numpy(fold_of).to(device)
    with seeded(seed):
        best, own = _learned(x, votes, seen, fold, settings, progress)
    unseen_by = None if copies is None else copies.folds_elsewhere(reference, fold_of)
    return everywhere(best, view, scale, reference, own, device, unseen_by)


def _learned(
    x: Tensor, votes: Tensor, seen: list[Tensor], fold: Tensor, settings: HeadSettings, progress: Progress
) -> tuple[FoldHeads, Tensor]:
    """Return heads that learned from the votes, one for each fold, and log p(y | x) by them out of fold."""
    shortest = min(len(rows) for rows in seen)
    batch = min(max(8, min(settings.batch_size, shortest // 4)), shortest)
    settings = settings.for_data(shortest, x.shape[1])
    per_epoch = max(1, shortest // batch)
    used = per_epoch * batch
    epochs = max(settings.epochs, math.ceil(settings.least_steps / per_epoch))
    patience = max(settings.patience, math.ceil(PATIENT_STEPS / per_epoch))
    heads = FoldHeads(len(seen), x.shape[1], settings.hidden, votes.shape[1]).to(x.device)
    optimizer = torch.optim.Adam(heads.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    least, since, best, own = math.inf, 0, heads, torch.empty(0)
    for _ in progress.track(range(epochs), "heads that learn from votes"):
        orders = torch.stack([rows[torch.randperm(len(rows))[:used]] for rows in seen])
        for start in range(0, used, batch):
            picked = orders[:, start : start + batch].to(x.device)
            said = torch.log_softmax(heads(x[picked], settings.dropout), dim=-1)
            loss = _surprise(said, votes[picked])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        said = _out_of_fold(heads, x, fold)
        since += 1
        if (now := float(_surprise(said, votes))) < least:
            least, since, best, own = now, 0, copy.deepcopy(heads), said
        if since >= patience:
            break
    return best, own


def _surprise(log_p: Tensor, votes: Tensor) -> Tensor:
    """Return the mean of −log Σ_y p(y | x) p(votes | y)."""
    return -torch.logsumexp(log_p + votes, dim=-1).mean()


@torch.inference_mode()
def _out_of_fold(heads: FoldHeads, x: Tensor, fold: Tensor) -> Tensor:
    """Return log p(y | x) of each row by the head that has not seen it."""
    out = torch.empty(len(x), heads.last.shape[2], device=x.device)
    for start in range(0, len(x), BLOCK):
        rows = slice(start, start + BLOCK)
        own = heads(x[rows]).gather(0, fold[rows][None, :, None].expand(1, -1, out.shape[1]))[0]
        out[rows] = torch.log_softmax(own, dim=1)
    return out
