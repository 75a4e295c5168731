"""The classifier's own answer as a calibrator."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Floats, row_blocks
from truelabel.calibrators.base import Calibrator
from truelabel.predictions import Predictions


class Identity(Calibrator):
    """Leave the classifier's probabilities as they are: what every other calibrator has to beat.

    Examples
    --------
    >>> import truelabel as tl
    >>> said = tl.Predictions([[0.75, 0.25], [0.5, 0.5]])
    >>> tl.calibrators.Identity().fit(said).calibrate(said).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """

    def _fit(self, predictions: Predictions) -> None:
        """Learn nothing."""

    def _calibrate(self, predictions: Predictions) -> Floats:
        out = np.empty((len(predictions), self.n_classes_), dtype=np.float32)
        for rows in row_blocks(len(out), 65_536):
            out[rows] = predictions.block(rows)
        return out

    def _needed_views(self) -> dict[str, int]:
        return {}
