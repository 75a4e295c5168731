"""What the review page sends to the server."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from truelabel.review.decisions import LONGEST_NAME, reviewer_name
from truelabel.review.requests import LARGEST_ROW, Tab

MOST_WANTED = 500  # rows that one message names
Number = Annotated[int, Field(ge=0, le=LARGEST_ROW)]
Rows = Annotated[list[Number], Field(max_length=MOST_WANTED)]
Reviewer = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(reviewer_name)]


class FromTab(BaseModel):
    """What every message says: from which tab it is, who sits there, and which version of the decisions it knows."""

    tab: Tab
    reviewer: Reviewer = ""
    since: Number = 0


class Show(FromTab):
    """The instances that the page would like to show, the first choice first.

    `undecided` is whether those are passed over that were decided meanwhile.
    """

    rows: Rows
    undecided: bool = False


class Decide(FromTab):
    """A decision; no label means: skip.

    `seen` is the number of the decision that stood when the person looked, 0 for none; `next` are the instances that
    the page would like to show after it.
    """

    row: Number
    label: Number | None
    seen: Number = 0
    next: Rows = []


class Undo(FromTab):
    """That the last decision of a tab is to be undone."""
