"""The demonstration: noisy digits, a network that memorises them, and what calibration makes of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from truelabel.arrays import Array, Ints
from truelabel.progress import Progress

if TYPE_CHECKING:
    from truelabel.datasets import Split
    from truelabel.methods import Trained
    from truelabel.predictions import Predictions

NOISE_RATE = 0.4
EPOCHS = 200  # enough for the network to fit nearly all noisy labels
CLEAN_EPOCHS = 100  # on clean labels it gains nothing after half as many


@dataclass(frozen=True)
class Demonstration:
    """What the demonstration found.

    Attributes
    ----------
    accuracy : dict
        Share of correct test predictions by way of making them.
    noise_rate, fitted : float
        Share of training labels that were corrupted, and share of the noisy labels that the network memorised.
    confusions : dict
        Confusion matrices on the test set before and after calibration.
    seconds : float
        How long it took.
    report : str
        What NPC says it found.
    """

    accuracy: dict[str, float]
    noise_rate: float
    fitted: float
    confusions: dict[str, Array]
    seconds: float
    report: str


def run(seed: int = 0, progress: bool | str = "auto") -> Demonstration:
    """Corrupt 40 % of the digits' labels, train on them, and compare ways to predict the true ones."""
    from truelabel import datasets, noise
    from truelabel.analysis import confusion
    from truelabel.calibrators import KNN, NPC

    began = time.perf_counter()
    data = datasets.load("digits", seed=seed)
    noisy = noise.InstanceDependent(NOISE_RATE).corrupt(data.train, seed=seed)
    train = data.train.with_labels(noisy)
    with Progress(progress) as bars:
        steps = iter(bars.track(range(4), "demonstration"))
        next(steps)
        memorised = _trained(train, seed, EPOCHS)
        next(steps)
        clean = _trained(data.train, seed, CLEAN_EPOCHS)
        next(steps)
        before, said = _said(memorised, train), _said(memorised, data.test)
        paper = NPC("paper", random_state=seed, progress=False).fit(before)
        npc = NPC(random_state=seed, progress=False).fit(before)
        next(steps)
    truth = data.test.labels
    answers: dict[str, Ints] = {
        "classifier trained on noisy labels": said.hard,
        "k-NN vote": KNN().fit(before).predict(said),
        "NPC, paper recipe": paper.predict(said),
        "NPC": npc.predict(said),
        "classifier trained on clean labels": _said(clean, data.test).hard,
    }
    return Demonstration(
        accuracy={name: float(np.mean(answer == truth)) for name, answer in answers.items()},
        noise_rate=noisy.rate,
        fitted=float(np.mean(before.hard == noisy.labels)),
        confusions={
            "before: the classifier": confusion(truth, said.hard, said.n_classes),
            "after: NPC": confusion(truth, answers["NPC"], said.n_classes),
        },
        seconds=time.perf_counter() - began,
        report=str(npc.report_),
    )


def _trained(split: Split, seed: int, epochs: int) -> Trained:
    from truelabel.methods import CE

    return CE(epochs=epochs).fit(split, network="mlp", seed=seed, progress=False)


def _said(model: Trained, split: Split) -> Predictions:
    """What the model says, with the pixels themselves as the view that never saw a label."""
    pixels = split.inputs.reshape(len(split), -1)
    return model.predictions(split).replace(features=pixels)
