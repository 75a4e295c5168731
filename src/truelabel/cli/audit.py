"""`truelabel audit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truelabel.cli import audit_page, labelled
from truelabel.cli import examined as named
from truelabel.cli.files import OVERWRITE
from truelabel.writing import check_target, write_json

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.labels import Audit, CorrectedLabels, Examined, Verdict
    from truelabel.labels.final import Decided

DESIGN, SHEET = "audit.jsonl", "audit.csv"
SAMPLE = 100  # an evening's work; about as many as intervals need to be of use


def audit(
    where: named.Where,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"How many labels to check in all, {SAMPLE} by default; a larger number later draws further ones.",
            show_default=False,
        ),
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option(help=f"The sheet to fill in (.csv); by default {SHEET} in the folder.", show_default=False),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(help="Look for the cut-off of p_wrong above which this share of the labels is proven wrong."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the verdict here, too (.json).", show_default=False)] = None,
    corrected: Annotated[
        Path | None,
        typer.Option(
            help="Write your table here (.csv or .parquet), its labels corrected as far as the answers prove it safe; "
            "a list of the labels where the results do not hold a table.",
            show_default=False,
        ),
    ] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Check the labels on a page in a browser, one by one, instead of in a sheet.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port of the page; 0 takes a free one.")] = 0,
    host: Annotated[
        str, typer.Option(help="The address that the page listens on; by default only this machine reaches it.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    images: named.Images = None,
    table: named.TableFile = None,
    text: named.Text = None,
    calibrator: labelled.Model = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help=OVERWRITE)] = False,
    seed: labelled.Seed = 0,
    device: labelled.Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Check some labels by hand, and know how many are wrong: with an interval that is valid whatever a model believes.

    The first call draws labels and writes a sheet, audit.csv. Fill in its column true_class, from the top: the class
    that each instance really is, "cannot tell", or "none" where no class is right. The same command then reads the
    sheet and says how many labels are wrong and whether corrections would make them better. Every answer is kept.

    With --page there is no sheet to fill in: a page in the browser shows one label after the other, and takes answers
    by keyboard. Ctrl-C ends it and prints the verdict; the same command goes on where you left off.

    Example: truelabel audit cleaned --page

    Example: truelabel audit cleaned

    Example: truelabel audit cleaned --sample 200

    Example: truelabel audit cleaned --corrected corrected.csv

    Example: truelabel audit cleaned --precision 0.9 --out verdict.json --json
    """
    from truelabel.labels import audit as begin
    from truelabel.labels import correct_labels
    from truelabel.labels.audit_file import grown
    from truelabel.labels.files import check_table_path, write_table
    from truelabel.review.alone import alone

    if corrected is not None:
        check_table_path(corrected)
    for path in (corrected, out):
        if path is not None:
            check_target(path, reads=[where, images, table, sheet, calibrator], overwrite=overwrite)
    if precision is not None and not 0 < precision < 1:
        raise ValueError(f"--precision is a share between 0 and 1, not {precision}.")
    if page and as_json:
        raise ValueError("--page prints the address of the page; ask for --json afterwards, without --page.")
    for path, ending in ((sheet, ".csv"), (out, ".json")):
        if path is not None and path.suffix != ending:
            raise ValueError(f"{path} must end in {ending}.")
    design = where / DESIGN if where.is_dir() else where.with_name(f"{where.name}.{DESIGN}")
    shown = sheet or (where / SHEET if where.is_dir() else where.with_name(f"{where.name}.{SHEET}"))
    named.require(where)
    with alone(design) as mine:
        begun = design.is_file()
        if begun:
            made, listed = _gone_on(design, shown, sample) if mine else (_as_it_is(design, sample, page), None)
        elif not mine:
            raise ValueError(f"another command is drawing {design} at this moment; wait until it has done so.")
        elif shown.exists():
            raise FileExistsError(
                f"{shown} is there already, but no {design}; move the sheet, or choose another --sheet."
            )
        unlisted = mine and not page and (not begun or (listed or 0) < len(made.rows))
        if not begun or page or unlisted or corrected is not None:
            seen = named.source(images, table, text)
            examined = named.read(where, seen, calibrator=calibrator, seed=seed, device=device)
        if not begun:
            made = begin(examined.found, sample=sample or SAMPLE, random_state=seed)
            made.write(design)
        if unlisted:
            drawn = made.sheet(examined.items)
            write_table(grown(shown, drawn) if shown.is_file() else drawn, shown)
        if page:
            command = audit_page.next_command(where, calibrator)
            audit_page.show(made, examined, design, shown, command, host=host, port=port, browser=browser)
    if corrected is not None and not made.answers:
        raise ValueError(f"no label is checked yet; fill in {shown} first, then ask for --corrected.")
    verdict = made.verdict() if made.answers else None
    cutoff = None if verdict is None or precision is None else verdict.cutoff(precision)
    if corrected is not None:
        done = correct_labels(examined.found, rule="audited", audit=made)
        write_table(_corrected(where, examined, made, done), corrected)
        if not as_json:
            print(f"{done}\nLabels: {corrected}")
    wanted = {"precision": precision, "cutoff": cutoff} if precision else {}
    _report(made, verdict, wanted, out, as_json, None if page else shown)


