"""The stages of a cell up to its calibrator: data, noisy labels, trained classifier, what it says."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Floats, Ints, row_blocks
from truelabel.lab.cache import Arrays, Cache, Facts
from truelabel.lab.cell import CLASSIFIER, Cell

if TYPE_CHECKING:
    from torch import nn

    from truelabel.calibrators import Calibrator
    from truelabel.datasets import Dataset, Split
    from truelabel.methods import Trained
    from truelabel.noise import NoisyLabels
    from truelabel.predictions import Predictions

COMPONENTS = 64  # of the inputs, as the label-free view
CHECKPOINTS = 10  # that a training writes
LOGITS_BLOCK = 8_192  # rows of a hidden layer that are turned into logits at a time

Source = tuple[str, str | None, int | None, int | None, int]


@dataclass(frozen=True)
class Place:
    """Where a cell runs: what its result does not depend on.

    Parameters
    ----------
    cache : path
        Folder of the shared stages.
    root : path, optional
        Folder with the data, in torchvision's layout.
    device : str, default "auto"
        The best there is where "auto".
    weights : path, optional
        A file of ImageNet weights, for cells with a pretrained network.
    """

    cache: str | os.PathLike[str]
    root: str | os.PathLike[str] | None = None
    device: str = "auto"
    weights: str | os.PathLike[str] | None = None


def load(cell: Cell, place: Place) -> Dataset:
    """Return the data of a cell."""
    return _load(*_source(cell, place))


def _source(cell: Cell, place: Place) -> Source:
    root = None if place.root is None else os.fspath(place.root)
    return cell.dataset, root, cell.subset, cell.test_subset, cell.data_seed


@lru_cache(maxsize=2)
def _load(name: str, root: str | None, subset: int | None, test_subset: int | None, seed: int) -> Dataset:
    from truelabel import datasets

    return datasets.load(name, root, subset, seed, test_subset=test_subset)


def noisy_labels(cell: Cell, place: Place) -> tuple[NoisyLabels, float]:
    """Return the noisy labels of a cell, and the processor seconds that they took when they were made."""
    from truelabel import noise
    from truelabel.noise import NoisyLabels

    def make() -> tuple[Arrays, Facts]:
        kind = noise.parse(cell.condition, dataset=cell.dataset)
        if isinstance(kind, noise.SimilarityReflected):
            kind = replace(kind, network=cell.network, device=place.device)
        train = load(cell, place).train
        found, seconds = timed(lambda: kind.corrupt(train, seed=cell.noise_seed))
        arrays = {"labels": found.labels, "flipped": found.flipped, "transition": found.transition}
        return arrays, {"seconds": seconds}

    arrays, facts = Cache(place.cache).arrays("noise", cell.noise_key, make)
    return NoisyLabels(arrays["labels"], arrays["flipped"], arrays["transition"]), facts["seconds"]


def classifier(cell: Cell, place: Place) -> tuple[Trained, float]:
    """Return the trained classifier of a cell, and the processor seconds of its training."""
    from truelabel.device import resolve
    from truelabel.methods import Trained

    cache = Cache(place.cache)
    scratch = cache.scratch(cell.classifier_key)

    def make(folder: Path) -> None:
        _train(cell, place, scratch).save(folder)
        shutil.copy(scratch / _SECONDS, folder)

    folder = cache.folder("classifiers", cell.classifier_key, make)
    shutil.rmtree(scratch, ignore_errors=True)
    seconds = sum(float(line) for line in (folder / _SECONDS).read_text().split())
    trained = Trained.load(folder, _pretrained(cell, place) if cell.pretrained else None)
    trained.network.to(resolve(place.device))
    return trained, seconds


def _train(cell: Cell, place: Place, scratch: Path) -> Trained:
    """Train, or go on with a training that was interrupted; its seconds are in a file, a line an epoch."""
    from truelabel import methods

    data = load(cell, place).train
    way = methods.build(cell.method, **cell.settings("method"))
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / _SECONDS).touch()  # a training killed after its last checkpoint has no epoch left to note
    last = time.process_time()

    def note(epoch: dict[str, float]) -> None:
        nonlocal last
        now = time.process_time()
        with (scratch / _SECONDS).open("a") as file:
            file.write(f"{now - last:.4f}\n")
        last = now

    return way.fit(
        data.with_labels(noisy_labels(cell, place)[0]),
        _pretrained(cell, place) if cell.pretrained else cell.network,
        trusted=data[_trusted_rows(cell, data)] if way.uses_clean_labels else None,
        seed=cell.training_seed,
        device=place.device,
        checkpoint=scratch,
        checkpoint_every=max(1, way.total_epochs // CHECKPOINTS),
        progress=False,
        on_epoch=note,
    )


def _pretrained(cell: Cell, place: Place) -> nn.Module:
    from truelabel import networks
    from truelabel.networks.imagenet import load_imagenet_weights
    from truelabel.networks.resnet import ResNet

    if place.weights is None:
        raise ValueError("The cell's network starts from ImageNet weights; name their file with --weights.")
    data = load(cell, place)
    network = networks.build(str(cell.network), data.train.in_shape, data.train.n_classes)
    assert isinstance(network, ResNet)
    return load_imagenet_weights(network, place.weights)


def _trusted_rows(cell: Cell, train: Split) -> Ints:
    from truelabel.datasets.stratified import stratified_rows

    return stratified_rows(train.labels, max(2, round(cell.trusted * len(train))), cell.data_seed)


def predictions(cell: Cell, place: Place, trained: Trained) -> tuple[Predictions, Predictions]:
    """Return what the classifier says of the training set, with its noisy labels, and of the test set, without any."""
    data = load(cell, place)
    noisy, _ = noisy_labels(cell, place)
    train = trained.predictions(data.train.with_labels(noisy), out_of_sample=False)
    test = trained.predictions(data.test, out_of_sample=True).replace(labels=None)
    views: tuple[Floats | None, Floats | None] = train.hidden, test.hidden
    if cell.view == "pca":
        views = _components(_source(cell, place), cell.threads)
    elif cell.view == "logits":
        views = _logits(trained, train), _logits(trained, test)
    return train.replace(features=views[0]), test.replace(features=views[1])


def _logits(trained: Trained, said: Predictions) -> Floats:
    """Return the classifier's last layer before the softmax."""
    import torch

    network: Any = trained.network
    device = next(network.parameters()).device
    if said.hidden is None:
        raise ValueError('view = "logits" needs a network that shows its hidden layer; take one of networks.NAMES.')
    with torch.inference_mode():
        blocks = [
            network.logits(torch.from_numpy(np.ascontiguousarray(said.hidden[rows])).to(device)).cpu().numpy()
            for rows in row_blocks(len(said), LOGITS_BLOCK)
        ]
    return np.concatenate(blocks)


