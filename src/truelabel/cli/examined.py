"""Examined labels from what a user names: a folder of them, or predictions and where their instances are to be seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truelabel.cli import labelled

if TYPE_CHECKING:
    from truelabel.labels import Examined, LabelIssues, MultiLabel, MultiLabelIssues
    from truelabel.predictions import Predictions

Where = Annotated[
    Path,
    typer.Argument(
        help="What truelabel clean or truelabel issues --save wrote; or predictions with labels, .parquet or .npz.",
        show_default=False,
    ),
]
Images = Annotated[
    Path | None,
    typer.Option(
        help="The images: the folder that the ids are file names in, or an .npy file with one a row.",
        show_default=False,
    ),
]
TableFile = Annotated[
    Path | None,
    typer.Option("--table", help="The instances as rows of a .csv or .parquet file.", show_default=False),
]
Text = Annotated[
    list[str] | None,
    typer.Option(help="The column of --table with the text; may be given again.", show_default=False),
]


def source(images: Path | None, table: Path | None, text: list[str] | None) -> dict[str, Any] | None:
    """Return where instances are to be seen, as `truelabel.labels.items_of` takes it; None where nothing is said."""
    if text and table is None:
        raise ValueError("--text names a column of --table; name that file, too.")
    if images is not None and table is not None:
        raise ValueError("name --images or --table, not both.")
    if table is not None:
        return {"kind": "text" if text else "row", "table": str(table)} | ({"columns": list(text)} if text else {})
    if images is None:
        return None
    if images.is_dir():
        return {"kind": "image", "folder": str(images)}
    if images.suffix == ".npy" and images.is_file():
        return {"kind": "image", "array": str(images)}
    raise FileNotFoundError(f"{images} is neither a folder of images nor an .npy file.")


def read(
    where: Path,
    shown: dict[str, Any] | None = None,
    *,
    votes: labelled.VotesFile | None = None,
    calibrator: Path | None = None,
    seed: int = 0,
    device: str = "auto",
) -> Examined:
    """Read a folder of examined labels, or examine those of a predictions file.

    Parameters
    ----------
    where : path
        The folder or the file.
    shown : dict, optional
        Where the instances are to be seen; see `source`. For a folder only if not where they were.
    votes : VotesFile, optional
        For a file: the labels of several annotators.
    calibrator, seed, device
        For a file: what examines it; see ``truelabel issues``.
    """
    from truelabel.labels import Examined

    require(where)
    if where.is_dir():
        if votes is not None:
            raise ValueError(f"{where} was examined already; --votes goes with the predictions, or truelabel issues.")
        return Examined.read(where, shown)
    named = labelled.Named(where, {}, logits=False, out_of_sample=None, votes=votes)
    said, found = labelled.found_in(named, calibrator, seed=seed, device=device)
    return _together(said, found, shown, origin=where, seed=seed)


def require(where: Path) -> None:
    """Refuse what is not there."""
    if not where.exists():
        raise FileNotFoundError(
            f"There is no folder or file {where}; truelabel clean and truelabel issues --save make such a folder."
        )


def check_new(folder: Path) -> None:
    """Refuse a folder that holds something."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is there already; --save makes a new folder.")


def save(
    said: Predictions | MultiLabel,
    found: LabelIssues | MultiLabelIssues,
    shown: dict[str, Any] | None,
    folder: Path,
    *,
    origin: Path | None,
    seed: int,
) -> None:
    """Write what was found as a folder."""
    _together(said, found, shown, origin=origin, seed=seed).write(folder)


def _together(
    said: Predictions | MultiLabel,
    found: LabelIssues | MultiLabelIssues,
    shown: dict[str, Any] | None,
    *,
    origin: Path | None,
    seed: int,
) -> Examined:
    from truelabel.labels import LabelIssues, examined
    from truelabel.predictions import Predictions

    if not isinstance(said, Predictions) or not isinstance(found, LabelIssues):
        raise ValueError("several labels an instance are listed by truelabel issues, but cannot be shown on a page.")
    about: dict[str, Any] = {"data": "arrays" if origin is None else str(origin), "seed": seed}
    report = getattr(found.calibrator, "report_", None)
    return examined(said, found, shown, **about, **({} if report is None else {"report": report.to_dict()}))
