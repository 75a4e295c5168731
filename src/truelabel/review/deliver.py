"""What is delivered after a review: decisions as final labels are made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from truelabel.labels.final import NEW_CLASS, WITHOUT_LABEL

if TYPE_CHECKING:
    from truelabel.arrays import Ints
    from truelabel.labels.examined import Examined
    from truelabel.labels.final import Decided
    from truelabel.review.decisions import Decisions


def decided_in(decisions: Decisions) -> Decided:
    """Return what stands, by row number."""
    decisions.trusted()  # refuses a file that is damaged
    return {
        one.row: (str(one.decision), one.label if one.new_class is None else one.new_class)
        for one in decisions.changes()[1]
        if one.decision is not None
    }


def unusable(decided: Decided) -> Ints:
    """Return the rows, ascending, that nothing may learn from: those without one label that is a class there is."""
    return np.array(
        sorted(row for row, (word, _) in decided.items() if word in (*WITHOUT_LABEL, NEW_CLASS)), dtype=np.int64
    )


def decided_by(examined: Examined, rows: Ints, labels: Ints) -> Decided:
    """Return labels that a person gave as decisions about what was found."""
    from truelabel.review.decisions import _kind

    given, suggested = examined.found.labels, examined.found.suggested
    return {
        int(row): (_kind(int(label), int(given[row]), int(suggested[row])), int(label))
        for row, label in zip(rows, labels, strict=True)
    }
