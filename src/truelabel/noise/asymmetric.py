"""Asymmetric noise: a class is mistaken for one other class that looks like it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from truelabel.arrays import Floats, Ints
from truelabel.noise.base import Noise

_DIGITS = {2: 7, 3: 8, 5: 6, 6: 5}

# The paper's appendix on noisy label generation, in the classes' usual order. The bundled digits, which the
# paper does not use, have the classes of MNIST.
MAPS: dict[str, dict[int, int]] = {
    "mnist": _DIGITS,
    "digits": _DIGITS,
    # T-shirt -> shirt, pullover -> coat, sandal -> sneaker
    "fashion-mnist": {0: 6, 2: 4, 5: 7},
    # truck -> automobile, bird -> airplane, deer -> horse, cat <-> dog
    "cifar10": {9: 1, 2: 0, 4: 7, 3: 5, 5: 3},
}


@dataclass(frozen=True)
class Asymmetric(Noise):
    """Flip the labels of each class in `map` to the class it is mapped to, with probability `rate`.

    Classes outside the map keep their labels, so the share of wrong labels overall lies below `rate`.

    Parameters
    ----------
    rate : float
        Flip probability of each class in the map, in [0, 1).
    map : dict of class to class, or str
        Where the labels of each class go, or the name of a dataset whose map the paper gives: "mnist",
        "fashion-mnist", "cifar10" ("digits" is the map of MNIST).

    Examples
    --------
    >>> import numpy as np
    >>> from truelabel.noise import Asymmetric
    >>> Asymmetric(0.25, {0: 1}).corrupt(None, np.array([0, 1, 2]), seed=0).transition[0]
    array([0.75, 0.25, 0.  ])
    """

    map: Mapping[int, int] | str = field(hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.map, str) and self.map not in MAPS:
            raise ValueError(
                f"There is no map of classes for {self.map!r}; choose one of {', '.join(MAPS)}, or pass a "
                "dict such as {3: 5, 5: 3}."
            )
        for before, after in self.pairs.items():
            if before == after:
                raise ValueError(f"map sends class {before} to itself; leave it out.")

    @property
    def pairs(self) -> dict[int, int]:
        """The map as a dict, whichever way it was given."""
        return dict(MAPS[self.map] if isinstance(self.map, str) else self.map)

    def _probabilities(self, x: Any, y: Ints, c: int, rng: np.random.Generator) -> Floats:
        rows = np.eye(c, dtype=np.float32)
        for before, after in self.pairs.items():
            if not (0 <= before < c and 0 <= after < c):
                raise ValueError(
                    f"map sends class {before} to {after}, but there are {c} classes (0 to {c - 1}); "
                    "correct the map or pass n_classes."
                )
            rows[before, [before, after]] = 1 - self.rate, self.rate
        return rows[y]
