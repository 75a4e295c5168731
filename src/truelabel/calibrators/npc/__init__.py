"""Noisy Prediction Calibration: the prior, the Dirichlet variational autoencoder and the calibrator."""

from truelabel.calibrators.npc.calibrator import NPC
from truelabel.calibrators.npc.expert_prior import ExpertPrior
from truelabel.calibrators.npc.prior import Belief, Prior, VotePrior

__all__ = ["NPC", "Belief", "ExpertPrior", "Prior", "VotePrior"]
