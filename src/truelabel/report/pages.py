"""The templates that reports are made of, and how they write numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def template(name: str) -> Any:
    """Return a template of a page; whatever is put into it is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("truelabel.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": _number, "percent": _percent}
    return environment.get_template(name)


def now() -> str:
    """Return the time that a page says it was written at."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}\u00a0%"
