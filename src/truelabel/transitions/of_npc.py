"""Every transition matrix that a fitted NPC gives, by name."""

from __future__ import annotations

from typing import Any

from truelabel.arrays import Array
from truelabel.transitions.from_h import TransitionFromH


def npc_transitions(npc: Any, found: TransitionFromH, name: str = "NPC") -> dict[str, Array]:
    """Return the estimates of T that come with a fitted NPC, under the names they have in tables and figures.

    Parameters
    ----------
    npc : NPC
        The fitted calibrator.
    found : TransitionFromH
        Fitted on it.
    name : str, default "NPC"
        What the names begin with.

    Returns
    -------
    dict
        "T from H", the class-wise average of T(x); "counted", the labels of each calibrated class, which T(x) is
        pulled towards, so that the difference is what the proposition adds; and "estimated T", the matrix that the
        default recipe's prior works with, where the calibrator has it (`transition_matrix_`).
    """
    matrices = {f"{name}, T from H": found.average_, f"{name}, counted": found.reference_}
    if getattr(npc, "transition_matrix_", None) is not None:
        matrices[f"{name}, estimated T"] = npc.transition_matrix_
    return matrices
