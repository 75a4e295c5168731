"""Rows of real noise: labels that people and rules gave, and strong classifiers beside weak features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold, train_test_split

from scoreboard.cells import Case, UntilMemorised
from truelabel import datasets, methods, noise
from truelabel.datasets import Split
from truelabel.methods.run import Run
from truelabel.methods.trained import Trained

SETS = ("hausa", "yoruba", "trec", "semeval", "youtube", "labelme", "cifar10h", "cifar10h-20", "cifar10h-40")
RULES = ("hausa", "yoruba", "trec", "semeval", "youtube")
WAYS = ("memorised", "stopped", "out-of-fold")
WEAK = ("2", "3", "6", "64", "random")  # principal components, or columns of random numbers
RANDOM_COLUMNS = 10
PIXEL_COMPONENTS = 64
FOLDS = 5
EPOCHS = 120
CNN_FITTED = 0.8  # share of the noisy labels that the CNN of MNIST fits
MNIST_SUBSET = 3_000


@dataclass(frozen=True)
class RealCell:
    """A row: whose labels, which features, and how the classifier's predictions were made.

    Attributes
    ----------
    data : str
        A set of real labels; "mnist" with 40 % symmetric noise, or "digits" with clean labels.
    features : str
        "own" (the set's), "pixels" (principal components of them), a number of components, or "random".
    way : str
        "memorised", "stopped" or "out-of-fold"; "in-sample" is the CNN of mnist and the MLP of digits.
    hidden : bool
        Whether the classifier's hidden layer is given.
    """

    data: str
    features: str
    way: str
    hidden: bool = True

    @property
    def name(self) -> str:
        return f"{self.data}/{self.features}/{self.way}" + ("" if self.hidden else "/no-hidden")

    @property
    def shared(self) -> tuple[str, ...]:
        """What columns that do not ask the classifier depend on."""
        return self.data, self.features

    @property
    def rules(self) -> bool:
        """Whether the labels are a function of the words that the features are made of."""
        return self.data in RULES


def real_cells() -> list[RealCell]:
    """Every row, the quick ones first."""
    found = [RealCell(data, "own", way) for data in SETS for way in WAYS]
    found += [RealCell(data, "pixels", "out-of-fold") for data in ("cifar10h-20", "cifar10h-40")]
    for data in ("digits", "mnist"):
        found += [RealCell(data, features, "in-sample", hidden) for features in WEAK for hidden in (True, False)]
    return found


@dataclass(frozen=True)
class Material:
    """What a case is made of before a classifier is trained."""

    train: Split
    test: Split
    noisy: np.ndarray
    features: np.ndarray
    features_test: np.ndarray


def real_case(cell: RealCell, seed: int, folder: Path, root: Path | None) -> Case:
    """Load a set, train the classifier on its noisy labels, and let it speak."""
    made = material(cell.data, cell.features, seed, folder, root)
    trained = classifier(cell, seed, folder, root)
    noisy = made.train.with_labels(made.noisy)
    train = trained.predictions(noisy, out_of_sample=False).replace(features=made.features, inputs=None)
    if cell.way == "out-of-fold":
        train = train.replace(probs=out_of_fold(cell, seed, folder, root), out_of_sample=True)
    test = trained.predictions(made.test, out_of_sample=True)
    test = test.replace(features=made.features_test, inputs=None, labels=None)
    if not cell.hidden:
        train, test = train.replace(hidden=None), test.replace(hidden=None)
    clean = classifier(cell, seed, folder, root, clean=True).predict_proba(made.test.inputs)
    facts = {
        "noise_rate": float(np.mean(made.noisy != made.train.labels)),
        "fitted": float(np.mean(train.hard == made.noisy)),
    }
    return Case(cell, seed, train, test, made.test.labels, clean, "columns", facts, made.train.labels)


@lru_cache(maxsize=8)
def material(data: str, features: str, seed: int, folder: Path, root: Path | None) -> Material:
    """Load the instances, their labels, and the features that saw no label."""
    train, test, noisy = _digits(seed) if data == "digits" else _labelled(data, seed, folder, root)
    inputs, inputs_test = train.inputs, test.inputs
    if features == "own":
        return Material(train, test, noisy, inputs, inputs_test)
    if features == "random":
        rng = np.random.default_rng(seed)
        shape = (len(train), RANDOM_COLUMNS), (len(test), RANDOM_COLUMNS)
        return Material(train, test, noisy, *(rng.normal(size=one).astype(np.float32) for one in shape))
    if features == "pixels":
        images = _load("cifar10", root)
        inputs, inputs_test = images.test.inputs, images.train.inputs[: len(test)]
    flat, flat_test = inputs.reshape(len(inputs), -1), inputs_test.reshape(len(inputs_test), -1)
    width = min(PIXEL_COMPONENTS if features == "pixels" else int(features), flat.shape[1])
    pca = PCA(width, svd_solver="randomized", random_state=0).fit(flat)
    return Material(train, test, noisy, *(pca.transform(part).astype(np.float32) for part in (flat, flat_test)))


def _load(name: str, root: Path | None) -> datasets.Dataset:
    if root is None:
        raise SystemExit(
            f"The rows of {name} need --root DIR with the data in torchvision's layout; or leave them out."
        )
    return datasets.load(name, root)


def _digits(seed: int) -> tuple[Split, Split, np.ndarray]:
    x, y = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split(
        (x / 16).astype(np.float32), y, train_size=1_200, stratify=y, random_state=seed
    )
    data = datasets.arrays(x, y, x_test, y_test, name="digits")
    return data.train, data.test, data.train.labels


def _labelled(data: str, seed: int, folder: Path, root: Path | None) -> tuple[Split, Split, np.ndarray]:
    if data == "mnist":
        images = datasets.load("mnist", root, subset=MNIST_SUBSET, seed=seed)
        return images.train, images.test, noise.parse("sn:0.4", dataset="mnist").corrupt(images.train, seed=seed).labels
    name, _, rate = data.partition("-")
    with np.load(folder / f"{name}.npz") as found:
        made = datasets.arrays(
            *(
                found[part].astype(kind)
                for part, kind in zip(("x", "true", "xt", "yt"), (np.float32, int) * 2, strict=True)
            ),
            name=data,
        )
        return made.train, made.test, found[f"noisy_{rate}" if rate else "noisy"].astype(np.int64)


class UntilHalfMemorised(methods.CE):
    """Cross entropy until the network fits four fifths of the labels, which is half of the wrong ones."""

    def end_epoch(self, run: Run) -> None:
        super().end_epoch(run)
        run.stopped = run.history[-1]["noisy_accuracy"] >= CNN_FITTED


def _method(cell: RealCell, n: int) -> methods.CE:
    if cell.data == "mnist":
        return UntilHalfMemorised(epochs=EPOCHS)
    settings = {"epochs": EPOCHS, "batch_size": 32 if n < 3_000 else 128}
    return methods.EarlyStop(**settings) if cell.way in ("stopped", "out-of-fold") else UntilMemorised(**settings)


@lru_cache(maxsize=8)
def _trained(data: str, way: str, seed: int, folder: Path, root: Path | None, clean: bool) -> Trained:
    cell = RealCell(data, "own", way)
    made = material(data, "own", seed, folder, root)
    split = made.train if clean else made.train.with_labels(made.noisy)
    network = "cnn-small" if data == "mnist" else "mlp"
    return _method(cell, len(split)).fit(split, network, seed=seed, progress=False)


def classifier(cell: RealCell, seed: int, folder: Path, root: Path | None, clean: bool = False) -> Trained:
    """Train the classifier of a row on its inputs, or one like it on clean labels."""
    way = "stopped" if cell.way == "out-of-fold" else cell.way
    return _trained(cell.data, way, seed, folder, root, clean)


@lru_cache(maxsize=4)
def _out_of_fold(data: str, seed: int, folder: Path, root: Path | None) -> np.ndarray:
    made = material(data, "own", seed, folder, root)
    split = made.train.with_labels(made.noisy)
    probs = np.empty((len(split), split.n_classes), dtype=np.float32)
    for seen, held in KFold(FOLDS, shuffle=True, random_state=seed).split(made.noisy):
        method = _method(RealCell(data, "own", "out-of-fold"), len(seen))
        probs[held] = method.fit(split[seen], "mlp", seed=seed, progress=False).predict_proba(split[held].inputs)
    return probs


def out_of_fold(cell: RealCell, seed: int, folder: Path, root: Path | None) -> np.ndarray:
    """What networks say of the training set that were trained on the rest of it."""
    return _out_of_fold(cell.data, seed, folder, root)
