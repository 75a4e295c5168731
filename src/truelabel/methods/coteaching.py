"""Co-teaching (Han et al.): two networks, each learning from what the other finds easy."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import cross_entropy

from truelabel.methods.run import Batch, Run
from truelabel.methods.small_loss import SmallLoss


@dataclass(kw_only=True)
class CoTeaching(SmallLoss):
    """Each of two networks picks the instances of small loss from a batch, and the other learns from them.

    Han, Yao, Yu, Niu, Xu, Hu, Tsang and Sugiyama, "Co-teaching: Robust Training of Deep Neural Networks with
    Extremely Noisy Labels", NeurIPS 2018, algorithm 1. Network 1 makes the predictions.

    Parameters
    ----------
    noise_rate : float, optional
        τ; estimated by default.
    gradual : float, default 0.05
        Share of `epochs` over which the forget rate grows to τ (their 10 of 200).
    decay_from : float, default 0.4
        Share of `epochs` after which the learning rate falls to 0 (their 80 of 200).
    **parameters
        As in `Method`.
    """

    name = "coteaching"
    summary = "two networks exchange the instances of small loss"

    def loss(self, run: Run, batch: Batch) -> Tensor:
        """Return the losses of both networks, each on the set that the other selected."""
        mine = cross_entropy(batch.logits, batch.labels, reduction="none")
        peers = cross_entropy(batch.peer_logits, batch.labels, reduction="none")
        return mine[self.small(run, peers)].mean() + peers[self.small(run, mine)].mean()
