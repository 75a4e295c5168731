"""`truelabel report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, cast

import typer

from truelabel.cli import examined as named
from truelabel.cli import labelled
from truelabel.cli.files import OVERWRITE


def report(
    where: named.Where,
    out: Annotated[Path, typer.Option(help="Where the report goes (.html).")] = Path("report.html"),
    images: named.Images = None,
    table: named.TableFile = None,
    text: named.Text = None,
    title: Annotated[str | None, typer.Option(help="Stands above.", show_default=False)] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="True classes, .npy, if they are known: to measure, not only estimate.", show_default=False),
    ] = None,
    layout: Annotated[
        str, typer.Option("--map", help="How the instances are laid out: tsne, pca (no waiting) or none.")
    ] = "tsne",
    drawn: Annotated[int, typer.Option(min=4, help="Instances on the map, at most.")] = 2000,
    votes: labelled.Votes = None,
    votes_columns: labelled.VotesColumns = None,
    counts: labelled.Counts = False,
    calibrator: labelled.Model = None,
    seed: labelled.Seed = 0,
    device: labelled.Device = "auto",
    overwrite: Annotated[bool, typer.Option("--overwrite", help=OVERWRITE)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Write what was found about the labels as one HTML file: to read, to print, to send. It needs no network.

    It shows how many labels are wrong, which classes are taken for which, how far the classifier's probabilities can
    be believed, a map of the instances, and the hundred worst labels with what each should be.

    Example: truelabel report cleaned --out report.html

    Example: truelabel report cleaned --title "Parts, May" --map pca --out may.html

    Example: truelabel report train.parquet --images photos --json
    """
    import truelabel as tl
    from truelabel.reading import read_npy
    from truelabel.report import write_report
    from truelabel.report.map import Layout
    from truelabel.writing import check_target

    if out.suffix not in (".html", ".htm"):
        raise ValueError(f"{out} must end in .html; that is what the report is.")
    out.parent.mkdir(parents=True, exist_ok=True)
    check_target(out, reads=[where, images, table, truth, calibrator], overwrite=overwrite)
    if layout not in ("tsne", "pca", "none"):
        raise ValueError(f"--map is tsne, pca or none, not {layout}.")
    examined = named.read(
        where,
        named.source(images, table, text),
        votes=labelled.VotesFile.named(votes, votes_columns, counts),
        calibrator=calibrator,
        seed=seed,
        device=device,
    )
    path = write_report(
        examined,
        out,
        calibrator=None if calibrator is None else tl.load(calibrator, device=device),
        truth=None if truth is None else read_npy(truth),
        title=title,
        layout=cast(Layout, layout),
        drawn=drawn,
    )
    wrong, size = examined.found.wrong, path.stat().st_size
    if as_json:
        shown = {"file": str(path), "bytes": size, "instances": len(examined), "wrong": wrong.to_dict()}
        print(json.dumps(shown, indent=1, ensure_ascii=False))
        return
    print(f"Probably wrong: {wrong.total}")
    print(f"Report: {path} ({size / 1e6:.1f} MB)")
