"""Transition matrices T[y, ỹ] = p(ỹ | y), rows sum to 1: from a calibrator's H, averaged, and against a known one."""

from truelabel.transitions.average import class_average, count_transition
from truelabel.transitions.error import TransitionError, error_table, transition_error
from truelabel.transitions.from_h import Conditioning, TransitionFromH
from truelabel.transitions.of_npc import npc_transitions
from truelabel.transitions.prediction_given_label import PredictionGivenLabel
from truelabel.transitions.solve import Solution, solve_transition

__all__ = [
    "Conditioning",
    "PredictionGivenLabel",
    "Solution",
    "TransitionError",
    "TransitionFromH",
    "class_average",
    "count_transition",
    "error_table",
    "npc_transitions",
    "solve_transition",
    "transition_error",
]
