"""NPC's default recipe with one of its parts left out, or another in its place: the rows of `benchmarks/ablations.py`.

Each is an argument: the settings of the prior, parameters of NPC, or what it is given of the predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from truelabel import NPC, Predictions
from truelabel.calibrators.npc import ExpertPrior, Settings
from truelabel.calibrators.npc.memory import MemorySettings
from truelabel.experts.panel import PanelSettings
from truelabel.label_noise import NoiseSettings


@dataclass(frozen=True)
class Variant:
    """What the table calls it, the prior's settings, NPC's parameters, and what it is given of the predictions."""

    title: str
    settings: Settings = field(default_factory=Settings)
    parameters: dict[str, Any] = field(default_factory=dict)
    given: Callable[[Predictions], Predictions] = lambda said: said

    def fit(self, said: Predictions, seed: int) -> NPC:
        """Fit NPC so."""
        prior = ExpertPrior(self.settings)
        return NPC(prior=prior, random_state=seed, progress=False, **self.parameters).fit(self.given(said))


PLAIN = Settings()

VARIANTS = {
    "whole": Variant("whole recipe"),
    "no-T": Variant("no noise model: every label is right", replace(PLAIN, denoise=False)),
    "lower-end": Variant("noise at its lower end", replace(PLAIN, noise=NoiseSettings(positions=1, at_an_end=0.0))),
    "no-swaps": Variant("no swaps near a class boundary", replace(PLAIN, panel=PanelSettings(swaps=False))),
    "no-label": Variant("beliefs without the instance's own label", replace(PLAIN, own_label=False)),
    "no-vote": Variant("no vote of labels", replace(PLAIN, panel=PanelSettings(votes=False))),
    "no-second-vote": Variant("no vote of beliefs", replace(PLAIN, rounds=0)),
    "one-round": Variant("one vote of beliefs", replace(PLAIN, rounds=1)),
    "trusted": Variant("classifier believed as if it had not memorised", replace(PLAIN, trust="whole")),
    "distrusted": Variant("classifier that saw the labels not heard", replace(PLAIN, trust="none")),
    "as-out-of-sample": Variant(
        "classifier taken for one that has not seen the labels", given=lambda said: said.replace(out_of_sample=True)
    ),
    "no-hidden": Variant("no hidden layer given", given=lambda said: said.replace(hidden=None)),
    "one-third": Variant(
        "a third of the weight at most for any classifier in sample",
        replace(PLAIN, memory=MemorySettings(most=1 / 3)),
    ),
    "on-hidden": Variant("hidden layer as the only features", given=lambda said: said.replace(features=said.hidden)),
    "full-pace": Variant("full pace always", replace(PLAIN, full_pace=1e-9)),
    "long": Variant("four times as many epochs of the autoencoder", parameters={"epochs": 8}),
}