def _gone_on(design: Path, sheet: Path, sample: int | None) -> tuple[Audit, int]:
    """Bring an audit up to its sheet and to a larger sample; return it, and how many labels the sheet lists."""
    from truelabel.labels import Audit

    made = Audit.read(design)
    listed = made.read_sheet(sheet) if sheet.is_file() else 0
    if sample is not None and sample < len(made.rows):
        raise ValueError(f"{len(made.rows)} labels are drawn already; --sample may only grow.")
    if sample is not None and sample > len(made.rows):
        made.more(sample - len(made.rows))
    made.write(design)
    return made, listed


def _as_it_is(design: Path, sample: int | None, page: bool) -> Audit:
    """Return an audit that a page is open for, which alone may change it."""
    from truelabel.labels import Audit

    made = Audit.read(design)
    if page:
        raise ValueError(f"a page for {design} is open already; use that one, or end it first with Ctrl-C.")
    if sample is not None and sample != len(made.rows):
        raise ValueError(f"{len(made.rows)} labels are drawn, and a page is open for them; end it, then draw more.")
    return made


def _corrected(where: Path, examined: Examined, made: Audit, done: CorrectedLabels) -> pd.DataFrame:
    """Return the user's own table with final labels, a review's decisions above all; else a row per instance."""
    from truelabel.labels.final import answered, final_labels
    from truelabel.raw.decided import above
    from truelabel.raw.own_table import own_table
    from truelabel.raw.writing import DECISIONS, listed
    from truelabel.review import Decisions
    from truelabel.review.deliver import decided_in

    folder = where if where.is_dir() else None
    decided: Decided = answered(made)
    if folder is not None and (folder / DECISIONS).is_file():
        with Decisions.of(examined, folder / DECISIONS) as decisions:
            decided = above(decided, decided_in(decisions))
    final = final_labels(examined.found, done, decided)
    own = None if folder is None else own_table(folder, examined)
    return listed(done, final) if own is None else own[0].corrected(final)


def _report(
    made: Audit,
    verdict: Verdict | None,
    wanted: dict[str, float | None],
    out: Path | None,
    as_json: bool,
    sheet: Path | None,
) -> None:
    """Print what the answers prove, and what to do next; without a sheet that is to open the page again."""
    facts: dict[str, Any] = {"drawn": len(made.rows), "open": len(made.open)}
    facts |= {} if sheet is None else {"sheet": str(sheet)}
    facts |= {"verdict": None if verdict is None else verdict.to_dict() | wanted}
    if out is not None:
        write_json(out, facts)
    if as_json:
        print(json.dumps(facts, indent=1, ensure_ascii=False))
        return
    if verdict is None:
        print(f"Drawn: {len(made.rows):,} of {len(made):,} labels")
    else:
        print(verdict)
        _print_cutoffs(verdict)
        if wanted:
            found = wanted["cutoff"]
            print(
                f"No cut-off is proven to have a precision of {wanted['precision']:.0%}."
                if found is None
                else f"Precision of {wanted['precision']:.0%} or more: where p_wrong is {found:.6g} or more"
            )
    if len(made.open) and sheet is None:
        print(f"To check: {len(made.open):,} labels; run the same command again to go on.")
    elif len(made.open):
        print(f"To check: {len(made.open):,} labels, from the top of {sheet}: write into its column true_class")
        print(f"  one of {', '.join(map(str, made.class_names))}; 'cannot tell'; or 'none' where no class is right.")
        print("Then run the same command again.")


def _print_cutoffs(verdict: Verdict) -> None:
    print(f"Wrong among the labels from a cut-off on, with {verdict.level:.0%} intervals:")
    print(f"  {'p_wrong':>10} {'labels':>8} {'checked':>8}  share that is wrong")
    for row in verdict.precision.itertuples(index=False):
        share = f"{row.precision:.1%} ({row.precision_low:.1%} to {row.precision_high:.1%})"
        print(f"  {row.cutoff:>10.6g} {row.labels:>8,} {row.checked:>8,}  {share}")
    print("Wrong by given label:")
    for name, count in verdict.wrong.by_class.items():
        print(f"  {name}: {count}")
