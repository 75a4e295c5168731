"""Transition matrices T[y, ỹ]: estimating one from anchor points, and learning through one."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import nll_loss


def anchor_transition(probs: Tensor, percentile: float) -> Tensor:
    """Estimate T from probabilities of noisy labels, n×c: row i is what they are at class i's anchor point.

    Patrini, Rozza, Krishna Menon, Nock and Qu, CVPR 2017, equations 12 and 13: the anchor point of class i is
    the instance for which p(ỹ = i | x) is largest or, so that an outlier is not taken, at a high percentile.
    """
    place = round(percentile / 100 * (len(probs) - 1))
    anchors = probs.argsort(dim=0)[place]
    return probs[anchors]


def label_counts(given: Tensor, labels: Tensor, c: int) -> Tensor:
    """Return the shares of noisy labels among the instances given each class, c×c."""
    counts = torch.bincount(given * c + labels, minlength=c * c).reshape(c, c).float()
    empty = (counts.sum(dim=1) == 0).float()
    counts += torch.diag(empty)
    return counts / counts.sum(dim=1, keepdim=True)


def forward_nll(logits: Tensor, labels: Tensor, transition: Tensor) -> Tensor:
    """Return the mean of -log (Tᵀp)_ỹ, the forward-corrected cross entropy."""
    noisy = logits.softmax(dim=1) @ transition
    return nll_loss(noisy.clamp_min(1e-12).log(), labels)
