"""JoCoR (Wei et al.): two networks that agree, trained as one."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import nll_loss

from truelabel.methods.run import Batch, Run
from truelabel.methods.small_loss import SmallLoss


@dataclass(kw_only=True)
class JoCoR(SmallLoss):
    """Two networks with one loss, cross entropy plus disagreement, on the instances where that loss is small.

    Wei, Feng, Chen and An, "Combating Noisy Labels by Agreement: A Joint Training Method with
    Co-Regularization", CVPR 2020, algorithm 1 with the joint loss (1 - λ)·(CE₁ + CE₂) + λ·(KL(p₁‖p₂) +
    KL(p₂‖p₁)). Network 1 makes the predictions.

    Parameters
    ----------
    agreement : float, default 0.5
        λ (the NPC paper; 0.9 for CIFAR-10 in theirs).
    noise_rate : float, optional
        τ; estimated by default.
    gradual, decay_from : float
        As in `CoTeaching`.
    **parameters
        As in `Method`.
    """

    agreement: float = 0.5

    name = "jocor"
    summary = "two networks with a joint loss learn where they agree"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 <= self.agreement <= 1, "agreement", "in [0, 1]")

    def joint_losses(self, batch: Batch) -> Tensor:
        """Return the joint loss of each instance."""
        mine, peers = batch.logits.log_softmax(dim=1), batch.peer_logits.log_softmax(dim=1)
        supervised = nll_loss(mine, batch.labels, reduction="none") + nll_loss(peers, batch.labels, reduction="none")
        # KL(p₁‖p₂) + KL(p₂‖p₁) = Σ (p₁ - p₂)(log p₁ - log p₂)
        disagreement = ((mine.exp() - peers.exp()) * (mine - peers)).sum(dim=1)
        return (1 - self.agreement) * supervised + self.agreement * disagreement

    def loss(self, run: Run, batch: Batch) -> Tensor:
        """Return the mean joint loss of the instances where it is small."""
        losses = self.joint_losses(batch)
        return losses[self.small(run, losses)].mean()
