"""What is read of raw data, whatever its kind: instances with given labels, and features that saw no label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from truelabel.arrays import Array, Floats, Ints
from truelabel.progress import Progress
from truelabel.raw.classifier import Classifier

Tell = Callable[[str], None]
MOST_CLASSES = 1000
MOST_SKIPPED = 0.2  # share of the instances that may be left out


@dataclass(frozen=True)
class Settings:
    """What embedding depends on beside the data."""

    encoder: str
    seed: int
    device: str
    progress: Progress
    tell: Tell


@dataclass(frozen=True)
class Embedded:
    """Instances as numbers.

    Attributes
    ----------
    rows : (n,) array
        Which of the rows that were asked for these are.
    views : dict of names to (n, d) arrays
        Label-free features.
    inputs : array
        What the classifier learns from, n rows.
    classifier : callable
        The classifier that suits it.
    how : str
        How the numbers were made, in words.
    skipped : dict of row to str
        Rows that could not be used, and why.
    """

    rows: Ints
    views: dict[str, Floats]
    inputs: Any
    classifier: Classifier
    how: str
    skipped: Mapping[int, str] = field(default_factory=dict)


class Source(Protocol):
    """Raw data that labels are examined of.

    `given` has the name of each row's class, or None; `ids` a name for each row; `what` the plural of a row; `asked`
    what the user asked for, as plain JSON values.
    """

    name: str
    what: str
    ids: Array
    given: Sequence[str | None]
    asked: dict[str, Any]

    def embed(self, rows: Ints, settings: Settings) -> Embedded:
        """Return some of the rows as numbers."""

    def shown(self, rows: Ints) -> dict[str, Any]:
        """Return where some of the rows are to be seen, for `truelabel.labels.items_of`."""


def check_skipped(source: Source, skipped: Mapping[int, str], asked: int) -> None:
    """Refuse data of which too much cannot be used."""
    if len(skipped) > MOST_SKIPPED * asked:
        row, why = next(iter(skipped.items()))
        raise ValueError(
            f"{len(skipped):,} of {asked:,} {source.what} in {source.name} cannot be used, too many to leave out; the "
            f"first is {source.ids[row]} ({why})."
        )
