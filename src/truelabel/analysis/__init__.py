"""Analyses: numbers first, a figure beside each."""

from truelabel.analysis.confusion import confusion, draw_confusions
from truelabel.analysis.embedding import Embedding, draw_embedding, embedding
from truelabel.analysis.figures import save_figure
from truelabel.analysis.gains import Gains, draw_gains, gains
from truelabel.analysis.gradcam import (
    CalibratedLogProbabilities,
    LogProbabilities,
    draw_grad_cams,
    grad_cam,
    last_maps,
    spread,
)
from truelabel.analysis.priors import compare_priors, draw_priors
from truelabel.analysis.repeat import Round, draw_repeat, repeat
from truelabel.analysis.significance import (
    Paired,
    benjamini_hochberg,
    draw_significance,
    holm,
    paired,
    significance,
)
from truelabel.analysis.suspicious import draw_suspicious, suspicious
from truelabel.analysis.transition_figure import draw_transitions

__all__ = [
    "CalibratedLogProbabilities",
    "Embedding",
    "Gains",
    "LogProbabilities",
    "Paired",
    "Round",
    "benjamini_hochberg",
    "compare_priors",
    "confusion",
    "draw_confusions",
    "draw_embedding",
    "draw_gains",
    "draw_grad_cams",
    "draw_priors",
    "draw_repeat",
    "draw_significance",
    "draw_suspicious",
    "draw_transitions",
    "embedding",
    "gains",
    "grad_cam",
    "holm",
    "last_maps",
    "paired",
    "repeat",
    "save_figure",
    "significance",
    "spread",
    "suspicious",
]
