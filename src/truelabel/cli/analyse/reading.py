"""What the analyses read: predictions, what a calibrator makes of them, the truth, and images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, Floats, Ints
from truelabel.cli import files
from truelabel.reading import read_npy, read_npz, reading

if TYPE_CHECKING:
    from truelabel.calibrators import NPC
    from truelabel.datasets import Split
    from truelabel.predictions import Predictions

RUN = "run.json"


def predictions(data: Path) -> Predictions:
    """Read predictions from a .parquet or .npz file."""
    return files.read(data, {}, logits=False, out_of_sample=None)


def calibrator(path: Path) -> NPC:
    """Read a fitted calibrator."""
    import truelabel as tl

    if path.suffix in (".parquet", ".npy", ".csv"):
        raise ValueError(f"{path} holds calibrated probabilities; this analysis needs the calibrator itself.")
    return tl.load(path)


def calibrated(model: Path, said: Predictions) -> Floats:
    """Return calibrated probabilities: a calibrator's, or those that `truelabel apply` wrote of the same instances."""
    if model.suffix not in (".parquet", ".npy"):
        return calibrator(model).calibrate(said)
    probs = _array(model) if model.suffix == ".npy" else predictions(model).probs
    if probs.shape != said.probs.shape:
        raise ValueError(
            f"{model} has probabilities of shape {probs.shape}, but the predictions have {said.probs.shape}; "
            "name the result of truelabel apply on the same file."
        )
    return np.asarray(probs, dtype=np.float32)


def truth(said: Predictions, data: Path, source: str) -> Ints:
    """Return the true classes: a column (or array) of `data`, or an .npy file of class indices or names."""
    values = _array(Path(source)) if source.endswith(".npy") else _column(data, source)
    if len(values) != len(said):
        raise ValueError(
            f"{source} has {len(values)} true labels, but {data} has {len(said)} instances; pass one each."
        )
    try:
        found = said.replace(labels=values).labels
    except ValueError as error:
        raise ValueError(f"the truth in {source} cannot be used: {error}") from None
    assert found is not None
    return found


def labels(said: Predictions, data: Path) -> Ints:
    """Return the labels that came with the predictions."""
    if said.labels is None:
        raise ValueError(f"{data} has no labels, which this analysis compares; add a column labels.")
    return said.labels


def _array(path: Path) -> Array:
    return read_npy(path)


def _column(data: Path, name: str) -> Array:
    if data.suffix == ".npz":
        archive = read_npz(data)
        names = list(archive)
        if name in archive:
            return archive[name]
    else:
        import pyarrow.parquet as pq

        with reading(data, "a Parquet file"):
            names = pq.read_schema(data).names
            if name in names:
                return pq.read_table(data, columns=[name])[name].to_numpy()  # type: ignore[no-any-return]
    hint = "; where its labels are the true ones, pass --truth labels" if "labels" in names else ""
    raise ValueError(f"{data} has no column {name} with the true classes; pass --truth COLUMN or FILE.npy{hint}.")


def run_split(data: Path, root: Path | None) -> Split:
    """Load the instances that a run of `truelabel train` wrote predictions of to `data`, with their true labels."""
    from truelabel import datasets

    record = data.parent / RUN
    if data.stem not in ("train", "test") or not record.is_file():
        raise ValueError(
            f"there are no images of {data}; pass --images FILE.npy, or name the train.parquet or test.parquet of a "
            f"folder that truelabel train wrote (with {RUN})."
        )
    run: dict[str, Any] = json.loads(record.read_text())
    loaded = datasets.load(run["dataset"], root=root, subset=run["subset"], seed=run["seed"])
    return loaded.train if data.stem == "train" else loaded.test


def images(said: Predictions, data: Path, given: Path | None, root: Path | None) -> Any:
    """Return the images of the instances: from an .npy file, from the predictions, or from the run's dataset."""
    if given is not None:
        found: Any = _array(given)
    elif said.inputs is not None:
        found = said.inputs
    else:
        found = run_split(data, root).inputs
    if len(found) != len(said):
        raise ValueError(f"there are {len(found)} images, but {data} has {len(said)} instances; pass one each.")
    if len(found.shape) not in (3, 4):
        raise ValueError(f"the inputs have shape {tuple(found.shape)} and are not images; pass --images FILE.npy.")
    return found


def about(data: Path) -> str | None:
    """Return what the file is of, for a title, where a run of `truelabel train` wrote it."""
    record = data.parent / RUN
    if not record.is_file():
        return None
    run: dict[str, Any] = json.loads(record.read_text())
    subset = "" if run["subset"] is None else f" ({run['subset']:,} training instances)"
    noise = "" if run["noise"] == "clean" else f", noise {run['noise']}"
    part = {"train": ", training set", "test": ", test set"}.get(data.stem, "")
    return f"{run['dataset']}{subset}{noise}{part}"


def titles(said: Predictions) -> list[str]:
    """Return the names of the classes, or their numbers."""
    return list(said.class_names or map(str, range(said.n_classes)))
