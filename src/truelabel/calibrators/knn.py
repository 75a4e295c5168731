"""The k-NN vote of the noisy labels as a calibrator."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Floats, float32, row_blocks
from truelabel.calibrators.base import Calibrator
from truelabel.neighbours import Neighbours, inverse_distance, shares
from truelabel.predictions import Predictions


class KNN(Calibrator):
    """Give each instance the vote of its neighbours in feature space.

    All training instances vote with their noisy label, or with the classifier's prediction where no labels are given.
    The paper's KNN is another: there only confident predictions vote; see `PaperKNN`.

    Parameters
    ----------
    k : int, default 10
        Neighbours (the number in the paper's prior).
    weights : {"distance", "uniform"}, default "distance"
        Whether nearer neighbours count more (in the paper's prior they do).
    """

    def __init__(self, k: int = 10, weights: str = "distance") -> None:
        self.k = k
        self.weights = weights

    def _fit(self, predictions: Predictions) -> None:
        if self.weights not in ("distance", "uniform"):
            raise ValueError(f'weights must be "distance" or "uniform", not {self.weights!r}.')
        if not 1 <= self.k < len(predictions):
            raise ValueError(
                f"k must be at least 1 and below the number of instances ({len(predictions)}), not {self.k}."
            )
        if not predictions.views:
            raise ValueError("the k-NN vote needs features to find neighbours in; pass Predictions(features=…).")
        self.labels_ = predictions.hard if predictions.labels is None else predictions.labels
        self.index_ = Neighbours(_side_by_side(predictions, slice(None)))

    def _calibrate(self, predictions: Predictions) -> Floats:
        out = np.empty((len(predictions), self.n_classes_), dtype=np.float32)
        for rows in row_blocks(len(out), 8_192):
            distances, found = self.index_.search(_side_by_side(predictions, rows), self.k)
            weights = inverse_distance(distances) if self.weights == "distance" else np.ones_like(distances)
            out[rows] = shares(self.labels_[found], weights, self.n_classes_)
        return out


def _side_by_side(predictions: Predictions, rows: slice) -> Floats:
    return np.concatenate([float32(view, rows) for view in predictions.views.values()], axis=1)
