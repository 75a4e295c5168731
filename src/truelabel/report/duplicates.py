"""The report's part on duplicates: groups with different labels as cards, the others as a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from truelabel.labels.duplicates import Duplicates, find_duplicates
from truelabel.progress import Progress
from truelabel.report import pictures
from truelabel.report.case import Case

if TYPE_CHECKING:
    import pandas as pd

GROUPS, MEMBERS = 30, 6  # that are shown, at most, with their pictures
LISTED, IDS = 100, 4  # groups with equal labels that are listed, and instances of each


@dataclass(frozen=True)
class Member:
    """One of some copies."""

    id: str
    given: str
    suggested: str
    p_wrong: float
    picture: str | None
    fields: dict[str, str]


@dataclass(frozen=True)
class Group:
    """Copies with different labels: some of them, how many `more` there are, and how many `times` nearer they are."""

    members: list[Member]
    more: int
    times: float | None


@dataclass(frozen=True)
class Section:
    """What the report says of duplicates.

    Attributes
    ----------
    counts : Duplicates
        All of them.
    groups : list of Group
        The first with different labels.
    alike : list of (str, str, str)
        Instances, label and kind of groups with equal labels.
    left_out : int
        How many of the latter are not listed.
    """

    counts: Duplicates
    groups: list[Group]
    alike: list[tuple[str, str, str]]
    left_out: int


def of(case: Case, bars: Progress) -> Section | None:
    """Return what there is to say of duplicates; None where there are none."""
    if not case.examined.predictions.views:
        return None
    found = find_duplicates(case.examined.predictions)
    if not len(found):
        return None
    groups = found.groups()
    different, alike = groups[: found.different], groups[found.different :]
    shown = bars.track(different[:GROUPS], "pictures of duplicates")
    return Section(
        found,
        [_group(case, group) for group in shown],
        [_line(case, group) for group in alike[:LISTED]],
        len(alike[LISTED:]),
    )


def _group(case: Case, group: pd.DataFrame) -> Group:
    """Return a group with one instance of each label first, so that the labels which differ are among those shown."""
    order = group["given"].duplicated().argsort(kind="stable")
    rows = group.index.to_numpy()[order.to_numpy()]
    times = None if group["kind"].iloc[0] == "exact" else float(group["times_nearer"].iloc[0])
    return Group([_member(case, int(row)) for row in rows[:MEMBERS]], len(rows[MEMBERS:]), times)


def _member(case: Case, row: int) -> Member:
    items = case.examined.items
    picture = pictures.data_uri(items, row)
    return Member(
        pictures.shortened(str(case.ids[row]), pictures.NAME),
        case.names[case.given[row]],
        case.names[case.suggested[row]],
        float(case.examined.found.p_wrong[row]),
        picture,
        {} if picture is not None else pictures.fields(items, row),
    )


def _line(case: Case, group: pd.DataFrame) -> tuple[str, str, str]:
    rows = group.index.to_numpy()
    ids = ", ".join(pictures.shortened(str(case.ids[row]), pictures.NAME) for row in rows[:IDS])
    more = f" and {len(rows) - IDS:,} more" if len(rows) > IDS else ""
    return ids + more, case.names[case.given[rows[0]]], str(group["kind"].iloc[0])
