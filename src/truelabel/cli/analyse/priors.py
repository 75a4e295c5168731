"""`truelabel analyse priors`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from truelabel.cli.analyse import reading
from truelabel.cli.analyse.writing import FOLDER, AsJson, Out, Title, Truth, show


def priors(
    train: Annotated[Path, typer.Argument(help="Predictions on the noisy training set: .parquet or .npz.")],
    test: Annotated[Path, typer.Argument(help="Predictions on the instances to measure on.")],
    top_k: Annotated[list[int] | None, typer.Option(help="A K to compare; repeat the option.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds of NPC.")] = 1,
    recipe: Annotated[str, typer.Option(help="default or paper.")] = "paper",
    truth: Truth = "truth",
    title: Title = None,
    out: Out = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Compare NPC's one-hot prior with TOP-K priors, K = 1, 2, 3 if none is named.

    Example: truelabel analyse priors run/train.parquet run/test.parquet --top-k 1 --top-k 2 --seeds 3 --out figures
    """
    from truelabel import analysis

    said, other = reading.predictions(train), reading.predictions(test)
    found = analysis.compare_priors(
        said,
        other,
        reading.truth(other, test, truth),
        top_k=top_k or [1, 2, 3],
        seeds=range(seeds),
        recipe=cast(Literal["default", "paper"], recipe),
    )
    table = [["prior", *(f"seed {seed}" for seed in found.columns), "mean"]]
    for name, values in found.iterrows():
        table.append([str(name), *(f"{value:.1%}" for value in values), f"{values.mean():.1%}"])
    numbers = {"accuracy": {str(name): list(values) for name, values in found.iterrows()}, "recipe": recipe}
    show(
        out, "priors", analysis.draw_priors(found, title or reading.about(test)), numbers, as_json=as_json, table=table
    )
