"""Every constant of the default recipe's prior, with its reason."""

from __future__ import annotations

from dataclasses import dataclass, field

from truelabel.calibrators.npc.memory import MemorySettings
from truelabel.experts.panel import PanelSettings
from truelabel.label_noise import NoiseSettings


@dataclass(frozen=True)
class Settings:
    """The settings of `ExpertPrior`; a part is left out by switching it off here.

    Attributes
    ----------
    panel : PanelSettings
        The experts.
    noise : NoiseSettings
        The model of the noise.
    memory : MemorySettings
        How a classifier that saw the labels is judged.
    denoise : bool
        Solve for p(y | x); otherwise every label is taken to be right.
    own_label : bool
        Hear an instance's own label.
    rounds : int
        Times that neighbours vote again with what is believed of them; the third moves fewer than one in a hundred.
    trust : {"judged", "whole", "none"}
        Whether a classifier that saw the labels is judged, believed or not heard.
    full_pace : float
        Noise at the lower end from which the network learns at its full rate; below, the rate falls with its square, as
        the share of instances does that are wrong and whose neighbours are, too.
    weak_features : float
        Weak features make up to about this share of the surest instances' labels look wrong, too. So noise r that
        nothing else supports counts only r² / (r² + this²) of what it is.
    least_pace : float
        ... but no lower than this share of the full rate. Each head it starts from has not seen a fifth of the labels;
        a hundredth of the rate is enough to learn from these, and too little to learn wrong ones by heart.
    shown : float
        Trust from which the network sees what the classifier says of instances whose labels it has seen, where it also
        has others.
    """

    panel: PanelSettings = field(default_factory=PanelSettings)
    noise: NoiseSettings = field(default_factory=NoiseSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    denoise: bool = True
    own_label: bool = True
    rounds: int = 3
    trust: str = "judged"
    full_pace: float = 0.2
    weak_features: float = 0.2
    least_pace: float = 0.01
    shown: float = 0.5
