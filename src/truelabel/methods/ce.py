"""Cross entropy: training as if the labels were clean."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import cross_entropy

from truelabel.methods.base import Method
from truelabel.methods.run import Batch, Run


@dataclass(kw_only=True)
class CE(Method):
    """Cross entropy on the noisy labels: the baseline, which memorises them if it trains for long.

    Examples
    --------
    >>> from truelabel.methods import CE
    >>> CE(epochs=30).learning_rate
    0.001
    """

    name = "ce"
    summary = "cross entropy on the noisy labels as they are"

    def loss(self, run: Run, batch: Batch) -> Tensor:
        """Return the mean of -log p(ỹ | x)."""
        return cross_entropy(batch.logits, batch.labels)
