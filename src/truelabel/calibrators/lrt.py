"""LRT*: correction by likelihood ratio tests, of predictions in place of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from truelabel.calibrators.retrained import Retrained

if TYPE_CHECKING:
    from truelabel.methods import Method
    from truelabel.methods.run import NetworkLike


class LRT(Retrained):
    """Train a new network on ŷ, corrected after every epoch by likelihood ratio tests: the paper's LRT*.

    Zheng et al., "Error-Bounded Correction of Noisy Labels", ICML 2020, as in `methods.LRT`, on the classifier's
    predictions in place of the noisy labels (the NPC paper, section on label correction and post-processing).

    Parameters
    ----------
    threshold, growth : float, default 1.2 and 3.0
        As in `methods.LRT`.
    network, epochs, batch_size, learning_rate, device, random_state, progress
        As in `Retrained`; 180 epochs by default.
    """

    def __init__(
        self,
        *,
        network: NetworkLike | None = None,
        threshold: float = 1.2,
        growth: float = 3.0,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        device: str = "auto",
        random_state: int | None = None,
        progress: bool | Literal["auto"] = "auto",
    ) -> None:
        self.network = network
        self.threshold = threshold
        self.growth = growth
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def _method(self, **training: Any) -> Method:
        from truelabel import methods

        return methods.LRT(threshold=self.threshold, growth=self.growth, **training)
