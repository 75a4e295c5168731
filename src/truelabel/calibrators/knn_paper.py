"""The vote of confident predictions in the classifier's layer: the paper's KNN post-processor."""

from __future__ import annotations

import numpy as np

from truelabel.arrays import Floats, float32, row_blocks
from truelabel.calibrators.base import Calibrator
from truelabel.calibrators.npc.prior import confident_references, hidden_or_features
from truelabel.neighbours import Neighbours, inverse_distance, shares
from truelabel.predictions import Predictions

QUERY_BLOCK = 8_192


class PaperKNN(Calibrator):
    """Give each instance the vote of its confident neighbours: NPC's prior in the paper's recipe, on its own.

    The paper's section on other post-processors compares NPC with its own prior. The reference points are the
    most confident instance of each predicted class in each batch of a random order; they vote with the class that
    the classifier predicts for them, weighted by 1/distance in the classifier's last hidden layer (in `features`,
    side by side, where there is no hidden layer). The noisy labels are not read. See `KNN` for the plain vote of the
    noisy labels.

    Parameters
    ----------
    k : int, default 10
        Neighbours (the paper's number).
    batch_size : int, default 128
        Size of the batches that reference points are chosen from (the paper's batches).
    random_state : int, optional
        Seed of the order that batches are cut from.

    Attributes
    ----------
    references_ : array
        The training rows that vote.
    """

    def __init__(self, k: int = 10, *, batch_size: int = 128, random_state: int | None = None) -> None:
        self.k = k
        self.batch_size = batch_size
        self.random_state = random_state

    def _fit(self, predictions: Predictions) -> None:
        for name in ("k", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}.")
        space = hidden_or_features(predictions)
        self.width_ = space.shape[1]
        self.reads_ = "features" if predictions.hidden is None else "hidden"
        rng = np.random.default_rng(self.random_state)
        self.references_ = confident_references(predictions, predictions.hard, self.batch_size, rng)
        self.votes_ = predictions.hard[self.references_]
        self.index_ = Neighbours(float32(space, self.references_))

    def _calibrate(self, predictions: Predictions) -> Floats:
        space = hidden_or_features(predictions if self.reads_ == "hidden" else predictions.replace(hidden=None))
        out = np.empty((len(predictions), self.n_classes_), dtype=np.float32)
        for rows in row_blocks(len(out), QUERY_BLOCK):
            distances, found = self.index_.search(float32(space, rows), min(self.k, len(self.references_)))
            out[rows] = shares(self.votes_[found], inverse_distance(distances), self.n_classes_)
        return out

    def _check(self, predictions: Predictions) -> None:
        super()._check(predictions)
        if self.reads_ == "features":
            return
        if predictions.hidden is None:
            raise ValueError("the calibrator was fitted on the classifier's hidden layer; pass Predictions(hidden=…).")
        if predictions.hidden.shape[1] != self.width_:
            raise ValueError(
                f"hidden has {predictions.hidden.shape[1]} columns, but the calibrator was fitted on {self.width_}; "
                "take the same layer."
            )

    def _needed_views(self) -> dict[str, int]:
        return dict(self.view_widths_) if self.reads_ == "features" else {}
