"""`truelabel correct`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from truelabel.cli import labelled
from truelabel.cli.files import OVERWRITE


def correct(
    data: labelled.Data = None,
    out: Annotated[
        Path,
        typer.Option(help="Where the labels go: .csv or .parquet (a row an instance, and why), or .npy (indices)."),
    ] = Path("corrected.csv"),
    correct: labelled.Correct = "safe",
    threshold: Annotated[
        float | None, typer.Option(help="Of these, change only labels for which another class is at least so probable.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Change so many labels at most (below 1: a share), those that mend most first.")
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="How many changes to print, the surest first.")] = 10,
    probs: labelled.Probs = None,
    features: labelled.Features = None,
    hidden: labelled.Hidden = None,
    labels: labelled.Labels = None,
    logits: labelled.Logits = False,
    out_of_sample: labelled.OutOfSample = None,
    calibrator: labelled.Model = None,
    seed: labelled.Seed = 0,
    device: labelled.Device = "auto",
    overwrite: Annotated[bool, typer.Option("--overwrite", help=OVERWRITE)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Replace labels that are probably wrong, and write down what was changed and why.

    DATA is what truelabel fit reads, with labels; nothing in it is changed. See truelabel issues for what is found.

    Example: truelabel correct train.parquet --out corrected.csv

    Example: truelabel correct train.parquet --correct all --threshold 0.9 --out labels.npy

    Example: truelabel correct --probs p.npy --features x.npy --labels y.npy --budget 500 --json
    """
    from truelabel.labels import correct_labels, write_table
    from truelabel.labels.correct import rule_named
    from truelabel.labels.files import check_table_path
    from truelabel.writing import check_target, whole

    if out.suffix != ".npy":
        check_table_path(out)
    parts = {"probs": probs, "features": features, "hidden": hidden, "labels": labels}
    check_target(out, reads=[data, *parts.values(), calibrator], overwrite=overwrite)
    named = labelled.Named(data, parts, logits, out_of_sample)
    _, found = labelled.found_in(named, calibrator, seed=seed, device=device)
    corrected = correct_labels(
        found,
        rule=rule_named(correct, audited=False),
        threshold="auto" if threshold is None else threshold,
        budget=budget,
    )
    if out.suffix == ".npy":
        with whole(out) as partial:
            np.save(partial, corrected.labels)
    else:
        write_table(corrected.table, out)
    if as_json:
        changes = labelled.records(corrected.changes.head(top))
        print(json.dumps(corrected.to_dict() | {"top": changes, "file": str(out)}, indent=1, ensure_ascii=False))
        return
    print(corrected)
    for _, row in corrected.changes.head(top).iterrows():
        about = f", {row['class']}" if "class" in row else ""
        print(f"  {row['id']}{about}: {row['given']} → {row['corrected']} ({row['why']})")
    print(f"Labels: {out}")
