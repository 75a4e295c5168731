"""`truelabel review`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truelabel.cli import examined as named
from truelabel.cli import labelled
from truelabel.cli.files import OVERWRITE

if TYPE_CHECKING:
    from truelabel.labels.correct import Rule
    from truelabel.labels.examined import Examined
    from truelabel.labels.final import Decided

DECISIONS = "decisions.sqlite"


def review(
    where: named.Where,
    images: named.Images = None,
    table: named.TableFile = None,
    text: named.Text = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            help=f"The file that decisions go to, and are read from; by default {DECISIONS} in the folder, or beside "
            "the predictions.",
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Go through labels that are wrong with at least this probability; by default through those for "
            "which another class is more probable.",
            show_default=False,
        ),
    ] = None,
    most: Annotated[int | None, typer.Option(min=1, help="Go through so many at most.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 0,
    host: Annotated[
        str, typer.Option(help="The address to listen on; by default only this machine reaches the page.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    reviewer: Annotated[
        str,
        typer.Option(
            help="Your name, which is kept with each decision; by default what you say on the page.",
            show_default=False,
        ),
    ] = "",
    export: Annotated[
        Path | None, typer.Option(help="Write the decisions here (.csv or .parquet) instead of showing the page.")
    ] = None,
    corrected: Annotated[
        Path | None,
        typer.Option(
            help="Write your table with its final labels here (.csv or .parquet), likewise; for images a list of them."
        ),
    ] = None,
    copy_to: Annotated[
        Path | None,
        typer.Option(help="Make a new folder of the images by their final labels here, likewise.", show_default=False),
    ] = None,
    correct: Annotated[
        str | None,
        typer.Option(
            help="Which labels are changed where nobody decided: safe, all or none; by default as they were cleaned.",
            show_default=False,
        ),
    ] = None,
    apply: Annotated[
        bool,
        typer.Option(
            "--apply",
            help="Learn from the decisions instead of showing the page: judge all labels anew, and write the folder "
            "and its calibrator.safetensors anew.",
        ),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help=OVERWRITE)] = False,
    votes: labelled.Votes = None,
    votes_columns: labelled.VotesColumns = None,
    counts: labelled.Counts = False,
    calibrator: labelled.Model = None,
    seed: labelled.Seed = 0,
    device: labelled.Device = "auto",
) -> None:
    """Go through suspicious labels on a page, and decide: accept the suggestion, keep the label, give another one.

    Shows each suspect with what is most like it, and is quick by keyboard. Every decision is on disk before the next
    suspect shows, so that nothing is lost; the command goes on where you left off. Ctrl-C ends it. What you decided
    can improve the rest, on the page or with --apply: the calibrator learns from it and judges the other labels anew.
    Several people may work at once, with --host and --port on machines of their own; nobody overwrites another's
    decision without seeing it.

    Example: truelabel review cleaned

    Example: truelabel review cleaned --threshold 0.5 --port 8080 --no-browser

    Example: truelabel review cleaned --host 0.0.0.0 --reviewer Anna

    Example: truelabel review cleaned --export decisions.csv --corrected corrected.parquet

    Example: truelabel review photos-cleaned --copy-to photos-final

    Example: truelabel review cleaned --apply
    """
    from truelabel.labels.correct import rule_named
    from truelabel.labels.files import check_table_path
    from truelabel.raw.decided import check_images
    from truelabel.review.names import reviewer_name
    from truelabel.writing import check_target

    named_reviewer = reviewer_name(reviewer)
    for path in (export, corrected):
        if path is not None:
            check_target(check_table_path(path), reads=[where, images, table, decisions], overwrite=overwrite)
    if correct is not None:
        rule_named(correct, audited=False)
        if corrected is None and copy_to is None:
            raise ValueError("--correct says what --corrected FILE or --copy-to FOLDER holds; name one, too.")
    if threshold is not None and not 0 <= threshold <= 1:
        raise ValueError(f"--threshold is a probability between 0 and 1, not {threshold}.")
    if apply and where.exists() and not where.is_dir():
        raise ValueError("--apply writes a folder anew; make one with truelabel issues --save, and review that.")
    kept = decisions or (where / DECISIONS if where.is_dir() else where.with_name(f"{where.name}.{DECISIONS}"))
    if (export or corrected or copy_to or apply) and not kept.is_file():
        raise FileNotFoundError(f"Nothing is decided yet: there is no {kept}.")
    if export is not None:
        _export(kept, export)
    if export is not None and corrected is None and copy_to is None and not apply:
        return
    shown = named.source(images, table, text)
    examined = named.read(
        where,
        shown,
        votes=labelled.VotesFile.named(votes, votes_columns, counts),
        calibrator=calibrator,
        seed=seed,
        device=device,
    )
    if copy_to is not None:
        check_images(examined, copy_to)
    if corrected is not None or copy_to is not None:
        rule = None if correct is None else rule_named(correct, audited=False)
        _correct(examined, kept, where, corrected, copy_to, rule)
    if apply:
        _apply(examined, kept, where, threshold=threshold, seed=seed, device=device)
    if corrected is not None or copy_to is not None or apply:
        return
    folder = where if where.is_dir() else None
    _show(
        examined,
        kept,
        folder=folder,
        shown=shown,
        threshold=threshold,
        most=most,
        port=port,
        host=host,
        browser=browser,
        device=device,
        reviewer=named_reviewer,
    )


def _export(kept: Path, out: Path) -> None:
    from truelabel.labels.files import write_table
    from truelabel.review import Decisions

    with Decisions(kept) as decided:
        write_table(decided.table(), out)
        print(f"Decisions about {len(decided):,} labels: {out}")


def _correct(
    examined: Examined, kept: Path, where: Path, out: Path | None, copy_to: Path | None, rule: Rule | None
) -> None:
    from truelabel.labels.files import write_table
    from truelabel.raw.decided import check_images, copy_images, corrected_table, final_in
    from truelabel.review import Decisions
    from truelabel.review.deliver import decided_in

    folder = where if where.is_dir() else None
    with Decisions.of(examined, kept) as decisions:
        decided = decided_in(decisions)
    _, final = final_in(folder, examined, decided, rule)
    changed = int((final.labels != examined.found.labels).sum())
    if out is not None:
        table = corrected_table(folder, examined, final)
        write_table(table, out)
        print(f"All {len(table):,} labels, {changed:,} of them changed: {out}")
    if copy_to is not None:
        copied = copy_images(check_images(examined, copy_to), final, copy_to)
        moved = int(((final.names != "") & (final.labels != examined.found.labels)).sum())
        print(f"{copied:,} images by final label, {moved:,} of them in another folder: {copy_to}")
        without = len(examined) - copied
        if without:
            are = "images without a label are" if without > 1 else "image without a label is"
            print(f"{without:,} {are} not among them.")
    if folder is not None:
        _renew_corrected(folder, examined, decided)


def _renew_corrected(folder: Path, examined: Examined, decided: Decided) -> None:
    """Bring the folder's own corrected file up to the decisions."""
    from truelabel.raw.decided import renew_corrected

    renewed = renew_corrected(folder, examined, decided)
    if renewed is not None:
        print(f"Final labels: {renewed}")


