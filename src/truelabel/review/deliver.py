"""What is delivered after a review: decisions as final labels are made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truelabel.arrays import Ints
    from truelabel.labels.examined import Examined
    from truelabel.labels.final import Decided
    from truelabel.review.decisions import Decisions


def decided_in(decisions: Decisions) -> Decided:
    """Return what stands, by row number."""
    decisions.trusted()  # refuses a file that is damaged
    return {one.row: (str(one.decision), one.label) for one in decisions.changes()[1] if one.decision is not None}


def decided_by(examined: Examined, rows: Ints, labels: Ints) -> Decided:
    """Return labels that a person gave as decisions about what was found."""
    from truelabel.review.decisions import _kind

    given, suggested = examined.found.labels, examined.found.suggested
    return {
        int(row): (_kind(int(label), int(given[row]), int(suggested[row])), int(label))
        for row, label in zip(rows, labels, strict=True)
    }
