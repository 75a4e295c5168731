"""`truelabel clean`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truelabel.cli import clean_several, duplicates, labelled
from truelabel.cli.files import print_written

if TYPE_CHECKING:
    from truelabel.raw import Cleaned


def clean(
    data: Annotated[
        Path,
        typer.Argument(
            help="A folder with one subfolder of images a class, or a .csv or .parquet file.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="The folder that everything goes to; NAME-cleaned by default.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="The column with the labels of a table; given again for each of several annotators.",
            show_default=False,
        ),
    ] = None,
    label_columns: Annotated[
        str | None,
        typer.Option(
            help="In place of --label, for several labels an instance: columns of yes and no, one for each label, with "
            "commas between them; names, or patterns such as 'is_*'.",
            show_default=False,
        ),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(
            help="Cells of the --label column hold several labels, or none, with this between them, such as '|'.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option(help="A column with texts; may be given again.", show_default=False)
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Columns with numbers or categories to judge by, with commas between them; where there is no --text, "
            "all but row numbers and free text by default."
        ),
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="A column that names each row; else its number.")] = None,
    votes: labelled.Votes = None,
    votes_columns: labelled.VotesColumns = None,
    counts: labelled.Counts = False,
    encoder: Annotated[
        str,
        typer.Option(
            help="A pretrained encoder (its name on the Hugging Face hub, or its folder), none, or auto: a small one "
            "if it is here or can be downloaded."
        ),
    ] = "auto",
    correct: labelled.Correct = "safe",
    threshold: Annotated[
        float | None,
        typer.Option(help="Of these, change only labels for which another class is at least so probable."),
    ] = None,
    copy_to: Annotated[
        Path | None, typer.Option(help="Make a new folder of the images by corrected class here, too.")
    ] = None,
    merge_labels: Annotated[
        bool,
        typer.Option("--merge-labels", help="Make one class of labels that differ only by case or white space."),
    ] = False,
    drop_rare: Annotated[
        bool,
        typer.Option(
            "--drop-rare",
            help="Leave out what is the only one of its class even where that is more than a fifth of all; a smaller "
            "part is always left out.",
        ),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what an earlier run wrote.")] = False,
    seed: labelled.Seed = 0,
    device: labelled.Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Find and fix wrong labels in images, texts or a table, in one go; your data stay as they are.

    Turns the instances into numbers, trains a small classifier, calibrates it, and judges every label. Writes the
    corrected labels, the list of suspects and of duplicates, a report, the calibrator, and all that truelabel review
    needs.

    Example: truelabel clean images/

    Example: truelabel clean news.csv --text title --label topic --out news-cleaned

    Example: truelabel clean parts.parquet --label kind --columns length,width,material --json

    Example: truelabel clean scans.csv --label ann --label bob --label cleo

    Example: truelabel clean news.csv --text body --label-columns 'is_*'

    Example: truelabel clean news.csv --text body --label tags --separator '|'
    """
    from rich.console import Console

    from truelabel.labels.correct import rule_named
    from truelabel.raw import clean as run
    from truelabel.raw import clean_several as run_several
    from truelabel.raw import open_source
    from truelabel.raw.writing import check_target, check_tree

    named = None if columns is None else [name.strip() for name in columns.split(",") if name.strip()]
    single = {"--votes": votes, "--votes-columns": votes_columns, "--counts": counts, "--copy-to": copy_to}
    single |= {"--merge-labels": merge_labels, "--drop-rare": drop_rare}
    several = clean_several.source_named(
        data, label, label_columns, separator, single, text=text or (), columns=named, id=id
    )
    source = several.table if several else open_source(data, label=label, text=text, columns=named, id=id)
    voted = labelled.VotesFile.named(votes, votes_columns, counts)
    target = check_target(out or Path(f"{source.name}-cleaned"), source, overwrite=overwrite)
    if copy_to is not None:
        check_tree(copy_to, source)
    aside = Console(stderr=True, highlight=False, soft_wrap=True)
    aside.print(f"Cleaning {len(source.given):,} {source.what} of {source.name}", markup=False)
    settings: dict[str, Any] = {
        "encoder": encoder,
        "correct": rule_named(correct, audited=False),
        "threshold": "auto" if threshold is None else threshold,
        "random_state": seed,
        "device": device,
        "tell": lambda note: aside.print(note, style="yellow", markup=False),
    }
    if several is not None:
        done = run_several(several, **settings)
        clean_several.print_cleaned(done, done.write(target, overwrite=overwrite), as_json)
        return
    cleaned = run(
        source,
        votes=None if voted is None else voted.read,
        merge_labels=merge_labels,
        drop_rare=drop_rare,
        **settings,
    )
    cleaned.write(target, overwrite=overwrite, copy_to=copy_to)
    if as_json:
        print(json.dumps(cleaned.to_dict() | {"folder": str(target)}, indent=1, ensure_ascii=False))
        return
    _print(cleaned, target, copy_to)


def _print(cleaned: Cleaned, target: Path, copy_to: Path | None) -> None:
    from truelabel.raw.writing import CALIBRATOR, DUPLICATES, ISSUES, REPORT, SKIPPED, UNLABELLED

    wrong, changes = cleaned.examined.found.wrong, cleaned.corrected.changes
    doubt = cleaned.corrected.declined or cleaned.examined.found.caveat
    if doubt:
        print(doubt)
    print(f"Judged by: {cleaned.examined.about['features']}")
    print(f"Probably wrong: {wrong.total}")
    consensus = cleaned.examined.found.consensus
    if consensus is not None:
        votes = consensus.votes
        whose = "that are anonymous" if votes.anonymous else f"of {votes.n_annotators:,} annotators"
        print(f"Judged with: {int(votes.count.sum()):,} votes {whose}")
    print(f"Corrected: {len(changes):,} ({cleaned.corrected.rule})" if len(changes) else "Corrected: 0")
    for _, row in changes.head(5).iterrows():
        print(f"  {row['id']}: {row['given']} → {row['corrected']} ({row['why']})")
    if len(cleaned.duplicates):
        print("\n".join(duplicates.lines(cleaned.duplicates)))
    (corrected,) = target.glob("corrected.*")
    files = {
        corrected: "the labels, corrected",
        target / ISSUES: "every label, the most suspicious first",
        target / REPORT: "the report, for a browser",
        target / CALIBRATOR: "the calibrator",
        target / DUPLICATES: "what is there more than once, different labels first",
        target / UNLABELLED: "predictions where there is no label",
        target / SKIPPED: "what was left out, and why",
    }
    files |= {copy_to: "the images by corrected class"} if copy_to is not None else {}
    print_written(files)
    if doubt:
        print(f"Next, check a hundred labels, to know how many are wrong: truelabel audit {target}")
    print(f"{'Then' if doubt else 'Next'}, look at the suspects and decide: truelabel review {target}")
