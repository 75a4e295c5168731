"""truelabel: better predictions and cleaner data from a classifier that learned from noisy labels."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truelabel.calibrators.npc import NPC as NPC
    from truelabel.export import load as load
    from truelabel.predictions import Predictions as Predictions
    from truelabel.sklearn import CalibratedClassifier as CalibratedClassifier
    from truelabel.torch import predict as predict

__version__ = "0.1.0"

# Where each public name lives; imported on first use, so that `import truelabel` costs nothing.
_HOMES = {
    "CalibratedClassifier": "truelabel.sklearn",
    "NPC": "truelabel.calibrators.npc",
    "Predictions": "truelabel.predictions",
    "load": "truelabel.export",
    "predict": "truelabel.torch",
}
_ROOMS = ("analysis", "calibrators", "export", "networks", "noise")

__all__ = ["CalibratedClassifier", "NPC", "Predictions", "__version__", "load", "predict"]  # noqa: F822


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