def _apply(examined: Examined, kept: Path, folder: Path, *, threshold: float | None, seed: int, device: str) -> None:
    from truelabel.review import Decisions
    from truelabel.review.deliver import decided_in
    from truelabel.review.learning import learn

    with Decisions.of(examined, kept) as decisions:
        rows, labels = decisions.trusted()
        decided = decided_in(decisions)
    if not len(rows):
        raise ValueError(f"Nothing is decided in {kept}; decide about some labels first.")
    _, said = learn(
        examined, rows, labels, folder=folder, threshold=threshold, decided=decided, seed=seed, device=device
    )
    print(said)
    print(f"Judged anew by {len(rows):,} trusted labels, with the calibrator: {folder}")


def _show(
    examined: Examined, kept: Path, *, folder: Path | None, shown: dict[str, Any] | None, host: str, **settings: Any
) -> None:
    from truelabel.review import Decisions, serve
    from truelabel.review.deliver import decided_in
    from truelabel.review.guard import LOOPBACK
    from truelabel.review.learning import none_suspicious

    unsuspicious = none_suspicious(examined, settings["threshold"], settings["most"])

    def ready(address: str) -> None:
        print(f"Review: {address}", flush=True)
        if unsuspicious:
            print(unsuspicious, flush=True)
        if host not in LOOPBACK:
            print("Whoever reaches this machine and knows the address can see the data and decide.", flush=True)
        print("Ctrl-C ends it; what you decided stays.", flush=True)

    with suppress(KeyboardInterrupt):
        serve(examined, kept, folder=folder, host=host, ready=ready, **settings)
    with Decisions(kept) as decisions:
        decided = decided_in(decisions)
    print(f"Decided: {len(decided):,} labels, in {kept}")
    if folder is not None and decided:
        _renew_corrected(folder, named.read(folder, shown), decided)
