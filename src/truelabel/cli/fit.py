"""`truelabel fit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from truelabel.cli import files


def fit(
    data: Annotated[
        Path | None, typer.Argument(help="Predictions on the training set: .parquet or .npz.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the calibrator goes.")] = Path("npc.safetensors"),
    probs: Annotated[Path | None, typer.Option(help="p(ŷ|x) as an n×c .npy file, in place of DATA.")] = None,
    features: Annotated[Path | None, typer.Option(help="Label-free features, n×d .npy.")] = None,
    hidden: Annotated[Path | None, typer.Option(help="The classifier's hidden layer, n×h .npy.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Noisy labels, n .npy of class indices.")] = None,
    logits: Annotated[bool, typer.Option("--logits", help="probs holds logits (.npy and .npz).")] = False,
    out_of_sample: Annotated[
        bool | None,
        typer.Option(
            "--out-of-sample/--in-sample",
            help="Had the classifier (not) trained on these instances?",
            show_default=False,
        ),
    ] = None,
    validation: Annotated[
        Path | None,
        typer.Option(
            help="Predictions on noisily labelled instances that the classifier did not see.", show_default=False
        ),
    ] = None,
    unlabelled: Annotated[
        Path | None,
        typer.Option(
            help="Predictions on instances that it did not see, without labels: those you want to calibrate.",
            show_default=False,
        ),
    ] = None,
    recipe: Annotated[str, typer.Option(help="default or paper.")] = "default",
    k: Annotated[int | None, typer.Option(help="Neighbours; chosen by evidence if not given.")] = None,
    rho: Annotated[float, typer.Option(help="Weight ρ of the prior.")] = 5.0,
    epochs: Annotated[int | None, typer.Option(help="The recipe's if not given.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto for the best there is.")] = "auto",
    overwrite: Annotated[bool, typer.Option("--overwrite", help=files.OVERWRITE)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Fit a calibrator on what a classifier said about its noisy training set.

    DATA is a Parquet file with the columns probs (a list a row, or probs_cat, probs_dog, …), features, and if you
    have them labels, hidden and ids; or an .npz file with arrays of these names; or single .npy files.

    Example: truelabel fit train.parquet --out npc.safetensors

    Example: truelabel fit train.parquet --validation held-out.parquet

    Example: truelabel fit train.parquet --unlabelled test.parquet

    Example: truelabel fit --probs p.npy --features x.npy --labels y.npy
    """
    from truelabel.calibrators.npc import NPC
    from truelabel.writing import check_target

    parts = {"probs": probs, "features": features, "hidden": hidden, "labels": labels}
    check_target(out, reads=[data, *parts.values(), validation, unlabelled], overwrite=overwrite)
    said = files.read(data, parts, logits=logits, out_of_sample=out_of_sample)
    chosen = cast(Literal["default", "paper"], recipe)
    npc = NPC(chosen, k=k, rho=rho, epochs=epochs, random_state=seed, device=device)
    held_out, others = (
        None if path is None else files.read(path, {}, logits=logits, out_of_sample=True)
        for path in (validation, unlabelled)
    )
    npc.fit(said, validation=held_out, unlabelled=others)
    npc.save(out)
    if as_json:
        print(json.dumps(npc.report_.to_dict() | {"file": str(out)}, indent=1))
    else:
        print(npc.report_)
        print(f"Calibrator: {out}")
