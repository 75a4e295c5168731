"""TVR (Zhang, Niu and Sugiyama): T learned along with the classifier, by total variation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from truelabel.methods.base import Method
from truelabel.methods.run import Batch, Run
from truelabel.methods.transition import forward_nll


class LearnedTransition(nn.Module):
    """A transition matrix, each row a softmax, that starts with `diagonal` and evenly spread flips."""

    def __init__(self, c: int, diagonal: float) -> None:
        super().__init__()
        off = math.log((1 - diagonal) / (c - 1))
        self.weights = nn.Parameter(torch.full((c, c), off).fill_diagonal_(math.log(diagonal)))

    def forward(self) -> Tensor:
        """Return T[y, ỹ]."""
        return self.weights.softmax(dim=1)


@dataclass(kw_only=True)
class TVR(Method):
    """Likelihood of the noisy labels through a learned T, regularised by the predictions' total variation.

    Zhang, Niu and Sugiyama, "Learning Noise Transition Matrix from Only Noisy Labels via Total Variation
    Regularization", ICML 2021, the gradient-based estimator: -log (Tᵀp)_ỹ - γ·mean ½‖p_i - p_j‖₁
    over random pairs of a batch. The cleanest classifier spreads its predictions most, which is what tells T
    from p.

    Parameters
    ----------
    gamma : float, default 0.1
        γ (their release).
    diagonal : float, default 0.5
        Diagonal of T at the start (their release).
    transition_rate : float, default 5e-3
        Adam's learning rate for T (their release).
    warmup : float, default 0.2
        Share of `epochs` in which T's learning rate grows from 0; after it, it falls linearly to 0 (their
        release: 400 of 2,000 steps).
    **parameters
        As in `Method`.
    """

    gamma: float = 0.1
    diagonal: float = 0.5
    transition_rate: float = 5e-3
    warmup: float = 0.2

    name = "tvr"
    summary = "learned transition matrix with total variation regularisation"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.gamma >= 0, "gamma", "at least 0")
        self._require(0 < self.diagonal < 1, "diagonal", "between 0 and 1")
        self._require(self.transition_rate > 0, "transition_rate", "positive")
        self._require(0 <= self.warmup < 1, "warmup", "in [0, 1)")

    def modules(self, run: Run) -> dict[str, nn.Module]:
        """Make the network and T."""
        return {**super().modules(run), "transition": LearnedTransition(run.n_classes, self.diagonal)}

    def make_optimizer(self, modules: nn.ModuleDict) -> torch.optim.Optimizer:
        """Make an optimiser with a group of its own for T."""
        optimizer = super().make_optimizer(nn.ModuleDict({"network": modules["network"]}))
        optimizer.add_param_group({"params": [*modules["transition"].parameters()], "lr": self.transition_rate})
        return optimizer

    def start_epoch(self, run: Run) -> None:
        """Let T's learning rate grow, then fall."""
        peak = self.at(self.warmup)
        grown, left = (run.epoch + 1) / (peak + 1), (self.epochs - run.epoch) / (self.epochs - peak)
        run.optimizer.param_groups[1]["initial_lr"] = self.transition_rate * min(grown, left)

    def loss(self, run: Run, batch: Batch) -> Tensor:
        """Return the noisy likelihood's negative, less γ times the total variation."""
        probs = batch.logits.softmax(dim=1)
        first, second = torch.randint(len(probs), (2, len(probs))).to(probs.device)
        variation = 0.5 * (probs[first] - probs[second]).abs().sum(dim=1).mean()
        return forward_nll(batch.logits, batch.labels, run.modules["transition"]()) - self.gamma * variation

    def transition(self, run: Run) -> Tensor:
        """Return T as learned."""
        matrix: Tensor = run.modules["transition"]()
        return matrix
