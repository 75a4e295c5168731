"""`truelabel analyse repeat`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from truelabel.cli.analyse import reading
from truelabel.cli.analyse.writing import FOLDER, AsJson, Out, Title, Truth, show


def repeat(
    train: Annotated[Path, typer.Argument(help="Predictions on the noisy training set: .parquet or .npz.")],
    test: Annotated[Path, typer.Argument(help="Predictions on the instances to measure on.")],
    rounds: Annotated[int, typer.Option(help="How often NPC is applied.")] = 4,
    recipe: Annotated[str, typer.Option(help="default or paper.")] = "default",
    seed: Annotated[int, typer.Option(help="Of NPC.")] = 0,
    truth: Truth = "truth",
    title: Title = None,
    out: Out = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Apply NPC again and again, each round's output as the next round's predictions: does it converge after one?

    Example: truelabel analyse repeat run/train.parquet run/test.parquet --rounds 4 --out figures
    """
    from truelabel import NPC, analysis

    said, other = reading.predictions(train), reading.predictions(test)
    npc = NPC(cast(Literal["default", "paper"], recipe), random_state=seed)
    found = analysis.repeat(npc, said, other, reading.truth(other, test, truth), rounds)
    table = [["round", "test accuracy", "class changed", "probability moved"]]
    table += [[f"{r.number}", f"{r.accuracy:.1%}", f"{r.changed:.1%}", f"{r.moved:.1%}"] for r in found]
    numbers = {"rounds": [asdict(result) for result in found], "recipe": recipe}
    show(
        out, "repeat", analysis.draw_repeat(found, title or reading.about(test)), numbers, as_json=as_json, table=table
    )
