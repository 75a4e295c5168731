"""Two networks that learn from the instances of small loss only: what Co-teaching and its heirs share."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from truelabel.methods.noise_rate import NoiseRated
from truelabel.methods.run import Run


@dataclass(kw_only=True)
class SmallLoss(NoiseRated):
    """A method of two networks that forgets a growing share of each batch, up to the noise rate.

    Parameters
    ----------
    gradual : float, default 0.05
        Share of `epochs` over which the forget rate grows from 0 to τ (Co-teaching: T_k = 10 of 200).
    decay_from : float, default 0.4
        Share of `epochs` from which the learning rate falls linearly to 0 and Adam's β₁ is 0.1 (the releases
        of Co-teaching and JoCoR: epoch 80 of 200).
    noise_rate : float, optional
        τ, the share of wrong labels; estimated by default.
    **parameters
        As in `Method`.
    """

    gradual: float = 0.05
    decay_from: float = 0.4

    two_networks = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 <= self.gradual <= 1, "gradual", "in [0, 1]")
        self._require(0 < self.decay_from <= 1, "decay_from", "in (0, 1]")

    def forget_rate(self, run: Run) -> float:
        """Return τ·min(t / T_k, 1) for epoch t, counted from 1."""
        return super().forget_rate(run) * min((run.epoch + 1) / max(1, self.at(self.gradual)), 1.0)

    def rate(self, run: Run) -> float:
        """Fall linearly to 0 after `decay_from`."""
        return min(1.0, (self.epochs - run.epoch) / max(1, self.epochs - self.at(self.decay_from)))

    def start_epoch(self, run: Run) -> None:
        """Lower Adam's β₁ once the learning rate falls."""
        if self.optimizer == "adam" and run.epoch >= self.at(self.decay_from):
            for group in run.optimizer.param_groups:
                group["betas"] = (0.1, 0.999)

    def small(self, run: Run, losses: Tensor) -> Tensor:
        """Return which of a batch to learn from: the share 1 - forget rate with the smallest losses."""
        kept = max(1, int((1 - self.forget_rate(run)) * len(losses)))
        return losses.detach().argsort()[:kept]
