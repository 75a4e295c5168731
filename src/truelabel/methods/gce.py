"""GCE: generalised cross entropy (Zhang and Sabuncu)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from truelabel.methods.base import Method
from truelabel.methods.run import Batch, Run


@dataclass(kw_only=True)
class GCE(Method):
    """A loss between cross entropy (q → 0) and mean absolute error (q = 1).

    Zhang and Sabuncu, "Generalized Cross Entropy Loss for Training Deep Neural Networks with Noisy Labels",
    NeurIPS 2018, equation 6: (1 - p_ỹ^q) / q.

    Parameters
    ----------
    q : float, default 0.7
        Theirs, for every experiment.
    **parameters
        As in `Method`.
    """

    q: float = 0.7

    name = "gce"
    summary = "a loss between cross entropy and mean absolute error"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 < self.q <= 1, "q", "in (0, 1]")

    def loss(self, run: Run, batch: Batch) -> Tensor:
        """Return the mean of (1 - p_ỹ^q) / q."""
        right = batch.logits.log_softmax(dim=1).gather(1, batch.labels[:, None])
        return (1 - (self.q * right).exp()).mean() / self.q
