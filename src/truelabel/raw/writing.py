"""What cleaning found, as a folder of files and, for images, a folder tree by corrected class."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from truelabel.labels.examined import ABOUT, ARRAYS, PREDICTIONS, SEVERAL
from truelabel.labels.examined import TABLE as EXAMINED_TABLE
from truelabel.labels.files import write_table
from truelabel.labels.final import final_labels
from truelabel.labels.renewal import renewing
from truelabel.progress import Progress
from truelabel.raw.images import ImageFolder
from truelabel.raw.table import Table
from truelabel.writing import whole_folder

if TYPE_CHECKING:
    from truelabel.labels.correct import CorrectedLabels
    from truelabel.labels.final import FinalLabels
    from truelabel.raw.cleaning import Cleaned
    from truelabel.raw.instances import Source

ISSUES, CORRECTED, CALIBRATOR, REPORT = "issues.csv", "corrected", "calibrator.safetensors", "report.html"
DUPLICATES, UNLABELLED, SKIPPED = "duplicates.csv", "unlabelled.csv", "skipped.csv"
OURS = {
    *(PREDICTIONS, EXAMINED_TABLE, ARRAYS, ABOUT, ISSUES, CALIBRATOR, REPORT, DUPLICATES, UNLABELLED, SKIPPED),
    *(f"{CORRECTED}.csv", f"{CORRECTED}.parquet", SEVERAL),
}
DECISIONS = "decisions.sqlite"
AUDIT = "audit.jsonl"


def check_target(folder: str | os.PathLike[str], source: Source, *, overwrite: bool) -> Path:
    """Return the folder that results go to, or say why they cannot; asked before the work as well as after it."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise FileExistsError(f"{target} is a file; choose another folder with --out.")
    if isinstance(source, ImageFolder) and target.resolve().is_relative_to(source.folder.resolve()):
        raise ValueError(f"{target} lies in {source.folder}, where it would pass for a class; choose another --out.")
    if isinstance(source, Table) and source.path.resolve().parent == target.resolve() and source.path.name in OURS:
        raise ValueError(f"{source.path} would be overwritten; choose another --out.")
    if not target.is_dir() or not any(target.iterdir()):
        return target
    if not overwrite:
        raise FileExistsError(f"{target} is there already; choose another --out, or replace it with --overwrite.")
    if (target / DECISIONS).exists():
        raise FileExistsError(
            f"{target / DECISIONS} holds decisions about what is there; choose another --out, or move that file first."
        )
    if (target / AUDIT).exists():
        raise FileExistsError(
            f"{target / AUDIT} is an audit of what is there; choose another --out, or move that file first."
        )
    return target


def check_tree(copy_to: str | os.PathLike[str], source: Source) -> ImageFolder:
    """Return the images that a tree of corrected classes is made of, or say why it cannot."""
    if not isinstance(source, ImageFolder):
        raise ValueError("only images are copied; leave --copy-to out, the corrected table is written anyway.")
    check_new_tree(copy_to, source.folder)
    return source


def check_new_tree(copy_to: str | os.PathLike[str], folder: Path) -> None:
    """Refuse a place for a folder tree of images that is taken, or among the images."""
    target = Path(copy_to)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} is there already; --copy-to makes a new folder.")
    if target.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{target} lies in {folder}, where it would pass for a class; choose another --copy-to.")


