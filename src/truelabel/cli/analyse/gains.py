"""`truelabel analyse gains`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from truelabel.cli.analyse import reading
from truelabel.cli.analyse.writing import FOLDER, AsJson, Out, Title, Truth, show


def gains(
    model: Annotated[
        Path, typer.Argument(help="A calibrator that truelabel fit wrote, or what truelabel apply wrote.")
    ],
    data: Annotated[Path, typer.Argument(help="The classifier's predictions on its noisy training set.")],
    truth: Truth = "truth",
    title: Title = None,
    out: Out = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Count gains and losses on training instances: the regions (a) to (h) of the paper's Venn diagram, and net gain.

    OUT also gets gains.csv, the list of instances in each region.

    Example: truelabel analyse gains run/npc.safetensors run/train.parquet --out figures
    """
    from truelabel import analysis
    from truelabel.analysis.gains import MEANINGS

    said = reading.predictions(data)
    noisy, true = reading.labels(said, data), reading.truth(said, data, truth)
    before, after = said.hard, reading.calibrated(model, said).argmax(axis=1)
    found = analysis.gains(true, noisy, before, after)
    rows, names = found.table(), np.array(reading.titles(said))
    if said.ids is not None:
        rows.insert(1, "id", said.ids[rows["row"]])
    for name, classes in (("truth", true), ("label", noisy), ("predicted", before), ("calibrated", after)):
        rows[name] = names[classes[rows["row"]]]
    numbers = {"regions": found.counts, "gained": found.gained, "lost": found.lost, "net": found.net}
    table = [["region", "instances", "meaning"]]
    table += [[f"({letter})", f"{count:,}", MEANINGS[letter]] for letter, count in found.counts.items()]
    notes = [f"Gained {found.gained:,}, lost {found.lost:,}, net gain {found.net:,} of {len(said):,}."]
    figure = analysis.draw_gains(found, title or reading.about(data))
    show(out, "gains", figure, numbers, as_json=as_json, table=table, rows=rows, notes=notes)
