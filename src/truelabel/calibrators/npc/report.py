"""What fitting found out, in words and numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

UNPROVEN = (
    "nothing proves that share: mistakes that grow with difficulty look like classes that overlap, and mistakes",
    "that follow from the features, as rules make them, do not show at all. To know, check a hundred labels drawn",
    "at random and hand them over: fit(…, trusted=…).",
)


@dataclass(frozen=True)
class Report:
    """What `NPC.fit` found.

    Attributes
    ----------
    recipe : str
        Which recipe was used.
    n, classes : int
        Instances and classes.
    agreement : float or None
        Share of training instances where ŷ is the noisy label (None without labels).
    memorisation : float or None
        Share of the wrong labels that the classifier repeats, as far as can be told: 0 where it says what it knows, 1
        where it says what it was taught. None where it had not seen the labels.
    weights : dict
        Weight of each expert in the prior.
    views : dict
        The views that were used, and at which scale.
    k : dict
        Neighbours that voted, by view.
    rho : float
        Weight ρ of the prior.
    disagreement : float
        Share of training instances where prior and classifier name different classes.
    changed : float
        Share of training instances whose class the calibrator changes.
    noise_rate : float or None
        Estimated share of wrong labels (of wrong predictions, where no labels were given).
    noise_interval : (float, float) or None
        Bounds that hold that share with a probability of 90 %; mistakes that follow from x like rules do are not in it.
    noise_evidence : str or None
        What it is known from: "given", "checked labels", "its form" (labels that were not used are likelier with
        noise), or "the surest instances" alone, which prove nothing.
    swapped : float or None
        Estimated share of labels that are wrong because they are swapped near a class boundary.
    seconds : dict
        Time by phase.
    """

    recipe: str
    n: int
    classes: int
    rho: float
    disagreement: float
    changed: float
    agreement: float | None = None
    memorisation: float | None = None
    noise_rate: float | None = None
    noise_interval: tuple[float, float] | None = None
    noise_evidence: str | None = None
    swapped: float | None = None
    references: int | None = None
    weights: dict[str, float] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    k: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain JSON values."""
        return asdict(self)

    def _between(self) -> str:
        if self.noise_interval is None:
            return ""
        low, high = self.noise_interval
        return f" (90 %: {100 * low:.0f} to {100 * high:.0f} %)"

    def __str__(self) -> str:
        def percent(value: float | None) -> str:
            return "not known" if value is None else f"{100 * value:.1f} %"

        lines = [
            f"NPC, {self.recipe} recipe, on {self.n:,} instances of {self.classes} classes",
            f"  classifier agrees with the noisy labels on   {percent(self.agreement)}",
            f"  of wrong labels, it repeats                  {percent(self.memorisation)}",
            f"  prior and classifier disagree on             {percent(self.disagreement)}",
            f"  class changed for                            {percent(self.changed)}",
            f"  estimated share of wrong labels              {percent(self.noise_rate)}{self._between()}",
        ]
        if self.noise_evidence == "the surest instances":
            lines += [f"    {line}" for line in UNPROVEN]
        if self.swapped:
            lines.append(f"  of all labels, swapped near a class boundary {percent(self.swapped)}")
        if self.weights:
            weights = ", ".join(f"{name} {weight:.2f}" for name, weight in self.weights.items())
            lines.append(f"  experts: {weights}")
        if self.views:
            lines.append("  views: " + ", ".join(f"{name} (scale: {scale})" for name, scale in self.views.items()))
        k = ", ".join(f"{count} on {name}" for name, count in self.k.items())
        lines.append(f"  neighbours: {k or 'none'}; ρ = {self.rho:g}")
        lines.append("  seconds: " + ", ".join(f"{name} {value:.1f}" for name, value in self.seconds.items()))
        return "\n".join(lines)
