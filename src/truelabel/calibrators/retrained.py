"""Label correction as post-processing: a training method run on ŷ in place of ỹ."""

from __future__ import annotations

from abc import abstractmethod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truelabel.arrays import Floats, Ints, float32
from truelabel.calibrators.base import Calibrator
from truelabel.predictions import Predictions
from truelabel.scale import Scale, moments

if TYPE_CHECKING:
    from truelabel.methods import Method
    from truelabel.methods.run import NetworkLike


class Retrained(Calibrator):
    """A calibrator that trains a new network on the classifier's predictions ŷ as if they were the noisy labels.

    The paper, section on label correction and post-processing: the methods with an asterisk. The network reads
    `inputs` where the predictions hold them, and else all views of `features` side by side, each column brought to
    mean 0 and variance 1. The noisy labels are not read. What `calibrate` returns is the new network's answer.

    A subclass supplies `_method`. The parameters of all of them:

    Parameters
    ----------
    network : str, torch.nn.Module or function, optional
        A name of `networks.NAMES`, or what else `Method.fit` takes. By default the paper's for such inputs, and "mlp"
        on features.
    epochs, batch_size, learning_rate : optional
        Of the training; the method's own where None.
    device : str, default "auto"
        The best there is where "auto".
    random_state : int, optional
        Seed. Two fits with one seed on one machine are equal.
    progress : bool or "auto"
        A bar on standard error; "auto" shows it on a terminal.

    Attributes
    ----------
    trained_ : methods.Trained
        The new network, its history and, where the method has one, its transition matrix.
    reads_ : str
        "inputs" or "features".
    """

    network: NetworkLike | None
    epochs: int | None
    batch_size: int | None
    learning_rate: float | None
    device: str
    random_state: int | None
    progress: bool | Literal["auto"]

    @abstractmethod
    def _method(self, **training: Any) -> Method:
        """Return the training method; `training` holds the epochs and such that were given."""

    def _trusted(self) -> Predictions | None:
        """Return instances with clean labels, for a method that uses them."""
        return None

    def _fit(self, predictions: Predictions) -> None:
        if predictions.inputs is None and not predictions.views:
            raise ValueError(
                f"{type(self).__name__} trains a network on the instances; pass Predictions(inputs=…) or features=…."
            )
        self.reads_ = "features" if predictions.inputs is None else "inputs"
        self.scales_ = {name: Scale("columns", *moments(view)) for name, view in self._views(predictions).items()}
        given = {name: getattr(self, name) for name in ("epochs", "batch_size", "learning_rate")}
        method = self._method(**{name: value for name, value in given.items() if value is not None})
        trusted = self._trusted()
        self.trained_ = method.fit(
            self._split(predictions, predictions.hard),
            "mlp" if self.network is None and self.reads_ == "features" else self.network,
            trusted=None if trusted is None else self._split(trusted, trusted.labels),
            seed=int(np.random.SeedSequence(self.random_state).generate_state(1)[0]),
            device=self.device,
            progress=self.progress,
        )

    def _calibrate(self, predictions: Predictions) -> Floats:
        return self.trained_.predict_proba(self._instances(predictions))

    def _needed_views(self) -> dict[str, int]:
        return {name: self.view_widths_[name] for name in self.scales_}

    def _views(self, predictions: Predictions) -> dict[str, Any]:
        return predictions.views if self.reads_ == "features" else {}

    def _split(self, predictions: Predictions, labels: Ints | None) -> SimpleNamespace:
        return SimpleNamespace(
            inputs=self._instances(predictions),
            labels=labels,
            n_classes=predictions.n_classes,
            class_names=predictions.class_names,
        )

    def _instances(self, predictions: Predictions) -> Any:
        if self.reads_ == "features":
            return np.concatenate(
                [scale(float32(predictions.views[name])) for name, scale in self.scales_.items()], axis=1
            )
        if predictions.inputs is None:
            raise ValueError("the calibrator was fitted on raw inputs; pass Predictions(inputs=…).")
        return predictions.inputs
