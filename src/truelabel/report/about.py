"""What the report says of how it came about: settings, findings of the calibrator, versions."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from truelabel import __version__

PACKAGES = ("numpy", "scikit-learn", "scipy", "torch", "pandas")
REPORT = "report"  # where `Examined.about` keeps what the calibrator reported


def versions() -> dict[str, str]:
    """Return the versions of what was at work."""
    found = {"Python": platform.python_version(), "truelabel": __version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def reported(about: Mapping[str, Any], calibrator: Any) -> dict[str, Any]:
    """Return what the calibrator reported: of the one at hand, or as it was noted when labels were examined."""
    report = getattr(calibrator, "report_", None)
    if report is not None:
        return dict(report.to_dict())
    noted = about.get(REPORT)
    return dict(noted) if isinstance(noted, Mapping) else {}


def flattened(values: Mapping[str, Any], under: str = "") -> Iterator[tuple[str, str]]:
    """Yield the names and values of nested settings, a line each."""
    for name, value in values.items():
        title = f"{under} › {name}" if under else str(name)
        if isinstance(value, Mapping):
            yield from flattened(value, title)
        elif isinstance(value, list | tuple):
            yield title, ", ".join(map(_plain, value))
        else:
            yield title, _plain(value)


def _plain(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
