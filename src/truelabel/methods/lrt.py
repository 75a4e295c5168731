"""LRT (Zheng et al.): labels that fail a likelihood ratio test are replaced by the prediction."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from truelabel.methods.base import Method
from truelabel.methods.run import Batch, Run


@dataclass(kw_only=True)
class LRT(Method):
    """Cross entropy on labels that a likelihood ratio test corrects after every epoch, also called AdaCorr.

    Zheng, Wu, Goswami, Goswami, Metaxas and Chen, "Error-Bounded Correction of Noisy Labels", ICML 2020: a label ỹ
    becomes the predicted class where max_j p_j / p_ỹ exceeds a threshold δ, p being the mean of the predictions of
    the last epochs. A label once corrected is the one that is tested next. The auxiliary "retroactive" loss of their
    release is left out.

    Parameters
    ----------
    epochs : int, default 180
        Theirs.
    threshold, growth : float, default 1.2 and 3.0
        δ where the tests begin, and by how much it has grown at the end (their release: 0.02 an epoch, for 150).
    correct_from : float, default 1/6
        Share of `epochs` after which labels are tested (their release: epoch 30 of 180).
    average : float, default 1/18
        Share of `epochs` over which predictions are averaged (their release: 10 of 180).
    **parameters
        As in `Method`.
    """

    epochs: int = 180
    threshold: float = 1.2
    growth: float = 3.0
    correct_from: float = 1 / 6
    average: float = 1 / 18

    name = "lrt"
    summary = "labels that fail a likelihood ratio test become the prediction"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.threshold >= 1, "threshold", "at least 1")
        self._require(self.growth >= 0, "growth", "at least 0")
        self._require(0 <= self.correct_from <= 1, "correct_from", "in [0, 1]")
        self._require(0 <= self.average <= 1, "average", "in [0, 1]")

    def threshold_at(self, epoch: int) -> float:
        """Return δ after an epoch, counted from 0."""
        first = self.at(self.correct_from)
        return self.threshold + self.growth * max(epoch - first + 1, 0) / max(1, self.epochs - first)

    def start(self, run: Run) -> None:
        """Begin with the noisy labels."""
        run.state["corrected"] = run.labels.clone()
        epochs = max(1, self.at(self.average))
        run.state["past"] = torch.zeros(epochs, len(run.labels), run.n_classes, device=run.device)

    def loss(self, run: Run, batch: Batch) -> Tensor:
        """Return the cross entropy of the labels as corrected so far."""
        past = run.state["past"]
        past[run.epoch % len(past), batch.rows] = batch.logits.detach().softmax(dim=1)
        return cross_entropy(batch.logits, run.state["corrected"][batch.rows])

    def end_epoch(self, run: Run) -> None:
        """Test the labels."""
        past = run.state["past"]
        if run.epoch >= max(self.at(self.correct_from), len(past) - 1):
            threshold = self.threshold_at(run.epoch)
            run.state["corrected"] = ratio_test(past.mean(dim=0), run.state["corrected"], threshold)


def ratio_test(probs: Tensor, labels: Tensor, threshold: float) -> Tensor:
    """Return the labels, but the most probable class where max_j p_j / p_label exceeds the threshold."""
    best, predicted = probs.max(dim=1)
    fails = best > threshold * probs.gather(1, labels[:, None])[:, 0]
    return torch.where(fails, predicted, labels)
