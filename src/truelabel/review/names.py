"""Names that people type on the review page: their own, and those of new classes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from truelabel.raw.reading import is_missing
from truelabel.raw.spelling import spelled

LONGEST_NAME = 60  # characters


def reviewer_name(text: str) -> str:
    """Return a reviewer's name without spaces around it, or say why it cannot be one."""
    name = text.strip()
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise ValueError(f"a reviewer's name has {LONGEST_NAME} letters at most, on one line, not {text!r}.")
    return name


def new_class_name(text: str, class_names: Sequence[Any]) -> str:
    """Return the name of a new class without spaces around it, or say why it cannot be one."""
    name = " ".join(text.split())
    if is_missing(name) or len(name) > LONGEST_NAME or not name.isprintable() or not name.strip(".") or "/" in name:
        raise ValueError(
            f"a class cannot be called {text!r}; take a name of {LONGEST_NAME} letters at most, on one line, without /."
        )
    same = next((one for one in class_names if spelled(str(one)) == spelled(name)), None)
    if same is not None:
        raise ValueError(f"{name} is not new: there is a class {same}; give that label instead.")
    return name


def as_named_before(file: sqlite3.Connection, name: str) -> str:
    """Return a new class's name as somebody spelled it first, if that differs only by case or white space."""
    names = file.execute("SELECT new_class FROM log WHERE new_class IS NOT NULL GROUP BY new_class ORDER BY MIN(seq)")
    return next((str(one) for (one,) in names if spelled(str(one)) == spelled(name)), name)
