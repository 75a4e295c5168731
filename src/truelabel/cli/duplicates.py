"""What commands print of duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truelabel.labels import Duplicates

LISTED = 5  # groups
SHOWN = 4  # instances of a group


def lines(found: Duplicates) -> list[str]:
    """Return how many duplicates there are, and the first groups with different labels, a line each."""
    groups = [group for group in found.groups() if group["different_labels"].any()]
    listed = []
    for group in groups[:LISTED]:
        shown = [f"{row['id']} ({row['given']})" for _, row in group.head(SHOWN).iterrows()]
        more = len(group) - len(shown)
        listed.append(f"  {group['kind'].iloc[0]}: {', '.join(shown)}{f' and {more:,} more' if more else ''}")
    return [f"Duplicates: {found}", *listed]
