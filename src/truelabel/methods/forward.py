"""Forward loss correction (Patrini et al.), in two stages."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from truelabel.methods.ce import CE
from truelabel.methods.held_out import HeldOut
from truelabel.methods.run import Batch, Run
from truelabel.methods.transition import anchor_transition, forward_nll


@dataclass(kw_only=True)
class Forward(HeldOut, CE):
    """Estimate T with a first network, then train a second one through it.

    Patrini, Rozza, Krishna Menon, Nock and Qu, "Making Deep Neural Networks Robust to Label Noise: a Loss
    Correction Approach", CVPR 2017, equations 12 and 13 and theorem 2. The first network is trained with
    cross entropy, and its epoch of the best accuracy on held-out noisy labels gives the probabilities that T
    is read from: at the end it would have memorised, and T would be the identity. The second minimises -log
    (Tᵀp)_ỹ on the whole set.

    Parameters
    ----------
    epochs : int, default 200
        Length of each stage.
    percentile : float, default 97
        Where among the p(ỹ = i | x) the anchor point of class i lies (their release; 100 for CIFAR-100).
    validation : float, default 0.1
        Share of the noisy set held out in the first stage.
    **parameters
        As in `Method`.
    """

    percentile: float = 97.0

    name = "forward"
    summary = "loss corrected by a transition matrix from anchor points"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 < self.percentile <= 100, "percentile", "in (0, 100]")

    @property
    def total_epochs(self) -> int:
        """Both stages."""
        return 2 * self.epochs

    def estimate(self, probs: Tensor, labels: Tensor) -> Tensor:
        """Return T from the first network's probabilities of the noisy labels."""
        return anchor_transition(probs, self.percentile)

    def start_epoch(self, run: Run) -> None:
        """Between the stages, estimate T and begin anew, now on the whole set."""
        if run.epoch == self.epochs:
            self.restore_best(run)
            run.state = {"transition": self.estimate(run.probabilities(), run.labels)}
            run.restart()

    def loss(self, run: Run, batch: Batch) -> Tensor:
        """Return cross entropy in the first stage, the corrected one in the second."""
        if "transition" not in run.state:
            return super().loss(run, batch)
        return forward_nll(batch.logits, batch.labels, run.state["transition"])
