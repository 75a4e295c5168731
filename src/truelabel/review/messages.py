"""What the review page sends to the server."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, model_validator

from truelabel.review.decisions import Verdict
from truelabel.review.names import LONGEST_NAME, reviewer_name
from truelabel.review.requests import LARGEST_ROW, Tab

MOST_WANTED = 500  # rows that one message names
MOST_SHOWN = 60  # instances on show at a time
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

    `undecided` is whether those are passed over that were decided meanwhile; `most`, how many it has room for.
    """

    rows: Rows
    undecided: bool = False
    most: Annotated[int, Field(ge=1, le=MOST_SHOWN)] = 1


class Decide(FromTab):
    """A decision: a label, a verdict or a new class; none of them means: skip.

    `seen` is the number of the decision that stood when the person looked, 0 for none; `next` are the instances that
    the page would like to show after it.
    """

    row: Number
    label: Number | None
    verdict: Verdict | None = None
    new_class: Annotated[str, Field(max_length=4 * LONGEST_NAME)] | None = None
    seen: Number = 0
    next: Rows = []

    @model_validator(mode="after")
    def one_of_them(self) -> Decide:
        """Refuse a decision that says two things."""
        if sum(one is not None for one in (self.label, self.verdict, self.new_class)) > 1:
            raise ValueError("one of label, verdict and new_class")
        return self


class DecideAll(FromTab):
    """One label for all instances that are shown; `seen` are the numbers of the decisions that they had, 0 for none."""

    rows: Annotated[list[Number], Field(min_length=1, max_length=MOST_SHOWN)]
    seen: Annotated[list[Number], Field(min_length=1, max_length=MOST_SHOWN)]
    label: Number

    @model_validator(mode="after")
    def as_many(self) -> DecideAll:
        """Refuse other numbers of decisions than of instances, and an instance that comes twice."""
        if len(self.seen) != len(self.rows) or len({*self.rows}) != len(self.rows):
            raise ValueError("one number of a decision for each instance")
        return self


class Undo(FromTab):
    """That the last decision of a tab is to be undone."""
