"""truelabel: better predictions and cleaner data from a classifier that learned from noisy labels."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truelabel.calibrators.npc import NPC as NPC
    from truelabel.export import load as load
    from truelabel.integrations.pytorch import predict as predict
    from truelabel.integrations.scikit_learn import CalibratedClassifier as CalibratedClassifier
    from truelabel.labels import correct_labels as correct_labels
    from truelabel.labels import find_label_issues as find_label_issues
    from truelabel.predictions import Predictions as Predictions
    from truelabel.raw import clean as clean

__version__ = "0.1.0"

# Where each public name lives; imported on first use, so that `import truelabel` costs nothing.
_HOMES = {
    "CalibratedClassifier": "truelabel.integrations.scikit_learn",
    "NPC": "truelabel.calibrators.npc",
    "Predictions": "truelabel.predictions",
    "clean": "truelabel.raw",
    "correct_labels": "truelabel.labels",
    "find_label_issues": "truelabel.labels",
    "load": "truelabel.export",
    "predict": "truelabel.integrations.pytorch",
}
_ROOMS = (
    "analysis",
    "calibrators",
    "datasets",
    "export",
    "lab",
    "labels",
    "methods",
    "networks",
    "noise",
    "raw",
    "report",
    "review",
    "transitions",
)

__all__ = [
    "NPC",
    "CalibratedClassifier",
    "Predictions",
    "__version__",
    "clean",
    "correct_labels",
    "find_label_issues",
    "load",
    "predict",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _ROOMS:
        value = import_module(f"truelabel.{name}")
    else:
        raise AttributeError(f"module 'truelabel' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})
