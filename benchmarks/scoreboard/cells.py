"""The rows of the scoreboard: a dataset, a noise, a classifier and how its predictions were made."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold, train_test_split

from truelabel import Predictions, datasets, methods, noise
from truelabel.datasets import Dataset, Split
from truelabel.methods.run import Run
from truelabel.methods.trained import Trained
from truelabel.noise.clean_classifier import averaged_softmax

IMAGES = ("mnist", "fashion-mnist")
SUBSET = 10_000
NOISES = ("clean", "sn:0.2", "sn:0.8", "asn:0.2", "asn:0.4", "idn:0.2", "idn:0.4", "sridn:0.2", "sridn:0.4")
FEW_NOISES = ("clean", "sn:0.2", "idn:0.4")
FITTED = 0.97  # share of the noisy labels that a classifier has to fit to have memorised them
TABLES = ("digits", "made")
MOST_EPOCHS = {"mlp": 120, "cnn-small": 40, "cnn-tiny": 40}
MOST_EPOCHS_LARGE = 50  # for 50,000 instances
SMALL_BATCH = 32  # for tables of a few thousand
FOLDS = 5


@dataclass(frozen=True)
class Cell:
    """A row: which data, which noise in their labels, which network, trained how, and which features are known.

    `way` is "memorised" or "stopped"; "in-sample" and "out-of-fold" are a stopped network's predictions where the
    features are much weaker than the network.
    """

    data: str
    noise: str
    network: str
    way: str

    @property
    def name(self) -> str:
        return f"{self.data}/{self.noise}/{self.network}/{self.way}"

    @property
    def weak(self) -> bool:
        return self.way in ("in-sample", "out-of-fold")

    @property
    def shared(self) -> tuple[object, ...]:
        """What columns that do not ask the classifier depend on."""
        return self.data, self.noise, self.weak

    @property
    def memorised(self) -> bool:
        return self.way == "memorised"

    @property
    def one_seed(self) -> bool:
        """Whether it takes so long that seed 0 has to do."""
        return self.network == "cnn-small"


def cells() -> list[Cell]:
    """Every row, in the order they are run: the telling and quick ones first."""
    both, weak = ("memorised", "stopped"), ("in-sample", "out-of-fold")
    found = [Cell(data, kind, "mlp", way) for data in TABLES for kind in FEW_NOISES for way in both]
    found += [Cell("fashion-mnist", kind, "mlp", way) for kind in NOISES for way in both]
    found += [Cell(data, kind, "cnn-tiny", way) for data in IMAGES for kind in FEW_NOISES for way in weak]
    found += [Cell("mnist", kind, "mlp", way) for kind in NOISES for way in both]
    found += [Cell("cifar10", kind, "mlp", way) for kind in NOISES for way in both]
    found += [Cell("fashion-mnist", kind, "cnn-small", way) for kind in ("sn:0.2", "idn:0.4") for way in both]
    return found


@dataclass(frozen=True)
class Case:
    """A cell made real with a seed: all that a column may use, and the test labels that it may not.

    Attributes
    ----------
    train, test : Predictions
        What the classifier says, with label-free features; `train` has the noisy labels.
    truth : (m,) array
        The true test labels, for the measures alone.
    clean_probs : (m, c) array
        What a classifier says of the test set that was trained in the same way on clean labels.
    scale : str
        How the features come to scale in heads: "whole" or "columns".
    facts : dict
        What is known of the noise and the fit.
    true : (n,) array, optional
        The true training labels, for the measures and for the ceiling of a known T alone.
    """

    cell: Any
    seed: int
    train: Predictions
    test: Predictions
    truth: np.ndarray
    clean_probs: np.ndarray
    scale: str
    facts: dict[str, float]
    true: np.ndarray | None = None


def case(cell: Cell, seed: int, sources: Sources) -> Case:
    """Load the data, corrupt the labels, train the classifier and let it speak."""
    data = load(cell.data, seed, sources)
    view, view_test = features(cell.data, 8 if cell.weak else 64, seed, sources)
    noisy = corrupted(cell.data, cell.noise, seed, sources)
    trained = classifier(cell.data, cell.noise, cell.network, cell.memorised, seed, sources)
    train = trained.predictions(data.train.with_labels(noisy), out_of_sample=False).replace(features=view, inputs=None)
    if cell.way == "out-of-fold":
        probs = out_of_fold(cell.data, cell.noise, cell.network, seed, sources)
        train = train.replace(probs=probs, out_of_sample=True)
    test = trained.predictions(data.test, out_of_sample=True).replace(features=view_test, inputs=None, labels=None)
    clean = classifier(cell.data, "clean", cell.network, cell.memorised, seed, sources)
    facts = {
        "noise_rate": noisy.rate,
        "fitted": float(np.mean(train.hard == noisy.labels)),
        "epochs": len(trained.history),
    }
    scale = "columns" if cell.data in TABLES else "whole"
    return Case(
        cell,
        seed,
        train,
        test,
        data.test.labels,
        clean.predict_proba(data.test.inputs),
        scale,
        facts,
        data.train.labels,
    )


@dataclass(frozen=True)
class Sources:
    """Where the data are: a folder in torchvision's layout, the file of CIFAR-10 features, a folder for cases."""

    root: Path | None
    features: Path | None
    cache: Path | None

    @classmethod
    def of(cls, options: argparse.Namespace) -> Sources:
        return cls(options.root, options.features, options.cache)


