"""`truelabel consensus`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truelabel.cli.files import OVERWRITE
from truelabel.writing import check_target

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.labels import Consensus


def consensus(
    votes: Annotated[Path, typer.Argument(help="The labels, one per row: .csv or .parquet.", show_default=False)],
    features: Annotated[
        Path | None,
        typer.Option(help="Features of the instances: .csv, .parquet (with the instance column), or .npy."),
    ] = None,
    instance: Annotated[str, typer.Option(help="The column that says which instance.")] = "instance",
    annotator: Annotated[str, typer.Option(help="The column that says who gave the label.")] = "annotator",
    label: Annotated[str, typer.Option(help="The column with the label.")] = "label",
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="There is no column that says who gave the label.")
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Where the consensus goes, a row per instance, as .csv or .parquet.")
    ] = Path("consensus.csv"),
    annotators: Annotated[Path, typer.Option(help="Where the annotators go, a row each, as .csv or .parquet.")] = Path(
        "annotators.csv"
    ),
    top: Annotated[int, typer.Option(min=0, help="How many annotators and instances to print.")] = 10,
    overwrite: Annotated[bool, typer.Option("--overwrite", help=OVERWRITE)] = False,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto for the best there is.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """One label per instance from the labels of several annotators, and how good each annotator is.

    VOTES is a long table: a row per label, with columns instance, annotator and label (or others that you name). With
    --features, networks and neighbours that learn from the votes help to settle instances on which annotators disagree,
    and to judge annotators; without, the votes stand alone. Instances in the features' file that nobody has labelled
    get a label, too.

    The consensus has a column needs_vote (how much one more vote is expected to tell, in nats), the annotator whose
    vote would tell most, and ambiguity (how much rarer than usual people agree with its class, their own mistakes
    accounted for).

    Example: truelabel consensus votes.csv --features features.parquet

    Example: truelabel consensus votes.csv --instance image --annotator worker --label class --out labels.parquet

    Example: truelabel consensus votes.csv --anonymous --json
    """
    from truelabel import labels
    from truelabel.labels.files import check_table_path

    targets = [out] if anonymous else [out, annotators]
    if not anonymous and out.resolve() == annotators.resolve():
        raise ValueError(f"consensus and annotators cannot both go to {out}; name another file with --annotators.")
    for path in targets:
        check_table_path(path)
        check_target(path, reads=[votes, features], overwrite=overwrite)
    given, x = labels.read_votes(
        votes, features, instance=instance, annotator=None if anonymous else annotator, label=label
    )
    found = labels.consensus(given, x, random_state=seed, device=device)
    table, people = found.table, found.annotator_table
    labels.write_table(table, out)
    if not anonymous:
        labels.write_table(people, annotators)
    summary = _summary(found, table)
    if as_json:
        from truelabel.cli.labelled import records

        shown = {**summary, "annotators": [] if anonymous else records(people), "file": str(out)}
        print(json.dumps(shown, indent=1, ensure_ascii=False))
        return
    _print(found, table, people, summary, top, targets)


def _summary(found: Consensus, table: pd.DataFrame) -> dict[str, Any]:
    votes = found.votes
    majority = votes.majority()
    voted = majority >= 0
    return {
        "instances": len(votes),
        "votes": int(votes.per_instance.sum()),
        "unanimous": int((table["disagreement"] == 0).sum()),
        "differs_from_majority": int((majority != found.labels)[voted].sum()),
        "without_votes": int((~voted).sum()),
        "expected_wrong": float(1 - table["p"].mean()),
        "class_shares": {str(k): float(p) for k, p in zip(found.class_names, found.class_shares, strict=True)},
    }


def _print(
    found: Consensus, table: pd.DataFrame, people: pd.DataFrame, summary: dict[str, Any], top: int, paths: list[Path]
) -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"{summary['votes']:,} votes for {summary['instances']:,} instances; all agree on {summary['unanimous']:,}.",
        style="bold",
        markup=False,
    )
    console.print(
        f"The consensus differs from the majority's label for {summary['differs_from_majority']:,} instances and is "
        f"expected to be wrong for {summary['expected_wrong']:.1%}.",
        markup=False,
    )
    if summary["without_votes"]:
        console.print(
            f"{summary['without_votes']:,} instances have no votes; theirs is by features alone.", markup=False
        )
    if found.expert_probs is None:
        console.print("No features were given: the votes stand alone.", markup=False)
    if top and not found.votes.anonymous:
        lowest = people.sort_values("quality").head(top)
        console.print(f"\nThe annotators with the lowest quality, {len(lowest):,} of {len(people):,}:", markup=False)
        console.print(_grid(lowest), soft_wrap=False)
    if top:
        console.print("\nInstances for which one more vote would tell most:", markup=False)
        shown = table.sort_values("needs_vote", ascending=False, kind="stable").head(top)
        console.print(_grid(shown.drop(columns="ambiguity")), soft_wrap=False)
    console.print("Written: " + ", ".join(str(path) for path in paths), markup=False)


def _grid(table: pd.DataFrame) -> Any:
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False)
    for name in table.columns:
        grid.add_column(name, justify="right" if table[name].dtype.kind in "fi" else "left", overflow="fold")
    for row in table.itertuples(index=False):
        grid.add_row(*(Text(f"{value:.3f}" if isinstance(value, float) else str(value)) for value in row))
    return grid
