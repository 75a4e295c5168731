"""DualT (Yao et al.): a transition matrix as the product of two that are easier to estimate."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from truelabel.methods.forward import Forward
from truelabel.methods.transition import anchor_transition, label_counts


@dataclass(kw_only=True)
class DualT(Forward):
    """`Forward` with T = T♣·T♠ through an intermediate class y′, the class that the first network predicts.

    Yao, Liu, Han, Gong, Deng, Niu and Sugiyama, "Dual T: Reducing Estimation Error for Transition Matrix in
    Label-noise Learning", NeurIPS 2020, algorithm 1. T♣[y, y′] is read at anchor points of the
    first network's probabilities; T♠[y′, ỹ] is counted.

    Parameters
    ----------
    epochs, percentile, validation
        As in `Forward`.
    **parameters
        As in `Method`.
    """

    name = "dualt"
    summary = "loss corrected by the product of an anchor-point and a counted matrix"

    def estimate(self, probs: Tensor, labels: Tensor) -> Tensor:
        """Return T♣·T♠."""
        club = anchor_transition(probs, self.percentile)
        spade = label_counts(probs.argmax(dim=1), labels, probs.shape[1])
        return club @ spade
