"""`truelabel analyse confusion`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from truelabel.cli.analyse import reading
from truelabel.cli.analyse.writing import FOLDER, AsJson, Out, Title, Truth, show


def confusion(
    model: Annotated[
        Path, typer.Argument(help="A calibrator that truelabel fit wrote, or what truelabel apply wrote.")
    ],
    data: Annotated[Path, typer.Argument(help="The classifier's predictions: .parquet or .npz.")],
    truth: Truth = "truth",
    title: Title = None,
    out: Out = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Confusion matrices of the classifier (ŷ) and of the calibrated prediction (y*) against the truth, side by side.

    Example: truelabel analyse confusion run/npc.safetensors run/test.parquet --out figures
    """
    from truelabel import analysis

    said = reading.predictions(data)
    true = reading.truth(said, data, truth)
    answers = {"ŷ": said.hard, "y*": reading.calibrated(model, said).argmax(axis=1)}
    accuracy = {name: float(np.mean(answer == true)) for name, answer in answers.items()}
    matrices = {name: analysis.confusion(true, answer, said.n_classes) for name, answer in answers.items()}
    words = {"ŷ": "the classifier, ŷ", "y*": "calibrated, y*"}
    figure = analysis.draw_confusions(
        {f"{words[name]}: {accuracy[name]:.1%} right": matrix for name, matrix in matrices.items()},
        said.class_names,
        title or reading.about(data),
    )
    names = reading.titles(said)
    numbers = {
        "accuracy": accuracy,
        "confusion": {name: matrix.round(6).tolist() for name, matrix in matrices.items()},
        "class_names": names,
    }
    rows = [[names[k], *(f"{matrix[k, k]:.1%}" for matrix in matrices.values())] for k in range(said.n_classes)]
    rows.append(["all", *(f"{share:.1%}" for share in accuracy.values())])
    show(out, "confusion", figure, numbers, as_json=as_json, table=[["right, of class", "ŷ", "y*"], *rows])
