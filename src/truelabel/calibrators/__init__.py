"""Calibrators: what a noisy prediction says about the true label. One file a method, one contract for all."""

from truelabel.calibrators.base import Calibrator
from truelabel.calibrators.causalnl import CausalNL
from truelabel.calibrators.identity import Identity
from truelabel.calibrators.knn import KNN
from truelabel.calibrators.knn_paper import PaperKNN
from truelabel.calibrators.lrt import LRT
from truelabel.calibrators.mlc import MLC
from truelabel.calibrators.npc import NPC
from truelabel.calibrators.registry import NAMES, build
from truelabel.calibrators.retrained import Retrained
from truelabel.calibrators.rog import RoG
from truelabel.calibrators.temperature import TemperatureScaling

__all__ = [
    "KNN",
    "LRT",
    "MLC",
    "NAMES",
    "NPC",
    "Calibrator",
    "CausalNL",
    "Identity",
    "PaperKNN",
    "Retrained",
    "RoG",
    "TemperatureScaling",
    "build",
]
