"""The ways to train a classifier on noisy labels, one file each.

Every class is a set of parameters with one verb, ``fit(split, network, seed=…)``, that returns a `Trained`
classifier.
"""

from __future__ import annotations

from typing import Any

from truelabel.methods.base import REGISTRY
from truelabel.methods.base import Method as Method
from truelabel.methods.causalnl import CausalNL as CausalNL
from truelabel.methods.ce import CE as CE
from truelabel.methods.cores2 import CORES2 as CORES2
from truelabel.methods.coteaching import CoTeaching as CoTeaching
from truelabel.methods.dualt import DualT as DualT
from truelabel.methods.early_stop import EarlyStop as EarlyStop
from truelabel.methods.forward import Forward as Forward
from truelabel.methods.gce import GCE as GCE
from truelabel.methods.jocor import JoCoR as JoCoR
from truelabel.methods.joint import Joint as Joint
from truelabel.methods.label_smoothing import LabelSmoothing as LabelSmoothing
from truelabel.methods.lrt import LRT as LRT
from truelabel.methods.mlc import MLC as MLC
from truelabel.methods.rel import REL as REL
from truelabel.methods.run import Batch as Batch
from truelabel.methods.run import Run as Run
from truelabel.methods.sce import SCE as SCE
from truelabel.methods.trained import Trained as Trained
from truelabel.methods.tvr import TVR as TVR

NAMES: dict[str, str] = {name: method.summary for name, method in sorted(REGISTRY.items())}

# The thirteen that the NPC paper calibrates, in its order.
PAPER: tuple[str, ...] = (
    *("ce", "joint", "coteaching", "jocor", "cores2", "sce", "earlystop", "labelsmoothing", "rel"),
    *("forward", "dualt", "tvr", "causalnl"),
)


def build(name: str, **parameters: Any) -> Method:
    """Return a method by its name.

    Parameters
    ----------
    name : str
        One of `methods.NAMES`, or that of a method of your own, once its class is defined.
    **parameters
        Parameters of the method, such as ``epochs``.

    Examples
    --------
    >>> from truelabel import methods
    >>> methods.build("sce", epochs=30).beta
    1.0
    """
    if name not in REGISTRY:
        raise ValueError(f"There is no method named {name!r}; choose one of {', '.join(sorted(REGISTRY))}.")
    try:
        return REGISTRY[name](**parameters)
    except TypeError as error:
        known = ", ".join(REGISTRY[name]().parameters())
        raise ValueError(f"{name} does not take these parameters ({error}); it takes {known}.") from None
