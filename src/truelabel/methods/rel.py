"""REL, also called CDR (Xia et al.): only the weights that matter follow the gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from truelabel.methods.ce import CE
from truelabel.methods.held_out import HeldOut
from truelabel.methods.noise_rate import NoiseRated
from truelabel.methods.run import Batch, Run


@dataclass(kw_only=True)
class REL(HeldOut, NoiseRated, CE):
    """The critical share 1 - τ of the weights learns, at 1 - τ of the gradient; all the others only decay.

    Xia, Liu, Han, Gong, Wang, Ge and Chang, "Robust Early-Learning: Hindering the Memorization of Noisy
    Labels", ICLR 2021, algorithm 1. A weight is critical if |g·w| is among the largest in its network; biases
    and normalisation learn as always. The epoch of the best accuracy on held-out noisy labels is kept. It
    needs SGD, as there: Adam's running averages would move weights whose gradient is masked.

    Parameters
    ----------
    epochs : int, default 100
        Their MNIST and Fashion-MNIST.
    noise_rate : float, optional
        τ; estimated by default.
    learning_rate : float, default 0.01
        Theirs, divided by ten at 20 % and at 40 % of `epochs` (their 40 and 80 of 200).
    momentum, weight_decay : float, default 0.9 and 1e-3
        Theirs.
    validation : float, default 0.1
        Share of the noisy set held out (theirs).
    **parameters
        As in `Method`.
    """

    epochs: int = 100
    learning_rate: float = 0.01
    optimizer: Literal["adam", "sgd"] = "sgd"
    weight_decay: float = 1e-3

    name = "rel"
    summary = "only the critical parameters learn, the others decay"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.optimizer == "sgd", "optimizer", '"sgd" (Adam would move masked weights)')

    def rate(self, run: Run) -> float:
        """Divide by ten at 20 % and at 40 % of the epochs."""
        return float(0.1 ** sum(run.epoch >= self.at(share) for share in (0.2, 0.4)))

    def step(self, run: Run, batch: Batch) -> Tensor:
        """Take a step along the gradient of cross entropy, masked to the critical weights."""
        loss = self.loss(run, batch)
        run.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.mask(run)
        run.optimizer.step()
        return loss

    def mask(self, run: Run) -> None:
        """Scale the gradients of critical weights by 1 - τ and set those of all other weights to 0."""
        share = 1 - self.forget_rate(run)
        weights = [weight for weight in run.network.parameters() if weight.ndim > 1]
        pairs = [(weight.grad, weight.detach()) for weight in weights if weight.grad is not None]
        worth = torch.cat([(gradient * weight).abs().flatten() for gradient, weight in pairs])
        threshold = worth.kthvalue(len(worth) - max(1, int(share * len(worth))) + 1).values
        for gradient, weight in pairs:
            gradient *= share * ((gradient * weight).abs() >= threshold)

    def finish(self, run: Run) -> None:
        """Return to the best epoch."""
        self.restore_best(run)
