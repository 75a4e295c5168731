"""SCE: symmetric cross entropy (Wang et al.)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import cross_entropy

from truelabel.methods.base import Method
from truelabel.methods.run import Batch, Run


@dataclass(kw_only=True)
class SCE(Method):
    """Cross entropy plus the reverse cross entropy, in which prediction and label change places.

    Wang, Ma, Chen, Luo, Yi and Bailey, "Symmetric Cross Entropy for Robust Learning with Noisy Labels", ICCV
    2019, the loss α·CE + β·RCE with RCE = -Σ_j p_j log q_j. The label q is one-hot, and log 0 is
    taken as A, so that RCE = -A·(1 - p_ỹ).

    Parameters
    ----------
    alpha : float, default 0.1
        Weight α of the cross entropy (their CIFAR-10; 0.01 for MNIST).
    beta : float, default 1.0
        Weight β of the reverse cross entropy (theirs, for both).
    floor : float, default 1e-4
        What a label of 0 is clipped to, so that A = log(floor) (their release).
    **parameters
        As in `Method`.
    """

    alpha: float = 0.1
    beta: float = 1.0
    floor: float = 1e-4

    name = "sce"
    summary = "cross entropy plus reverse cross entropy"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.alpha >= 0, "alpha", "at least 0")
        self._require(self.beta >= 0, "beta", "at least 0")
        self._require(0 < self.floor < 1, "floor", "between 0 and 1")

    def loss(self, run: Run, batch: Batch) -> Tensor:
        """Return α·CE + β·RCE."""
        right = batch.logits.softmax(dim=1).gather(1, batch.labels[:, None])
        reverse = -math.log(self.floor) * (1 - right).mean()
        return self.alpha * cross_entropy(batch.logits, batch.labels) + self.beta * reverse
