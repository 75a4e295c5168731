"""What cleaning found about several labels an instance, as a folder of files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from truelabel.labels.examined import SEVERAL
from truelabel.labels.files import write_table
from truelabel.labels.renewal import renewing
from truelabel.raw.writing import CORRECTED, DUPLICATES, ISSUES, OURS, REPORT, SKIPPED, check_target
from truelabel.writing import write_json

if TYPE_CHECKING:
    from truelabel.raw.cleaning_several import CleanedSeveral


def write_several(
    cleaned: CleanedSeveral,
    folder: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    progress: bool | str = "auto",
) -> Path:
    """Write `corrected.csv` or `.parquet`, `issues.csv` (the suspicious instances and labels) and `report.html`.

    And `duplicates.csv` and `skipped.csv` where there are such, and `several_labels.json`: the counts and settings. As
    with one label an instance, all are renewed together or not at all; see `truelabel.raw.writing.write`.
    """
    from truelabel.report.several import write_several_report

    target = check_target(folder, cleaned.source.table, overwrite=overwrite)
    target.mkdir(parents=True, exist_ok=True)
    with renewing(target, OURS) as made:
        write_table(cleaned.table(), made / f"{CORRECTED}{cleaned.source.path.suffix.lower()}")
        write_table(cleaned.suspects, made / ISSUES)
        for table, name in ((cleaned.duplicates.table, DUPLICATES), (cleaned.skipped, SKIPPED)):
            if len(table):
                write_table(table, made / name)
        write_json(made / SEVERAL, cleaned.to_dict() | {"about": cleaned.about})
        write_several_report(cleaned, made / REPORT, progress=progress)
    return target
