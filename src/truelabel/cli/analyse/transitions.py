"""`truelabel analyse transitions`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from truelabel.arrays import Array
from truelabel.cli.analyse import reading
from truelabel.cli.analyse.writing import FOLDER, AsJson, Out, Title, show

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.predictions import Predictions

TRUTH = "truth"  # column that truelabel train writes


def transitions(
    model: Annotated[Path, typer.Argument(help="A calibrator that truelabel fit wrote.")],
    data: Annotated[Path, typer.Argument(help="The classifier's predictions on its noisy training set, with labels.")],
    method: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder that truelabel train wrote with a method that estimates T (forward, dualt, tvr, causalnl); "
            "may be repeated.",
            show_default=False,
        ),
    ] = None,
    known: Annotated[
        Path | None, typer.Option(help="The true T, c×c, .npy or .csv: rows are true classes.", show_default=False)
    ] = None,
    truth: Annotated[
        str, typer.Option(help="Column with the true classes, or an .npy file; T is counted on them if --known is not.")
    ] = TRUTH,
    ridge: Annotated[float, typer.Option(help="Weight of the regulariser of T from H.")] = 0.03,
    seed: Annotated[int, typer.Option(help="Of the network that learns p(ŷ|ỹ,x).")] = 0,
    title: Title = None,
    out: Out = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Transition matrices p(ỹ|y) of the labels: from the calibrator, from methods that estimate one, and the true one.

    The calibrator's T is worked out from its H through the paper's proposition and averaged over the instances; how
    well that was conditioned is printed. Where the truth is known, every T comes with its error.

    Example: truelabel analyse transitions run/npc.safetensors run/train.parquet --method forward-run --out figures
    """
    from truelabel import analysis
    from truelabel.transitions import TransitionFromH, error_table, npc_transitions

    said, npc = reading.predictions(data), reading.calibrator(model)
    reading.labels(said, data)
    true, others = _known(said, data, known, truth), _of_methods(method or [], said.n_classes)
    found = TransitionFromH(ridge=ridge, random_state=seed).fit(npc, said)
    matrices = npc_transitions(npc, found) | others
    names = reading.titles(said)
    figure = analysis.draw_transitions(matrices, said.class_names, title or reading.about(data), truth=true)
    numbers: dict[str, Any] = {
        "transitions": {name: matrix.round(6).tolist() for name, matrix in matrices.items()},
        "conditioning": found.conditioning_.to_dict(),
        "class_names": names,
    }
    table = [["T of", "mean diagonal"], *([name, f"{np.diag(T).mean():.3f}"] for name, T in matrices.items())]
    if true is not None:
        errors = error_table(matrices, true)
        numbers |= {"truth": true.round(6).tolist(), "errors": errors.to_dict(orient="index")}
        table = [["T of", *errors.columns]]
        table += [[str(name), f"{row[0]:.5f}", f"{row[1]:.4f}", f"{row[2]:.3f}"] for name, *row in errors.itertuples()]
    rows = _long(matrices if true is None else {"true T": true} | matrices, names)
    show(out, "transitions", figure, numbers, as_json=as_json, table=table, rows=rows, notes=[str(found.conditioning_)])


def _of_methods(folders: list[Path], n_classes: int) -> dict[str, Array]:
    from truelabel.methods import Trained

    found: dict[str, Array] = {}
    for folder in folders:
        trained = Trained.load(folder)
        if trained.transition is None:
            raise ValueError(
                f"{folder} holds a classifier trained by {trained.method['name']}, which estimates no T; name one of "
                "forward, dualt, tvr or causalnl."
            )
        if len(trained.transition) != n_classes:
            raise ValueError(
                f"{folder} has a T of {len(trained.transition)} classes, but the predictions have {n_classes}."
            )
        name = trained.method["name"]
        found[name if name not in found else f"{name}, {folder}"] = trained.transition
    return found


def _known(said: Predictions, data: Path, known: Path | None, truth: str) -> Array | None:
    """Return the true T: from a file, counted on the true classes, or None where there is neither."""
    from truelabel.transitions import count_transition
    from truelabel.transitions.error import check_transition

    if known is not None:
        if not known.is_file():
            raise FileNotFoundError(f"there is no file {known}.")
        if known.suffix not in (".npy", ".csv"):
            raise ValueError(f"{known} must end in .npy or .csv and hold a c×c matrix of numbers.")
        read = np.load(known, allow_pickle=False) if known.suffix == ".npy" else np.loadtxt(known, delimiter=",")
        return check_transition(read, str(known), said.n_classes)
    if truth == TRUTH and not _has_column(data, TRUTH):
        return None
    return count_transition(reading.truth(said, data, truth), said.labels, said.n_classes)


def _has_column(data: Path, name: str) -> bool:
    if data.suffix == ".npz":
        with np.load(data, allow_pickle=False) as archive:
            return name in archive.files
    import pyarrow.parquet as pq

    return name in pq.read_schema(data).names


def _long(matrices: dict[str, Array], names: list[str]) -> pd.DataFrame:
    """Return the matrices as a table with one row an entry."""
    import pandas as pd

    return pd.DataFrame(
        [
            (name, true, noisy, matrix[y, k])
            for name, matrix in matrices.items()
            for y, true in enumerate(names)
            for k, noisy in enumerate(names)
        ],
        columns=["transition", "true class", "noisy label", "probability"],
    )
