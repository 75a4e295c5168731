"""CausalNL*: two classifiers inside causal models of x and ŷ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from truelabel.calibrators.retrained import Retrained

if TYPE_CHECKING:
    from truelabel.methods import Method
    from truelabel.methods.run import NetworkLike


class CausalNL(Retrained):
    """Train two new co-teaching networks inside generative models of x and ŷ: the paper's CausalNL*.

    Yao et al., "Instance-dependent Label-noise Learning under a Structural Causal Model", NeurIPS 2021, as in
    `methods.CausalNL`, on the classifier's predictions in place of the noisy labels. Network 1 answers.

    Parameters
    ----------
    noise_rate : float, optional
        Share of the predictions that are wrong; estimated by default.
    z_dim : int, default 25
        Width of z, as in `methods.CausalNL`.
    network, epochs, batch_size, learning_rate, device, random_state, progress
        As in `Retrained`; 150 epochs by default.
    """

    def __init__(
        self,
        *,
        network: NetworkLike | None = None,
        noise_rate: float | None = None,
        z_dim: int = 25,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        device: str = "auto",
        random_state: int | None = None,
        progress: bool | Literal["auto"] = "auto",
    ) -> None:
        self.network = network
        self.noise_rate = noise_rate
        self.z_dim = z_dim
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def _method(self, **training: Any) -> Method:
        from truelabel import methods

        return methods.CausalNL(noise_rate=self.noise_rate, z_dim=self.z_dim, **training)
