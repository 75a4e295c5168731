"""Calibrators by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from truelabel.calibrators.base import Calibrator
from truelabel.calibrators.causalnl import CausalNL
from truelabel.calibrators.identity import Identity
from truelabel.calibrators.knn import KNN
from truelabel.calibrators.knn_paper import PaperKNN
from truelabel.calibrators.lrt import LRT
from truelabel.calibrators.mlc import MLC
from truelabel.calibrators.npc import NPC
from truelabel.calibrators.rog import RoG
from truelabel.calibrators.temperature import TemperatureScaling

_BUILDERS: dict[str, Callable[..., Calibrator]] = {
    "identity": Identity,
    "temperature": TemperatureScaling,
    "knn": KNN,
    "knn-paper": PaperKNN,
    "rog": RoG,
    "lrt": LRT,
    "mlc": MLC,
    "causalnl": CausalNL,
    "npc": NPC,
    "npc-paper": partial(NPC, "paper"),
}

NAMES: dict[str, str] = {
    "identity": "the classifier's own answer",
    "temperature": "temperature scaling by the noisy labels",
    "knn": "the vote of the neighbours' noisy labels",
    "knn-paper": "the vote of confident predictions in the classifier's layer: the paper's KNN",
    "rog": "robust Gaussians on the classifier's hidden layer and on features",
    "lrt": "LRT*: a new network on the predictions, corrected by likelihood ratio tests",
    "mlc": "MLC*: a new network on the predictions, corrected by meta-learning (uses clean labels)",
    "causalnl": "CausalNL*: two new networks inside causal models of the predictions",
    "npc": "noisy prediction calibration, the default recipe",
    "npc-paper": "noisy prediction calibration, the paper's recipe",
}


def build(name: str, **settings: Any) -> Calibrator:
    """Return a calibrator by its name.

    Parameters
    ----------
    name : str
        One of `calibrators.NAMES`.
    **settings
        Parameters of the calibrator, such as ``k`` of "knn".

    Examples
    --------
    >>> from truelabel import calibrators
    >>> calibrators.build("knn", k=5)
    KNN(k=5)
    """
    if name not in _BUILDERS:
        raise ValueError(f"There is no calibrator named {name!r}; choose one of {', '.join(NAMES)}.")
    known = _BUILDERS[name]().get_params(deep=False)
    unknown = [setting for setting in settings if setting not in known]
    if unknown:
        raise ValueError(f"{name} does not take {', '.join(unknown)}; it takes {', '.join(known) or 'no settings'}.")
    return _BUILDERS[name](**settings)
