"""Joint optimisation of weights and labels (Tanaka et al.)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from truelabel.methods.base import Method
from truelabel.methods.run import Batch, Run


@dataclass(kw_only=True)
class Joint(Method):
    """Learn weights and labels in turn, then train a fresh network on the labels that came out.

    Tanaka, Ikami, Yamasaki and Aizawa, "Joint Optimization Framework for Learning with Noisy Labels", CVPR
    2018, algorithm 1 with the loss L_c + α·L_p + β·L_e, the cross entropy against the present soft labels,
    KL(prior‖mean prediction of the batch) against the solution in which all labels are one, and the entropy
    of the predictions against the one in which labels stay soft. Labels become the mean of the predictions of
    the last epochs.

    Parameters
    ----------
    epochs : int, default 200
        Length of the first stage (theirs).
    alpha, beta : float, default 1.0 and 0.5
        Weights α and β (the NPC paper, and the defaults of their release).
    prior : sequence of float, optional
        The share of each class among the true labels. By default all classes are alike (their CIFAR-10); pass
        what is known of a set in which they are not.
    update_from : float, default 0.35
        Share of `epochs` from which labels are updated after every epoch (theirs: 70 of 200).
    average : float, default 0.05
        Share of `epochs` over which predictions are averaged (their release: 10 of 200).
    retrain : float, default 0.6
        Length of the second stage as a share of `epochs` (theirs: 120 epochs after 200). The learning rate is
        divided by ten after each third of it, as there.
    **parameters
        As in `Method`. Theirs is SGD with a high learning rate, which keeps the noisy labels from being
        learned by heart before they are updated.
    """

    alpha: float = 1.0
    beta: float = 0.5
    prior: Sequence[float] | None = None
    update_from: float = 0.35
    average: float = 0.05
    retrain: float = 0.6

    name = "joint"
    summary = "weights and labels learned in turn, then a fresh network on the labels"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.alpha >= 0, "alpha", "at least 0")
        self._require(self.beta >= 0, "beta", "at least 0")
        shares = [1.0] if self.prior is None else list(self.prior)
        self._require(min(shares) > 0 and abs(sum(shares) - 1) < 1e-6, "prior", "positive and sum to 1")
        self._require(0 <= self.update_from <= 1, "update_from", "in [0, 1]")
        self._require(0 <= self.average <= 1, "average", "in [0, 1]")
        self._require(self.retrain > 0, "retrain", "positive")

    @property
    def total_epochs(self) -> int:
        """Both stages."""
        return self.epochs + max(1, self.at(self.retrain))

    def rate(self, run: Run) -> float:
        """Divide by ten after each third of the second stage."""
        passed = (run.epoch - self.epochs) / (self.total_epochs - self.epochs)
        return 1.0 if passed < 0 else float(0.1 ** int(3 * passed))

    def start(self, run: Run) -> None:
        """Begin with the noisy labels."""
        c = run.n_classes
        if self.prior is not None and len(self.prior) != c:
            raise ValueError(f"prior has {len(self.prior)} shares, but there are {c} classes; pass one a class.")
        run.state["prior"] = torch.tensor([1 / c] * c if self.prior is None else [*self.prior]).to(run.device)
        run.state["soft_labels"] = one_hot(run.labels, c).float()
        epochs = max(1, self.at(self.average))
        run.state["past"] = torch.zeros(epochs, len(run.labels), c, device=run.device)

    def start_epoch(self, run: Run) -> None:
        """Between the stages, begin anew."""
        if run.epoch == self.epochs:
            run.restart()

    def loss(self, run: Run, batch: Batch) -> Tensor:
        """Return L_c + α·L_p + β·L_e in the first stage and L_c in the second."""
        log_probs = batch.logits.log_softmax(dim=1)
        classification = -(run.state["soft_labels"][batch.rows] * log_probs).sum(dim=1).mean()
        if run.epoch >= self.epochs:
            return classification
        probs = log_probs.exp()
        run.state["past"][run.epoch % len(run.state["past"]), batch.rows] = probs.detach()
        prior = run.state["prior"]
        divergence = (prior * (prior / probs.mean(dim=0).clamp_min(1e-12)).log()).sum()
        entropy = -(probs * log_probs).sum(dim=1).mean()
        return classification + self.alpha * divergence + self.beta * entropy

    def end_epoch(self, run: Run) -> None:
        """Update the labels."""
        past = run.state["past"]
        if max(self.at(self.update_from), len(past)) <= run.epoch + 1 <= self.epochs:
            run.state["soft_labels"] = past.mean(dim=0)
