"""`truelabel analyse suspicious`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from truelabel.cli.analyse import reading
from truelabel.cli.analyse.writing import FOLDER, AsJson, Out, Title, show


def suspicious(
    model: Annotated[Path, typer.Argument(help="A calibrator fitted on *other* instances, or what apply wrote.")],
    data: Annotated[Path, typer.Argument(help="Predictions on the instances whose labels are in question.")],
    count: Annotated[int, typer.Option(min=1, help="Images in the gallery.")] = 24,
    images: Annotated[
        Path | None, typer.Option(help="Images as .npy, n×h×w or n×channels×h×w; the run's if not given.")
    ] = None,
    root: Annotated[Path | None, typer.Option(help="Folder with the run's dataset.")] = None,
    title: Title = None,
    out: Out = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Show labels that the calibrated prediction contradicts, the surest first, as a gallery `label → prediction`.

    OUT also gets suspicious.csv, all of them. A calibrator should not have learned from the labels it judges: fit it
    on the training set to look at the test set.

    Example: truelabel analyse suspicious run/npc.safetensors run/test.parquet --root DATA --out figures
    """
    from truelabel import analysis

    said = reading.predictions(data)
    annotated = reading.labels(said, data)
    rows = analysis.suspicious(annotated, reading.calibrated(model, said))
    if not len(rows):
        raise ValueError(f"every calibrated prediction agrees with its label in {data}; there is nothing to show.")
    shown = rows.head(count)
    pictures = np.asarray(reading.images(said, data, images, root)[shown["row"].to_numpy()])
    names = np.array(reading.titles(said))
    figure = analysis.draw_suspicious(pictures, shown, said.class_names, title or reading.about(data))
    table = [["label → prediction", "confidence", "row"]]
    for _, row in shown.iterrows():
        pair = f"{names[int(row['label'])]} → {names[int(row['prediction'])]}"
        table.append([pair, f"{row['confidence']:.1%}", f"{row['row']:.0f}"])
    for name in ("label", "prediction"):
        rows[name] = names[rows[name]]
    if said.ids is not None:
        rows.insert(1, "id", said.ids[rows["row"]])
    numbers = {"instances": len(said), "suspicious": len(rows), "shown": rows.head(count).to_dict("records")}
    notes = [f"{len(rows):,} of {len(said):,} labels are contradicted; the {len(shown)} surest are drawn."]
    show(out, "suspicious", figure, numbers, as_json=as_json, table=table, rows=rows, notes=notes)
