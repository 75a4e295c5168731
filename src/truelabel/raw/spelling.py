"""Labels that differ only by case or white space, which are one class to a person and two to a program."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

SHOWN = 3  # groups that a sentence names


def spelled(name: str) -> str:
    """Return what names have in common that differ only by case or white space."""
    return " ".join(name.split()).casefold()


def variants(given: Sequence[str | None]) -> list[list[str]]:
    """Return groups of names that differ only by case or white space, each with its most frequent spelling first."""
    counts = Counter(name for name in given if name is not None)
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(counts, key=lambda name: (-counts[name], name)):
        groups[spelled(name)].append(name)
    return [group for group in groups.values() if len(group) > 1]


def merged(given: Sequence[str | None], groups: list[list[str]]) -> list[str | None]:
    """Return the names with each group under its first spelling."""
    kept = {name: group[0] for group in groups for name in group}
    return [None if name is None else kept.get(name, name) for name in given]


def described(groups: list[list[str]]) -> str:
    """Return the first groups in words."""
    parts = [" and ".join(map(repr, group)) for group in groups[:SHOWN]]
    return "; ".join(parts) + ("; …" if len(groups) > SHOWN else "")
