"""`truelabel train`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

if TYPE_CHECKING:
    from truelabel.datasets import Split
    from truelabel.predictions import Predictions

COMPONENTS = 64  # of the pixels, as the label-free view


def train(
    out: Annotated[Path, typer.Option(help="Folder for the classifier and its predictions.", show_default=False)],
    dataset: Annotated[str, typer.Option(help="A name of `truelabel datasets`.")] = "digits",
    noise: Annotated[str, typer.Option(help="Noise and rate, a name of `truelabel noise`.")] = "clean",
    method: Annotated[str, typer.Option(help="A name of `truelabel methods`.")] = "ce",
    network: Annotated[
        str | None, typer.Option(help="A name of `truelabel networks`; the paper's if not given.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="The method's own if not given.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="The method's own if not given.")] = None,
    subset: Annotated[int | None, typer.Option(help="Train on this many instances.")] = None,
    root: Annotated[Path | None, typer.Option(help="Folder with the data, in torchvision's layout.")] = None,
    noise_rate: Annotated[float | None, typer.Option(help="For methods that want one; estimated if not given.")] = None,
    trusted: Annotated[
        int | None, typer.Option(help="For a method that uses clean labels: how many true labels it may know.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the subset, the noise and the training.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto for the best there is.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Train a classifier on noisy labels, by one of the paper's methods; resumes where it was interrupted.

    OUT gets the classifier, train.parquet and test.parquet (its predictions, ready for truelabel fit and truelabel
    apply; the noisy labels are in the first, the true ones in the second), figures.json and run.json. Both Parquet
    files have a column truth with the true labels, which only truelabel analyse reads.

    Example: truelabel train --dataset digits --noise idn:0.4 --method coteaching --network mlp --epochs 60 --out run
    """
    from truelabel import datasets, methods, parquet
    from truelabel import noise as noises
    from truelabel.datasets.stratified import stratified_rows
    from truelabel.writing import write_json

    kind = noises.parse(noise, dataset=dataset)
    if network is not None and isinstance(kind, noises.SimilarityReflected):
        kind = replace(kind, network=network)
    given = {"epochs": epochs, "batch_size": batch_size, "noise_rate": noise_rate}
    way = methods.build(method, **{name: value for name, value in given.items() if value is not None})
    if way.uses_clean_labels and trusted is None:
        raise ValueError(f"{method} uses clean labels; say with --trusted how many true labels it may know.")
    data = datasets.load(dataset, root=root, subset=subset, seed=seed)
    noisy = kind.corrupt(data.train, seed=seed)
    split = data.train.with_labels(noisy)
    clean = None if trusted is None else data.train[stratified_rows(data.train.labels, trusted, seed)]
    model = way.fit(split, network, trusted=clean, seed=seed, device=device, checkpoint=out / "checkpoint")
    model.save(out)
    views = _views(data.train, data.test, seed)
    said = {name: model.predictions(part) for name, part in (("train", split), ("test", data.test))}
    for name, part in (("train", data.train), ("test", data.test)):
        parquet.write(_without_inputs(said[name], views.get(name)), out / f"{name}.parquet", truth=part.labels)
    run = {"dataset": dataset, "noise": noise, "subset": subset, "seed": seed}
    write_json(out / "run.json", run)
    figures = {
        "noise_rate": noisy.rate,
        "noisy labels fitted": float(np.mean(said["train"].hard == noisy.labels)),
        "test accuracy": float(np.mean(said["test"].hard == data.test.labels)),
    }
    write_json(out / "figures.json", figures)
    if as_json:
        print(json.dumps(figures | {"folder": str(out)}, indent=1))
        return
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):20} {value:.1%}")
    print(f"Next: truelabel fit {out / 'train.parquet'} --out {out / 'npc.safetensors'}")


def _views(train: Split, test: Split, seed: int) -> dict[str, Any]:
    """Return the label-free view of each part: the inputs themselves, or their principal components."""
    if not isinstance(train.inputs, np.ndarray):
        return {}
    flat = {name: part.inputs.reshape(len(part), -1) for name, part in (("train", train), ("test", test))}
    if flat["train"].shape[1] <= COMPONENTS:
        return flat
    from sklearn.decomposition import PCA

    pca = PCA(min(COMPONENTS, len(train)), svd_solver="randomized", random_state=seed).fit(flat["train"])
    return {name: pca.transform(part).astype(np.float32) for name, part in flat.items()}


def _without_inputs(said: Predictions, view: Any) -> Predictions:
    return said.replace(inputs=None, features=view)
