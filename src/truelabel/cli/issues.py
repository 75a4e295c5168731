"""`truelabel issues`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truelabel.cli import examined as pages
from truelabel.cli import labelled
from truelabel.cli.duplicates import lines
from truelabel.cli.files import OVERWRITE

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.labels import Duplicates, LabelIssues, MultiLabel, MultiLabelIssues
    from truelabel.predictions import Predictions

LOWEST = 3  # annotators that are named
UNSEEN = ("uncertainty", "disagreement", "ambiguity", "needs_vote", "best_annotator")  # columns that are not printed


def issues(
    data: labelled.Data = None,
    out: Annotated[Path, typer.Option(help="Where all instances go, as .csv or .parquet.")] = Path("issues.csv"),
    top: Annotated[int, typer.Option(min=0, help="How many to print, the most suspicious first.")] = 20,
    threshold: Annotated[
        float | None,
        typer.Option(help="Print and write only labels that are wrong with at least this probability."),
    ] = None,
    label_studio: Annotated[
        Path | None, typer.Option(help="Write pre-annotated tasks for Label Studio here, too (.json).")
    ] = None,
    content: Annotated[str, typer.Option(help="What Label Studio is to show: image, text, …")] = "image",
    save: Annotated[
        Path | None,
        typer.Option(help="Write a folder here, too, that truelabel report and truelabel review read."),
    ] = None,
    duplicates: Annotated[
        Path | None,
        typer.Option(
            help="Where instances that are there more than once go, if there are such (.csv or .parquet); by default "
            "beside --out.",
            show_default=False,
        ),
    ] = None,
    images: pages.Images = None,
    table_file: pages.TableFile = None,
    text: pages.Text = None,
    probs: labelled.Probs = None,
    features: labelled.Features = None,
    hidden: labelled.Hidden = None,
    labels: labelled.Labels = None,
    votes: labelled.Votes = None,
    votes_columns: labelled.VotesColumns = None,
    counts: labelled.Counts = False,
    annotators: Annotated[
        Path | None,
        typer.Option(
            help="Where the annotators of --votes go, a row each (.csv or .parquet); by default beside --out.",
            show_default=False,
        ),
    ] = None,
    logits: labelled.Logits = False,
    out_of_sample: labelled.OutOfSample = None,
    calibrator: labelled.Model = None,
    seed: labelled.Seed = 0,
    device: labelled.Device = "auto",
    overwrite: Annotated[bool, typer.Option("--overwrite", help=OVERWRITE)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Find labels that are probably wrong: a ranked list, what each should be, and how many there are in all.

    DATA is what truelabel fit reads, with labels. What a classifier said about its own training set will do; no
    cross-validation and no clean label is needed. Several labels an instance (n×c of 0 and 1, in an .npz file or in
    single .npy files) are examined class by class. Instances that are there more than once go to a file of their own,
    those with different labels first. With --votes, labels are judged by what several annotators and the features say
    together: those in DATA, or what most votes are for where it has none.

    Example: truelabel issues train.parquet --top 50 --out issues.csv

    Example: truelabel issues --probs p.npy --features x.npy --labels y.npy --json

    Example: truelabel issues train.parquet --threshold 0.9 --label-studio tasks.json --content text

    Example: truelabel issues train.parquet --save examined --images images.npy

    Example: truelabel issues train.parquet --votes votes.csv --votes-columns image,worker,class
    """
    from truelabel.labels import LabelIssues, to_label_studio, write_label_studio, write_table
    from truelabel.labels.files import check_table_path
    from truelabel.writing import check_target

    check_table_path(out)
    if threshold is not None and not 0 <= threshold <= 1:
        raise ValueError(f"--threshold is a probability between 0 and 1, not {threshold}.")
    parts = {"probs": probs, "features": features, "hidden": hidden, "labels": labels}
    copies_file = check_table_path(duplicates or out.with_name(f"{out.stem}-duplicates{out.suffix}"))
    people_file = check_table_path(annotators or out.with_name(f"{out.stem}-annotators{out.suffix}"))
    for path in (out, label_studio, copies_file, None if votes is None else people_file):
        if path is not None:
            reads = [data, *parts.values(), images, table_file, calibrator, votes]
            check_target(path, reads=reads, overwrite=overwrite)
    voted = labelled.VotesFile.named(votes, votes_columns, counts)
    if annotators is not None and votes is None:
        raise ValueError("--annotators says where those of --votes go; name that file, too.")
    named = labelled.Named(data, parts, logits, out_of_sample, voted)
    source = pages.source(images, table_file, text)
    if source is not None and save is None:
        raise ValueError("--images and --table say what --save is to show; name that folder, too.")
    if save is not None:
        pages.check_new(save)
    said, found = labelled.found_in(named, calibrator, seed=seed, device=device)
    if save is not None:
        pages.save(said, found, source, save, origin=data, seed=seed)
    table = found.table
    if threshold is not None:
        table = table[table["p_wrong"] >= threshold]
    if label_studio is not None:
        if not isinstance(found, LabelIssues):
            raise ValueError("tasks for Label Studio are written of one label an instance; leave --label-studio out.")
        write_label_studio(to_label_studio(found, most=len(table), content=content), label_studio)
    write_table(table, out)
    copies = _duplicates(said, copies_file)
    people = _annotators(found, people_file)
    if as_json:
        shown = {"instances": found.labels.shape[0], "wrong": _counts(found), "listed": len(table)}
        shown |= {"duplicates": None if copies is None else copies.to_dict()}
        shown |= {} if people is None else {"annotators": labelled.records(people)}
        shown |= {"top": labelled.records(table.head(top)), "file": str(out)}
        print(json.dumps(shown, indent=1, ensure_ascii=False))
        return
    _print(found, table, top, out)
    if copies is not None and len(copies):
        print("\n".join([*lines(copies), f"All of them: {copies_file}"]))
    if people is not None:
        worst = people.sort_values("quality").head(LOWEST)
        lowest = ", ".join(
            f"{one.annotator} {one.quality:.0%} ({one.low:.0%} to {one.high:.0%})" for one in worst.itertuples()
        )
        print(f"Annotators: {len(people):,}; lowest quality: {lowest}\nAll of them: {people_file}")


