"""Label smoothing (Szegedy et al.)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import cross_entropy

from truelabel.methods.base import Method
from truelabel.methods.run import Batch, Run


@dataclass(kw_only=True)
class LabelSmoothing(Method):
    """Cross entropy against (1 - ε)·onehot(ỹ) + ε/c.

    Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, "Rethinking the Inception Architecture for Computer Vision",
    CVPR 2016, section 7; for noisy labels Lukasik, Bhojanapalli, Menon and Kumar, ICML 2020.

    Parameters
    ----------
    smoothing : float, default 0.1
        ε (both papers, and the NPC paper).
    **parameters
        As in `Method`.
    """

    smoothing: float = 0.1

    name = "labelsmoothing"
    summary = "cross entropy against labels softened by a uniform share"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 <= self.smoothing < 1, "smoothing", "in [0, 1)")

    def loss(self, run: Run, batch: Batch) -> Tensor:
        """Return the mean of -Σ_j q_j log p_j with the smoothed label q."""
        return cross_entropy(batch.logits, batch.labels, label_smoothing=self.smoothing)
