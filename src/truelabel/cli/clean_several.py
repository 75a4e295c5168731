"""`truelabel clean` where an instance may have several labels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truelabel.cli import duplicates
from truelabel.cli.files import print_written

if TYPE_CHECKING:
    from truelabel.raw import CleanedSeveral, SeveralLabels

SHOWN = 20  # labels whose counts are printed


def source_named(
    data: Path,
    label: Sequence[str] | None,
    label_columns: str | None,
    separator: str | None,
    superfluous: Mapping[str, Any],
    **columns: Any,
) -> SeveralLabels | None:
    """Return the table with several labels an instance that options name; None where they name none.

    Parameters
    ----------
    data : Path
        The table.
    label, label_columns, separator
        The options of these names.
    superfluous : dict of names to values
        Options that do not go with several labels an instance.
    columns
        `text`, `columns` and `id`, as `SeveralLabels` takes them.
    """
    from truelabel.raw import SeveralLabels

    if label_columns is None and separator is None:
        return None
    option = "--separator" if label_columns is None else "--label-columns"
    if label_columns is not None and (label or separator is not None):
        other = "--label" if label else "--separator"
        raise ValueError(
            f"--label-columns names a column of yes and no for each label, so that {other} is left out; labels in one "
            "cell are named with --label COLUMN --separator '|' alone."
        )
    if separator is not None and len(label or ()) != 1:
        raise ValueError("--separator is what stands between the labels in one column; name that with one --label.")
    for name, value in superfluous.items():
        if value:
            raise ValueError(f"{name} is for one label an instance; leave it out, or {option}.")
    patterns = [part.strip() for part in (label_columns or "").split(",") if part.strip()]
    if label_columns is not None and not patterns:
        raise ValueError("--label-columns names no column; write names or patterns with commas between, as 'is_*'.")
    return SeveralLabels(
        data, label_columns=patterns, label=label[0] if label else None, separator=separator, **columns
    )


def print_cleaned(cleaned: CleanedSeveral, target: Path, as_json: bool) -> None:
    """Print what was found, and where it was written."""
    if as_json:
        print(json.dumps(cleaned.to_dict() | {"folder": str(target)}, indent=1, ensure_ascii=False))
        return
    if cleaned.doubt:
        print(cleaned.doubt)
    print(f"Judged by: {cleaned.about['features']}")
    by_label = cleaned.by_label
    for line in by_label.head(SHOWN).itertuples(index=False):
        wrong = f"{line.wrong:,.0f} of {len(cleaned):,} probably wrong ({line.low:,.0f} to {line.high:,.0f})"
        parts = f"missing {line.missing:,.0f}, superfluous {line.superfluous:,.0f}"
        print(f"{line.label}: {wrong}; {parts}; suspicious {line.suspicious:,}, corrected {line.changed:,}")
    if len(by_label) > SHOWN:
        print(f"… and {len(by_label) - SHOWN:,} more labels, in the report")
    changes = cleaned.corrected.changes
    print(f"Corrected: {len(changes):,} ({cleaned.rule})" if len(changes) else "Corrected: 0")
    for _, row in changes.head(5).iterrows():
        print(f"  {row['id']}, {row['class']}: {row['given']} → {row['corrected']} ({row['why']})")
    if len(cleaned.duplicates):
        print("\n".join(duplicates.lines(cleaned.duplicates)))
    _print_files(target)


def _print_files(target: Path) -> None:
    from truelabel.raw.writing import DUPLICATES, ISSUES, REPORT, SKIPPED

    (corrected,) = target.glob("corrected.*")
    print_written(
        {
            corrected: "your table, corrected",
            target / ISSUES: "suspicious labels, the worst first",
            target / REPORT: "the report, for a browser",
            target / DUPLICATES: "what is there more than once, different labels first",
            target / SKIPPED: "what was left out, and why",
        }
    )
    print(f"Next, look at the suspicious labels: {target / REPORT}")