def _annotators(found: LabelIssues | MultiLabelIssues, path: Path) -> pd.DataFrame | None:
    """Write a row per annotator, and return them; None where there are none, or nobody knows them."""
    from truelabel.labels import LabelIssues, write_table

    consensus = found.consensus if isinstance(found, LabelIssues) else None
    if consensus is None or consensus.votes.anonymous:
        return None
    write_table(consensus.annotator_table, path)
    return consensus.annotator_table


def _duplicates(said: Predictions | MultiLabel, path: Path) -> Duplicates | None:
    """Find duplicates, where there are features, and write them if there are any, or were in an earlier run."""
    from truelabel.labels import find_duplicates, write_table
    from truelabel.labels.multilabel import MultiLabel

    if not (said.of_class(0) if isinstance(said, MultiLabel) else said).views:
        return None
    found = find_duplicates(said)
    if len(found) or path.exists():
        write_table(found.table, path)
    return found


def _counts(found: LabelIssues | MultiLabelIssues) -> dict[str, Any]:
    from truelabel.labels import LabelIssues

    if isinstance(found, LabelIssues):
        return found.wrong.to_dict()
    return {name: part.wrong.to_dict() for name, part in found.by_class.items()}


def _print(found: LabelIssues | MultiLabelIssues, table: pd.DataFrame, top: int, out: Path) -> None:
    from rich.console import Console

    from truelabel.labels import LabelIssues

    console = Console(highlight=False)
    if isinstance(found, LabelIssues):
        if found.caveat:
            console.print(found.caveat, markup=False, soft_wrap=True)
        counts = {f"labelled {name}": count for name, count in found.wrong.by_class.items()}
        level, total = found.wrong.level, f"Probably wrong: {found.wrong.total}"
    else:
        counts = {f"about {name}": part.wrong.total for name, part in found.by_class.items()}
        level = next(iter(found.by_class.values())).wrong.level
        total = (
            f"Probably wrong, of {found.labels.size:,} labels: {sum(count.number for count in counts.values()):,.0f}"
        )
    console.print(f"{total}, with {level:.0%} intervals:", markup=False, style="bold")
    console.print(
        _grid(
            [[name, f"{c.number:,.0f}", f"{c.low:,.0f} to {c.high:,.0f}", f"{c.of:,}"] for name, c in counts.items()],
            ["", "wrong", "interval", "of"],
        )
    )
    if top and len(table):
        console.print(f"The most suspicious {min(top, len(table)):,}:", style="bold", markup=False)
        head = table.head(top)
        names = [name for name in head.columns if name not in UNSEEN]
        console.print(_grid([[_cell(row[name]) for name in names] for _, row in head.iterrows()], names))
    console.print(f"All {len(table):,} listed: {out}", markup=False, soft_wrap=True)


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _grid(rows: list[list[str]], heads: list[str]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for number, head in enumerate(heads):
        numeric = number > 0 and bool(rows) and rows[0][number][:1].isdigit()
        table.add_column(head, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
