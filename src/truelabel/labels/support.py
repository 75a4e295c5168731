"""How many of an instance's neighbours are labelled as is suggested for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from truelabel.arrays import Array, Ints, float32, row_blocks
from truelabel.neighbours import Neighbours, stratified

if TYPE_CHECKING:
    from truelabel.calibrators import Calibrator
    from truelabel.predictions import Predictions

NEIGHBOURS = 10
REFERENCE = 50_000  # instances among which neighbours are searched, at most
QUERY_BLOCK = 8_192
HIDDEN = "hidden"


def support(predictions: Predictions, suggested: Ints, calibrator: Calibrator | None) -> Ints | None:
    """Return how many of the ten nearest neighbours of each instance have the suggested class as their label.

    The neighbours are found in the view that the calibrator read (the first of several), at its scale. None where
    nothing is known of the instances but the predictions.
    """
    from truelabel.scale import Scale, moments

    found = neighbour_view(predictions, calibrator)
    if found is None or len(predictions) < 2:
        return None
    assert predictions.labels is not None
    name, kind = found
    view = view_of(predictions, name)
    reference = stratified(predictions.labels, REFERENCE, np.random.default_rng(0))
    scale = Scale(kind, *moments(view))
    index = Neighbours(scale(float32(view, reference)))
    own = np.full(len(predictions), -1)
    own[reference] = np.arange(len(reference))
    out = np.empty(len(predictions), dtype=np.int64)
    for rows in row_blocks(len(out), QUERY_BLOCK):
        k = min(NEIGHBOURS, len(reference) - 1)
        _, near = index.search(scale(float32(view, rows)), k, own[rows])
        out[rows] = (predictions.labels[reference[near]] == suggested[rows, None]).sum(axis=1)
    return out


def neighbour_view(predictions: Predictions, calibrator: Calibrator | None) -> tuple[str, str] | None:
    """Return the name of the view in which neighbours are searched (see `view_of`), and how it comes to scale."""
    report = getattr(calibrator, "report_", None)
    for name, kind in (report.views if report is not None else {}).items():
        if name in predictions.views:
            return name, kind
    if predictions.views:
        return next(iter(predictions.views)), "whole"
    return None if predictions.hidden is None else (HIDDEN, "whole")


def view_of(predictions: Predictions, name: str) -> Array:
    """Return a view by its name, or the classifier's hidden layer, which no view may be named after."""
    if name != HIDDEN:
        return predictions.views[name]
    assert predictions.hidden is not None
    return predictions.hidden
