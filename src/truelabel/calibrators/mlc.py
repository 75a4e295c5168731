"""MLC*: meta label correction, of predictions in place of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from truelabel.calibrators.retrained import Retrained
from truelabel.predictions import Predictions

if TYPE_CHECKING:
    from truelabel.methods import Method
    from truelabel.methods.run import NetworkLike


class MLC(Retrained):
    """Train a new network on ŷ, corrected by a second one that clean labels teach: the paper's MLC*.

    Zheng, Awadallah and Dumais, "Meta Label Correction for Noisy Label Learning", AAAI 2021, as in `methods.MLC`, on
    the classifier's predictions in place of the noisy labels. **It uses clean labels**, as no other calibrator does.

    Parameters
    ----------
    trusted : Predictions
        Instances whose `labels` are known to be right, with `inputs` or `features` as in what is fitted on. Their
        `probs` are not read.
    meta_rate : float, default 3e-4
        Learning rate of the network that corrects.
    network, epochs, batch_size, learning_rate, device, random_state, progress
        As in `Retrained`; 120 epochs by default.
    """

    def __init__(
        self,
        trusted: Predictions | None = None,
        *,
        network: NetworkLike | None = None,
        meta_rate: float = 3e-4,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        device: str = "auto",
        random_state: int | None = None,
        progress: bool | Literal["auto"] = "auto",
    ) -> None:
        self.trusted = trusted
        self.network = network
        self.meta_rate = meta_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def _method(self, **training: Any) -> Method:
        from truelabel import methods

        return methods.MLC(meta_rate=self.meta_rate, **training)

    def _fit(self, predictions: Predictions) -> None:
        if not isinstance(self.trusted, Predictions) or self.trusted.labels is None:
            raise ValueError(
                "MLC uses clean labels; pass instances whose labels are right as trusted=Predictions(…, labels=…)."
            )
        if self.trusted.n_classes != predictions.n_classes:
            raise ValueError(
                f"trusted has {self.trusted.n_classes} classes, but the predictions have {predictions.n_classes}; "
                "number the classes alike."
            )
        super()._fit(predictions)

    def _trusted(self) -> Predictions | None:
        trusted = self.trusted
        assert trusted is not None
        if self.reads_ == "inputs" and trusted.inputs is None:
            raise ValueError("trusted has no inputs, on which the predictions are fitted; pass them in trusted, too.")
        for name, scale in self.scales_.items():
            width = trusted.views[name].shape[1] if name in trusted.views else 0
            if width != len(scale.mean):
                raise ValueError(
                    f"trusted has {width} columns of the view {name!r}, but the predictions have {len(scale.mean)}; "
                    "compute its features in the same way."
                )
        return trusted
