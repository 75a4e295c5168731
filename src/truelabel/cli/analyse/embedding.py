"""`truelabel analyse embedding`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truelabel.cli.analyse import reading
from truelabel.cli.analyse.writing import FOLDER, AsJson, Out, Title, show


def embedding(
    model: Annotated[Path, typer.Argument(help="A calibrator that truelabel fit wrote.")],
    data: Annotated[Path, typer.Argument(help="The classifier's predictions: .parquet or .npz.")],
    most: Annotated[int, typer.Option(help="Instances to draw; a random sample where there are more.")] = 2000,
    perplexity: Annotated[float, typer.Option(help="Of t-SNE.")] = 30.0,
    seed: Annotated[int, typer.Option(help="Of the sample and of t-SNE.")] = 0,
    title: Title = None,
    out: Out = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Draw t-SNE of the posterior q(y|ŷ,x), coloured by the classifier's class ŷ and by the calibrated class y*.

    Example: truelabel analyse embedding run/npc.safetensors run/test.parquet --most 1000 --out figures
    """
    import pandas as pd

    from truelabel import analysis

    said, npc = reading.predictions(data), reading.calibrator(model)
    found = analysis.embedding(npc.posterior(said).concentration, most=most, perplexity=perplexity, seed=seed)
    chosen = said[found.rows]
    before, after = chosen.hard, npc.predict(chosen)
    figure = analysis.draw_embedding(
        found.points,
        {"coloured by ŷ, the classifier's class": before, "coloured by y*, the calibrated class": after},
        said.class_names,
        title or reading.about(data),
        n_classes=said.n_classes,
    )
    names = reading.titles(said)
    rows = pd.DataFrame(
        {
            "row": found.rows,
            "x": found.points[:, 0],
            "y": found.points[:, 1],
            "predicted": [names[k] for k in before],
            "calibrated": [names[k] for k in after],
        }
    )
    changed = int((before != after).sum())
    table = [["class", "ŷ", "y*"]]
    table += [[name, f"{(before == k).sum():,}", f"{(after == k).sum():,}"] for k, name in enumerate(names)]
    notes = [f"{len(chosen):,} instances drawn, class changed for {changed:,}."]
    numbers = {"instances": len(chosen), "changed": changed}
    show(out, "embedding", figure, numbers, as_json=as_json, table=table, rows=rows, notes=notes)
