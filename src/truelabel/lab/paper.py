"""The paper's own tables, as data: what stands beside ours, and where the paper disagrees with itself.

`paper.csv` was taken from the paper's source once: a row a figure, with `what` the classifier's own ("classifier"), a
calibrator's ("npc", "npc-top2", "knn", "rog", "lrt", "mlc", "causalnl"), an error of T or a time.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

TITLES = {
    "table1": "Table 1",
    "real": "the table of Food-101 and Clothing1M",
    "label-correction": "the table of label correction",
    "gains": "the table of gains and losses",
    "transitions": "the table of transition matrices",
    "mnist": "the MNIST appendix",
    "real-post-processors": "the appendix on post-processors",
    "priors": "the appendix on priors",
    "causalnl": "the appendix on CausalNL",
    "time": "the appendix on time",
}

# Seen by reading, not by comparing two tables.
ODDITIES = (
    "The text counts 341 of 351 cells with a significant improvement. In the printed means NPC is ahead in 333, level "
    "in 8 and behind in 10.",
    "In the released experiments SCE and label smoothing trained plain cross entropy: their classifiers' rows in "
    "Table 1 equal CE's on CIFAR-10.",
    "The appendix on priors has 80.0 for CE with TOP2 on clean labels, and 89.0 for SCE and label smoothing, which "
    "were the same classifier; its other eight figures are equal.",
    "The appendix on post-processors sets NPC in bold for REL on Clothing1M (64.83), below RoG (66.12).",
)


@dataclass(frozen=True)
class Figure:
    """A figure of the paper.

    Attributes
    ----------
    table : str
        The table it is in, a key of `TITLES`.
    dataset, noise, method, what : str
        What it is of.
    value : float
        The figure; accuracies in per cent.
    spread : float or None
        What stands behind ±.
    bold : bool
        Whether it is set in bold.
    """

    table: str
    dataset: str
    noise: str
    method: str
    what: str
    value: float
    spread: float | None
    bold: bool

    @property
    def quantity(self) -> tuple[str, str, str, str]:
        """What it is of."""
        return self.dataset, self.noise, self.method, self.what


@lru_cache(maxsize=1)
def figures() -> tuple[Figure, ...]:
    """Return every figure of the paper's tables."""
    lines = files(__package__).joinpath("paper.csv").read_text().splitlines()
    return tuple(
        Figure(
            row["table"],
            row["dataset"],
            row["noise"],
            row["method"],
            row["what"],
            float(row["value"]),
            float(row["spread"]) if row["spread"] else None,
            row["bold"] == "1",
        )
        for row in csv.DictReader(lines)
    )


def figure(tables: Sequence[str], dataset: str, noise: str, method: str, what: str) -> Figure | None:
    """Return the figure of a quantity, from the first of some tables that has it.

    Examples
    --------
    >>> from truelabel.lab import paper
    >>> paper.figure(["table1"], "mnist", "idn:0.4", "coteaching", "npc").value
    90.6
    """
    found = {each.table: each for each in figures() if each.quantity == (dataset, noise, method, what)}
    return next((found[table] for table in tables if table in found), None)


@lru_cache(maxsize=1)
def disagreements() -> dict[tuple[str, str, str, str], tuple[Figure, ...]]:
    """Return the quantities that two tables give different figures for; the appendix with another network apart."""
    found: dict[tuple[str, str, str, str], list[Figure]] = defaultdict(list)
    for each in figures():
        if each.table != "causalnl":
            found[each.quantity].append(each)
    return {what: tuple(every) for what, every in found.items() if len({each.value for each in every}) > 1}
