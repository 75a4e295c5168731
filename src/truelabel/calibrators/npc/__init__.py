"""Noisy prediction calibration."""

from truelabel.calibrators.npc.calibrator import NPC, Posterior
from truelabel.calibrators.npc.expert_prior import ExpertPrior
from truelabel.calibrators.npc.prior import Belief, Prior, VotePrior
from truelabel.calibrators.npc.settings import Settings

__all__ = ["NPC", "Belief", "ExpertPrior", "Posterior", "Prior", "Settings", "VotePrior"]
