"""The recipes: what `NPC` sets where the user does not."""

from __future__ import annotations

import math
from dataclasses import dataclass

from truelabel.calibrators.npc.model import Link
from truelabel.calibrators.npc.training import Shape

PLAIN_BATCH = 128  # up to which all steps count alike


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

    def passes(self, n: int, batch_size: int) -> int:
        """Return the epochs it takes for n instances: its own number, and more if these are too few steps.

        Steps on larger batches are less noisy, so that fewer are enough.
        """
        steps = max(1, round(n / batch_size))
        least = self.least_steps / math.sqrt(max(1, batch_size / PLAIN_BATCH))
        return max(self.epochs, math.ceil(least / steps))


RECIPES = {
    "default": Recipe("shares", "exact", "exp", True, (256,), 2, 290, None, learning_rate=4e-3, decay=True),
    "paper": Recipe("one-hot", "inverse-cdf", "softplus", False, (), 10, 0, 128, learning_rate=1e-3, decay=False),
}
