"""How much label noise there is, found out from the noisy labels alone."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from truelabel.methods.base import Method
from truelabel.methods.run import Run

SAMPLE = 20_000  # instances that are looked at; the rate is a property of the whole
FOLDS = 4
LONGEST = 50  # epochs of a fold, if nothing stops it
PATIENCE = 5
LEARNING_RATE = 1e-3


@dataclass(kw_only=True)
class NoiseRated(Method):
    """A method that needs to know the noise rate τ.

    Parameters
    ----------
    noise_rate : float, optional
        τ, the share of wrong labels. By default it is estimated (`estimate_noise_rate`).
    **parameters
        As in `Method`.
    """

    noise_rate: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.noise_rate is None or 0 <= self.noise_rate < 1, "noise_rate", "in [0, 1) or None")

    def start(self, run: Run) -> None:
        """Take the noise rate that was given, or estimate it."""
        super().start(run)
        rate = estimate_noise_rate(run) if self.noise_rate is None else self.noise_rate
        run.state["noise_rate"] = torch.tensor(rate, dtype=torch.float64)

    def forget_rate(self, run: Run) -> float:
        """Return τ."""
        return run.state["noise_rate"].item()


def estimate_noise_rate(run: Run) -> float:
    """Estimate the share of wrong labels by the confident joint of out-of-fold predictions.

    Each quarter of the set is predicted by a network of the kind being trained that learned from the rest and
    was stopped when its accuracy on the quarter's noisy labels stopped rising, before it could memorise.
    """
    order = torch.randperm(len(run.labels))[:SAMPLE].to(run.device)
    folds = [fold for fold in order.tensor_split(FOLDS) if len(fold)]
    probs = []
    for k, fold in enumerate(folds):
        rest = torch.cat([other for j, other in enumerate(folds) if j != k])
        probs.append(_out_of_fold(run, rest, fold))
    joint = confident_joint(torch.cat(probs), run.labels[order])
    return 1 - (joint.trace() / joint.sum()).item()


def confident_joint(probs: Tensor, labels: Tensor) -> Tensor:
    """Return the estimated joint p(ỹ, y), c×c, from probabilities of the noisy labels.

    Northcutt, Jiang and Chuang, "Confident Learning", JAIR 2021, equations 1 to 3: an instance with label i
    counts as truly j if p_j reaches its class's threshold, the mean p_j of the instances labelled j; the rows
    are then scaled to the numbers of labels. A class in which nothing is confident counts as right.
    """
    c = probs.shape[1]
    counts = torch.bincount(labels, minlength=c).to(probs.dtype)
    own = probs.gather(1, labels[:, None])[:, 0]
    thresholds = torch.zeros(c, device=probs.device).index_add_(0, labels, own) / counts
    confident = torch.where(probs >= thresholds, probs, 0.0)  # nowhere for a class without labels: its is NaN
    sure = confident.sum(dim=1) > 0
    cells = labels[sure] * c + confident[sure].argmax(dim=1)
    joint = torch.bincount(cells, minlength=c * c).reshape(c, c).to(probs.dtype)
    joint += torch.diag((joint.sum(dim=1) == 0).to(probs.dtype))
    joint = joint / joint.sum(dim=1, keepdim=True) * counts[:, None]
    return joint / joint.sum()


def _out_of_fold(run: Run, train: Tensor, fold: Tensor) -> Tensor:
    """Train a fresh network with cross entropy on some rows; return its best predictions of the others."""
    network = run.fresh_network()
    optimizer = torch.optim.Adam(network.parameters(), LEARNING_RATE)
    best, best_epoch, kept = -1.0, 0, torch.empty(0)
    for epoch in range(LONGEST):
        for batch in run.batches(train, [network]):
            optimizer.zero_grad(set_to_none=True)
            cross_entropy(batch.logits, batch.labels).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        probs = run.probabilities(fold, network)
        accuracy = (probs.argmax(dim=1) == run.labels[fold]).float().mean().item()
        if accuracy > best:
            best, best_epoch, kept = accuracy, epoch, probs
        elif epoch - best_epoch >= PATIENCE:
            break
    return kept
