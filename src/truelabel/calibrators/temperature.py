"""Temperature scaling by the likelihood of the noisy labels."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Array, Floats, Ints, row_blocks
from truelabel.calibrators.base import Calibrator
from truelabel.predictions import Predictions

LOG_BOUND = 5.0  # of log T: beyond T = 148 all is even, below 1/148 all is certain
BLOCK = 65_536
TINY = 1e-12


class TemperatureScaling(Calibrator):
    """Make the classifier more or less sure, by one number: softmax(log p(ŷ | x) / T).

    Guo, Pleiss, Sun and Weinberger, "On Calibration of Modern Neural Networks", ICML 2017, with T at the greatest
    likelihood of the *noisy* labels, the only ones there are. The predicted class never changes. The predictions
    should be out of sample: a classifier that memorised its labels looks right to them, and T then makes it surer
    still.

    Attributes
    ----------
    temperature_ : float
        T.

    Examples
    --------
    >>> import truelabel as tl
    >>> said = tl.Predictions([[0.9, 0.1]] * 10, labels=[0] * 7 + [1] * 3)
    >>> round(tl.calibrators.TemperatureScaling().fit(said).temperature_, 2)
    2.59
    """

    def _fit(self, predictions: Predictions) -> None:
        from scipy.optimize import minimize_scalar

        labels = predictions.labels
        if labels is None:
            raise ValueError("temperature scaling needs the noisy labels; pass Predictions(labels=…).")

        def loss(log_t: float) -> float:
            return _surprise(predictions, labels, float(np.exp(log_t)))

        # The loss is convex in 1/T, so it has one minimum in log T, too.
        best = minimize_scalar(loss, bounds=(-LOG_BOUND, LOG_BOUND), method="bounded", options={"xatol": 1e-6}).x
        self.temperature_ = float(np.exp(best))

    def _calibrate(self, predictions: Predictions) -> Floats:
        out = np.empty((len(predictions), self.n_classes_), dtype=np.float32)
        for rows in row_blocks(len(out), BLOCK):
            out[rows] = np.exp(_scaled(predictions, rows, self.temperature_))
        return out

    def _needed_views(self) -> dict[str, int]:
        return {}


def _scaled(predictions: Predictions, rows: slice, temperature: float) -> Array:
    """Return log softmax(log p / T)."""
    logits = np.log(np.maximum(predictions.block(rows).astype(np.float64), TINY)) / temperature
    logits -= logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))  # type: ignore[no-any-return]


def _surprise(predictions: Predictions, labels: Ints, temperature: float) -> float:
    """Return the mean of -log p of the labels at a temperature."""
    total = 0.0
    for rows in row_blocks(len(labels), BLOCK):
        logs = _scaled(predictions, rows, temperature)
        total -= float(np.take_along_axis(logs, labels[rows, None], axis=1).sum())
    return total / len(labels)
