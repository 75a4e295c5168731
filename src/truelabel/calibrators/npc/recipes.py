"""The recipes: what `NPC` sets where the user does not."""

from __future__ import annotations

from dataclasses import dataclass

from truelabel.calibrators.npc.model import Link
from truelabel.calibrators.npc.training import Shape


@dataclass(frozen=True)
class Recipe:
    """What a recipe sets where the user does not."""

    shape: Shape
    sampler: str
    link: Link
    draw_predictions: bool
    hidden: tuple[int, ...]
    epochs: int
    least_steps: int
    batch_size: int | None
    learning_rate: float
    decay: bool


RECIPES = {
    "default": Recipe("shares", "exact", "exp", True, (256,), 3, 290, None, learning_rate=4e-3, decay=True),
    "paper": Recipe("one-hot", "inverse-cdf", "softplus", False, (), 10, 0, 128, learning_rate=1e-3, decay=False),
}
