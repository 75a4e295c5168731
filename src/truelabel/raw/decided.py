"""A folder of results once people have decided about labels: its corrected file, and its files renewed together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.labels.audit import Audit
from truelabel.labels.correct import CorrectedLabels
from truelabel.labels.files import write_table
from truelabel.labels.final import FinalLabels, answered, corrections, final_labels
from truelabel.labels.items import ImageFiles
from truelabel.labels.renewal import newest, renewing
from truelabel.progress import Progress
from truelabel.raw.own_table import own_table
from truelabel.raw.writing import AUDIT, CORRECTED, ISSUES, REPORT, check_new_tree, copy_tree, listed
from truelabel.writing import whole_folder

if TYPE_CHECKING:
    from truelabel.labels.correct import Rule
    from truelabel.labels.examined import Examined
    from truelabel.labels.final import Decided

SKIP = "skip"
LIST = f"{CORRECTED}.csv"  # of images


def final_in(
    folder: Path | None, examined: Examined, decided: Decided, rule: Rule | None = None
) -> tuple[CorrectedLabels, FinalLabels]:
    """Return corrections by a rule, by default the one with which the folder was cleaned, and the final labels.

    What was checked in an audit of the folder counts as decided.
    """
    corrected = corrections(examined, rule)
    audited: Decided = {}
    if folder is not None and (folder / AUDIT).is_file():
        audit = Audit.read(folder / AUDIT)
        if not np.array_equal(audit.given, examined.found.labels):
            raise ValueError(f"{folder / AUDIT} is an audit of other labels; move that file away.")
        audited = answered(audit)
    return corrected, final_labels(examined.found, corrected, above(audited, decided))


def above(audited: Decided, decided: Decided) -> Decided:
    """Return decisions with an audit's answers where there is none, or the label was skipped."""
    final = {row: one for row, one in decided.items() if one[0] != SKIP}
    return {**decided, **audited, **final}


def corrected_table(folder: Path | None, examined: Examined, final: FinalLabels) -> Any:
    """Return the user's own table with final labels where the folder has it, and else a list of all instances."""
    own = None if folder is None else own_table(folder, examined)
    return final.listed(examined.found) if own is None else own[0].corrected(final)


def check_images(examined: Examined, copy_to: Path) -> ImageFiles:
    """Return the images that a folder tree of final labels is made of, or say why it cannot."""
    items = examined.items
    if not isinstance(items, ImageFiles):
        raise ValueError(
            "only image files are copied; leave --copy-to out, or name the folder that the ids are file names in with "
            "--images."
        )
    check_new_tree(copy_to, items.folder)
    return items


def copy_images(images: ImageFiles, final: FinalLabels, copy_to: Path, progress: bool | str = "auto") -> int:
    """Make a new folder tree of the images by their final labels, whole or not at all, and return how many it has.

    Images without a label are left out.
    """
    labelled = final.names != ""
    names = [name for name, has_label in zip(images.names, labelled, strict=True) if has_label]
    gone = next((name for name in names if not (images.folder / name).is_file()), None)
    if gone is not None:
        raise FileNotFoundError(f"There is no image {gone} in {images.folder}; name its folder with --images.")
    with Progress(progress) as bars, whole_folder(copy_to, flushed=False) as tree:
        copy_tree(images.folder, names, [str(name) for name in final.names[labelled]], tree, bars)
    return len(names)


def renew(folder: str | os.PathLike[str], examined: Examined, decided: Decided) -> Path:
    """Write what was found anew to a folder, with everything in it that follows from it, together or not at all.

    Renewed are the results, the calibrator, and of `issues.csv`, `report.html` and the corrected file those that are
    there.
    """
    home = Path(folder)

    def others(made: Path) -> None:
        _write_corrected(home, examined, decided, made)
        if newest(home, ISSUES).is_file():
            write_table(examined.found.table, made / ISSUES)
        if newest(home, REPORT).is_file():
            from truelabel.report import write_report

            write_report(examined, made / REPORT, title=_title(examined), progress=False)

    return examined.renew(home, others)


def renew_corrected(folder: Path, examined: Examined, decided: Decided) -> Path | None:
    """Write the folder's corrected file anew, and return it; None where the folder has none."""
    with renewing(folder) as made:
        name = _write_corrected(folder, examined, decided, made)
    return None if name is None else folder / name


def _write_corrected(home: Path, examined: Examined, decided: Decided, made: Path) -> str | None:
    corrected, final = final_in(home, examined, decided)
    own = own_table(home, examined)
    if own is not None:
        write_table(own[0].corrected(final), made / own[1])
        return own[1]
    data = examined.about.get("data")
    if isinstance(data, dict) and "images" in data and newest(home, LIST).is_file():
        write_table(listed(corrected, final).rename(columns={"id": "file"}), made / LIST)
        return LIST
    return None


def _title(examined: Examined) -> str | None:
    """Return the title that the report was written with at first."""
    source = examined.items.source()
    if "table" in source:
        return f"Labels of {Path(source['table']).stem}"
    return f"Labels of {Path(source['folder']).name}" if "folder" in source else None
