"""`truelabel evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from truelabel.cli import files


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="CALIBRATOR", help="A calibrator that truelabel fit wrote.")],
    data: Annotated[
        Path | None, typer.Argument(help="Predictions on held-out instances: .parquet or .npz.", show_default=False)
    ] = None,
    probs: Annotated[Path | None, typer.Option(help="p(ŷ|x) as an n×c .npy file, in place of DATA.")] = None,
    features: Annotated[Path | None, typer.Option(help="Label-free features, n×d .npy.")] = None,
    hidden: Annotated[Path | None, typer.Option(help="The classifier's hidden layer, n×h .npy.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Their labels, n .npy of class indices.")] = None,
    logits: Annotated[bool, typer.Option("--logits", help="probs holds logits (.npy and .npz).")] = False,
    labels_are_true: Annotated[
        bool, typer.Option("--labels-are-true", help="The labels are known to be right: nothing is corrected for.")
    ] = False,
    transition: Annotated[
        Path | None,
        typer.Option(
            help="T of these labels, c×c .npy, row y: p(label | true class y); what the fit found if not given.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Probability of all intervals.")] = 0.9,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto for the best there is.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Say whether a calibrator makes predictions better, on held-out instances whose labels may be wrong.

    DATA holds what the classifier says of instances that neither it nor the calibrator learned from, with their noisy
    labels. Accuracy before and after is corrected for the noise that the calibrator found. The verdict is better, no
    clear difference, worse, or cannot tell. Without labels it is only shown what changes, and how sure that is.

    Example: truelabel evaluate npc.safetensors held-out.parquet

    Example: truelabel evaluate npc.safetensors checked.parquet --labels-are-true
    """
    import truelabel as tl
    from truelabel.reading import read_npy

    parts = {"probs": probs, "features": features, "hidden": hidden, "labels": labels}
    said = files.read(data, parts, logits=logits, out_of_sample=True)
    known = None if transition is None else read_npy(transition)
    npc = tl.load(model, device=device)
    found = npc.evaluate(said, labels_are_true=labels_are_true, transition=known, level=level)
    print(json.dumps(found.to_dict(), indent=1) if as_json else found)