@lru_cache(maxsize=2)
def load(name: str, seed: int, sources: Sources) -> Dataset:
    """Load a dataset; the seed decides which part of it."""
    if name in IMAGES:
        return datasets.load(name, sources.root, subset=SUBSET, seed=seed)
    if name == "cifar10":
        if sources.features is None:
            raise SystemExit(
                "The cells of cifar10 need --features FILE.npz with arrays train and test; or leave them out."
            )
        images = datasets.load(name, sources.root)
        found = np.load(sources.features)
        train, test = (
            Split(found[part].astype(np.float32), split.labels, split.class_names)
            for part, split in (("train", images.train), ("test", images.test))
        )
        return Dataset(name, train, test)
    if name == "digits":
        x, y = load_digits(return_X_y=True)
        x, sizes = x / 16, (1_000, 797)
    else:
        x, y = make_classification(
            8_000, 20, n_informative=10, n_redundant=4, n_classes=5, class_sep=1.5, random_state=seed
        )
        sizes = (3_000, 5_000)
    x, x_test, y, y_test = train_test_split(
        x.astype(np.float32), y, train_size=sizes[0], test_size=sizes[1], stratify=y, random_state=seed
    )
    return datasets.arrays(x, y, x_test, y_test, name=name)


@lru_cache(maxsize=4)
def features(name: str, width: int, seed: int, sources: Sources) -> tuple[np.ndarray, np.ndarray]:
    """The label-free view: principal components of the pixels, else the columns as they are."""
    data = load(name, seed, sources)
    if name not in IMAGES:
        return data.train.inputs, data.test.inputs
    pixels, pixels_test = (part.inputs.reshape(len(part), -1) for part in (data.train, data.test))
    pca = PCA(width, svd_solver="randomized", random_state=0).fit(pixels)
    return pca.transform(pixels).astype(np.float32), pca.transform(pixels_test).astype(np.float32)


@lru_cache(maxsize=4)
def corrupted(name: str, kind: str, seed: int, sources: Sources) -> noise.NoisyLabels:
    """Corrupt the training labels."""
    data = load(name, seed, sources)
    model = noise.parse(kind, dataset=name)
    if isinstance(model, noise.SimilarityReflected):
        model = noise.SimilarityReflected(model.rate, scores=_clean_scores(name, seed, sources))
    return model.corrupt(data.train, seed=seed)


@lru_cache(maxsize=2)
def _clean_scores(name: str, seed: int, sources: Sources) -> np.ndarray:
    train = load(name, seed, sources).train
    return averaged_softmax(
        train.inputs, train.labels, train.n_classes, network="mlp", epochs=10, device="cpu", seed=seed
    )


class UntilMemorised(methods.CE):
    """Cross entropy until the network fits nearly all noisy labels."""

    def end_epoch(self, run: Run) -> None:
        super().end_epoch(run)
        run.stopped = run.history[-1]["noisy_accuracy"] >= FITTED


def _method(data: str, network: str, memorised: bool) -> methods.CE:
    settings = {
        "epochs": MOST_EPOCHS_LARGE if data == "cifar10" else MOST_EPOCHS[network],
        "batch_size": SMALL_BATCH if data in TABLES else 128,
    }
    return UntilMemorised(**settings) if memorised else methods.EarlyStop(**settings)


@lru_cache(maxsize=8)
def classifier(data: str, kind: str, network: str, memorised: bool, seed: int, sources: Sources) -> Trained:
    """Train the classifier of a cell."""
    labels = corrupted(data, kind, seed, sources).labels
    split = load(data, seed, sources).train.with_labels(labels)
    return _method(data, network, memorised).fit(split, network, seed=seed, progress=False)


def out_of_fold(data: str, kind: str, network: str, seed: int, sources: Sources) -> np.ndarray:
    """What networks say of the training set that were trained on the rest of it."""
    labels = corrupted(data, kind, seed, sources).labels
    split = load(data, seed, sources).train.with_labels(labels)
    probs = np.empty((len(split), split.n_classes), dtype=np.float32)
    for seen, held in KFold(FOLDS, shuffle=True, random_state=seed).split(labels):
        trained = _method(data, network, False).fit(split[seen], network, seed=seed, progress=False)
        probs[held] = trained.predict_proba(split[held].inputs)
    return probs