def write(
    cleaned: Cleaned,
    folder: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    copy_to: str | os.PathLike[str] | None = None,
    progress: bool | str = "auto",
) -> Path:
    """Write what was found.

    The folder is what `truelabel.labels.Examined.read` and with it ``truelabel report`` and ``truelabel review``
    read, with `issues.csv` (all instances, the most suspicious first), `corrected.csv` or `corrected.parquet`,
    `calibrator.safetensors`, `report.html`, and `duplicates.csv`, `unlabelled.csv` and `skipped.csv` where there are
    such. Of what is there already, only files of these names are touched, and all of them at once: whatever ends the
    program, the folder holds all that it held before or all that is new.
    """
    from truelabel.report import write_report

    target = check_target(folder, cleaned.source, overwrite=overwrite)
    images = None if copy_to is None else check_tree(copy_to, cleaned.source)
    target.mkdir(parents=True, exist_ok=True)
    if images is not None and copy_to is not None:
        names = [str(name) for name in cleaned.source.ids[cleaned.rows]]
        with Progress(progress) as bars, whole_folder(copy_to, flushed=False) as tree:
            copy_tree(images.folder, names, _titles(cleaned), tree, bars)
    with renewing(target, OURS) as made:
        cleaned.examined.write(made)
        write_table(cleaned.examined.found.table, made / ISSUES)
        write_table(*_corrected(cleaned, made))
        cleaned.calibrator.save(made / CALIBRATOR)
        for table, name in (
            (cleaned.duplicates.table, DUPLICATES),
            (cleaned.unlabelled, UNLABELLED),
            (cleaned.skipped, SKIPPED),
        ):
            if len(table):
                write_table(table, made / name)
        write_report(
            cleaned.examined,
            made / REPORT,
            calibrator=cleaned.calibrator,
            title=f"Labels of {cleaned.source.name}",
            progress=progress,
        )
    return target


def _titles(cleaned: Cleaned) -> list[str]:
    """Return the corrected class of each examined instance by its name."""
    names = cleaned.examined.found.class_names
    return [str(names[k]) for k in cleaned.corrected.labels]


def _corrected(cleaned: Cleaned, target: Path) -> tuple[Any, Path]:
    """Return the corrected table, and where it goes: the user's own with other labels, or a list of images."""
    source, final = cleaned.source, final_labels(cleaned.examined.found, cleaned.corrected, {})
    if isinstance(source, Table):
        ending = source.path.suffix.lower()
        return source.corrected(cleaned.rows, final), target / f"{CORRECTED}{ending}"
    return listed(cleaned.corrected, final).rename(columns={"id": "file"}), target / f"{CORRECTED}.csv"


def listed(corrected: CorrectedLabels, final: FinalLabels) -> Any:
    """Return a row per instance with its given and final label, what was decided, and why."""
    table = corrected.table.copy()
    table["corrected"], table["changed"] = final.names, final.names != final.given
    table.insert(list(table.columns).index("changed") + 1, "decision", final.decision)
    return table.assign(why=final.reason)


def copy_tree(folder: Path, names: Sequence[str], classes: Sequence[str], target: Path, progress: Progress) -> None:
    """Make a folder tree by class out of images, by hard link where that is possible, and else by copying.

    An image that changes its class keeps its file name, unless another has it: then the old class is put before it.
    Images that are in no folder of a class go into one.
    """
    for name in {*names, *classes}:
        _require_inside(name)
    kept = {PurePosixPath(name) for name, now in zip(names, classes, strict=True) if name.split("/")[0] == now}
    taken = set(kept)
    for name, now in progress.track(list(zip(names, classes, strict=True)), "Copying images"):
        parts = PurePosixPath(name).parts
        given, inside = (parts[0], parts[1:]) if len(parts) > 1 else ("", parts)
        place = PurePosixPath(now, *inside)
        if given != now:
            number = 1
            while place in taken:
                mark = given if given and number == 1 else f"{given or 'again'}-{number}"
                place = PurePosixPath(now, *inside[:-1], f"{mark}-{inside[-1]}")
                number += 1
            taken.add(place)
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        _link(folder / name, target / place)


def _require_inside(name: str) -> None:
    """Refuse a name that leads out of a folder; it may come from a file that somebody else wrote."""
    path = Path(name)
    if not path.parts or path.anchor or ".." in path.parts:
        raise ValueError(f"{name!r} cannot be the name of a file or a folder in a folder tree; rename it.")


def _link(image: Path, place: Path) -> None:
    with suppress(OSError):
        os.link(image.resolve(), place)
        return
    shutil.copy2(image, place)