@lru_cache(maxsize=2)
def _components(source: Source, threads: int) -> tuple[Floats | None, Floats | None]:
    """Return the inputs reduced to their principal components, found with so many threads; lazy images have none."""
    data = _load(*source)
    if not isinstance(data.train.inputs, np.ndarray):
        return None, None
    flat = [part.inputs.reshape(len(part), -1) for part in (data.train, data.test)]
    if flat[0].shape[1] <= COMPONENTS:
        return flat[0], flat[1]
    from sklearn.decomposition import PCA

    pca = PCA(min(COMPONENTS, len(data.train)), svd_solver="randomized", random_state=source[-1]).fit(flat[0])
    reduced = [pca.transform(part).astype(np.float32) for part in flat]
    return reduced[0], reduced[1]


def calibrator(cell: Cell, place: Place, train: Predictions, trained: Trained) -> Calibrator:
    """Return the calibrator of a cell, not fitted yet."""
    from truelabel import calibrators

    settings = cell.settings("calibrator")
    known = calibrators.build(cell.calibrator, **settings).get_params(deep=False)
    if settings.get("trunk") == CLASSIFIER:
        settings["trunk"] = trained.network
    given: dict[str, Any] = {"random_state": cell.calibration_seed, "progress": False, "device": place.device}
    if "network" in known and "network" not in settings:
        given["network"] = cell.network
    if "trusted" in known:
        data = load(cell, place).train
        rows = _trusted_rows(cell, data)
        given["trusted"] = train.replace(labels=data.labels)[rows]
    return calibrators.build(cell.calibrator, **settings, **{name: given[name] for name in given if name in known})


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what `work` returns, and its processor seconds."""
    began = time.process_time()
    found = work()
    return found, time.process_time() - began


_SECONDS = "seconds.txt"
