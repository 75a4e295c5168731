"""Calibrators: what a noisy prediction says about the true label. One file a method, one contract for all."""

from truelabel.calibrators.base import Calibrator
from truelabel.calibrators.knn import KNN
from truelabel.calibrators.npc import NPC

__all__ = ["KNN", "NPC", "Calibrator"]
