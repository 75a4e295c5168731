"""CORES² (Cheng et al.): confidence regularisation and a sample sieve."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from truelabel.methods.base import Method
from truelabel.methods.run import Batch, Run


@dataclass(kw_only=True)
class CORES2(Method):
    """Cross entropy less β times its expectation under the label prior, on the instances that pass a sieve.

    Cheng, Zhu, Li, Gong, Sun and Liu, "Learning with Instance-Dependent Label Noise: A Sample Sieve
    Approach", ICLR 2021, the confidence-regularised loss ℓ_ỹ - β·Σ_j π_j ℓ_j with ℓ_j = -log p_j. Once the
    sieve works, an instance is kept if its loss is not above the mean of its ℓ_j, and π is the distribution
    of the labels of the instances kept.

    Parameters
    ----------
    epochs : int, default 100
        Theirs.
    beta : float, default 2.0
        Final β (theirs, for CIFAR-10).
    plain, full : float, default 0.1 and 0.4
        Shares of `epochs` up to which β is 0 and from which it is final, growing linearly between (their
        release: epochs 10 and 40 of 100). With SGD the learning rate is divided by 1 + β, as there; a step of
        Adam does not grow with the gradient.
    sieve_from : float, default 0.3
        Share of `epochs` after which the sieve works (their release: epoch 30 of 100).
    **parameters
        As in `Method`.
    """

    epochs: int = 100
    beta: float = 2.0
    plain: float = 0.1
    full: float = 0.4
    sieve_from: float = 0.3

    name = "cores2"
    summary = "confidence regularisation and a dynamic sample sieve"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.beta >= 0, "beta", "at least 0")
        self._require(0 <= self.plain <= self.full, "plain", "at least 0 and no more than full")
        self._require(self.sieve_from >= 0, "sieve_from", "at least 0")

    def beta_at(self, epoch: int) -> float:
        """Return β in an epoch: 0, then growing, then final."""
        start, end = self.at(self.plain), self.at(self.full)
        return self.beta * min(max((epoch - start) / max(1, end - start), 0.0), 1.0)

    def rate(self, run: Run) -> float:
        """Divide SGD's by 1 + β, by which the regulariser enlarges the gradient."""
        return 1 / (1 + self.beta_at(run.epoch)) if self.optimizer == "sgd" else 1.0

    def start_epoch(self, run: Run) -> None:
        """Take the label prior π from the instances that the last epoch kept."""
        kept = run.state.setdefault("kept", torch.ones_like(run.labels, dtype=torch.bool))
        if kept.any():
            run.state["prior"] = torch.bincount(run.labels[kept], minlength=run.n_classes) / kept.sum()

    def loss(self, run: Run, batch: Batch) -> Tensor:
        """Return the regularised loss of the instances that pass the sieve."""
        losses = -(batch.logits.softmax(dim=1) + 1e-8).log()
        given = losses.gather(1, batch.labels[:, None])[:, 0]
        kept = torch.ones_like(batch.labels, dtype=torch.bool)
        if run.epoch > self.at(self.sieve_from):
            kept = given.detach() <= losses.detach().mean(dim=1)
        run.state["kept"][batch.rows] = kept
        regularised = given - self.beta_at(run.epoch) * losses @ run.state["prior"]
        return (regularised * kept).sum() / kept.sum().clamp_min(1)
