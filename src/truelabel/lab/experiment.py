"""Running a cell: a pure function from its configuration to its record."""

from __future__ import annotations

import contextlib
import platform
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, Floats, Ints
from truelabel.lab import stages
from truelabel.lab.cell import Cell
from truelabel.lab.measures import accuracy, calibration_error, repair
from truelabel.lab.record import Record
from truelabel.lab.stages import Place, timed

if TYPE_CHECKING:
    from truelabel.calibrators import Calibrator
    from truelabel.methods import Trained
    from truelabel.predictions import Predictions


@dataclass(frozen=True)
class Calibrated:
    """What a calibrator said.

    Attributes
    ----------
    probs : (m, c) array
        p(y | x) of the test set.
    classes : (n,) array
        The calibrated class of each training instance.
    transitions : dict of str to (c, c) array
        Estimates of T by their name in the record.
    by_round : list of float
        Test accuracy after each round.
    seconds : dict
        Processor seconds by phase.
    """

    probs: Floats
    classes: Ints
    transitions: dict[str, Array]
    by_round: list[float]
    seconds: dict[str, float]


def run_cell(cell: Cell, place: Place) -> Record:
    """Run a cell and measure it; whatever goes wrong is raised.

    Parameters
    ----------
    cell : Cell
        The configuration.
    place : Place
        Where the shared stages and the data are.
    """
    from truelabel.analysis import gains
    from truelabel.device import resolve

    with _threads(cell.threads):
        data = stages.load(cell, place)
        noisy, noise_seconds = stages.noisy_labels(cell, place)
        trained, train_seconds = stages.classifier(cell, place)
        (train, test), predict_seconds = timed(lambda: stages.predictions(cell, place, trained))
        found = _calibrated(cell, place, train, test, trained)
        matrices = dict(found.transitions)
        if trained.transition is not None:
            matrices["t_method"] = trained.transition
        truth = data.test.labels
        result: dict[str, Any] = {
            "n": len(data.train),
            "n_test": len(data.test),
            "noise_rate": noisy.rate,
            "fitted": float(np.mean(train.hard == noisy.labels)),
            "epochs": len(trained.history),
            "before": accuracy(test.probs, truth),
            "after": accuracy(found.probs, truth),
            "ece_before": calibration_error(test.probs, truth),
            "ece_after": calibration_error(found.probs, truth),
            "repair_before": repair(train.hard, data.train.labels, noisy.flipped),
            "repair": repair(found.classes, data.train.labels, noisy.flipped),
            "by_round": found.by_round if cell.rounds > 1 else None,
        }
        sorted_ = gains(data.train.labels, noisy.labels, train.hard, found.classes)
        result |= {f"gains_{region}": count for region, count in sorted_.counts.items()}
        for name in ("t_method", "t_counted", "t_prior", "t_from_h"):
            result[name] = _error(matrices[name], noisy.transition) if name in matrices else None
        seconds = {"noise": noise_seconds, "train": train_seconds, "predict": predict_seconds}
        return Record(cell, "ok", result, seconds | found.seconds, environment(str(resolve(place.device))))


def warm_up() -> None:
    """Import what a cell needs, which may take longer than the cell."""
    for name in ("faiss", "sklearn.decomposition", "torch", "truelabel.calibrators", "truelabel.methods"):
        import_module(name)


def _error(estimate: Any, truth: Any) -> float:
    from truelabel.transitions import transition_error

    return transition_error(estimate, truth).squared


def _calibrated(cell: Cell, place: Place, train: Predictions, test: Predictions, trained: Trained) -> Calibrated:
    truth = stages.load(cell, place).test.labels
    calibrator = stages.calibrator(cell, place, train, trained)
    by_round: list[float] = []
    seconds = {"fit": 0.0, "calibrate": 0.0}
    seen, unseen = train, test
    for _ in range(cell.rounds):
        last = seen
        fitted, fit_seconds = timed(partial(_fresh(calibrator).fit, seen))
        answer, more = timed(partial(fitted.calibrate, unseen))
        by_round.append(accuracy(answer, truth))
        unseen = unseen.replace(probs=answer)
        seen = seen.replace(probs=fitted.calibrate(seen))
        seconds = {"fit": seconds["fit"] + fit_seconds, "calibrate": seconds["calibrate"] + more}
    estimates, seconds["transitions"] = timed(lambda: _transitions(cell, fitted, last, seen))
    return Calibrated(unseen.probs, seen.hard, estimates, by_round, seconds)


def _fresh(calibrator: Calibrator) -> Calibrator:
    from sklearn.base import clone

    found: Calibrator = clone(calibrator, safe=False)
    return found


def _transitions(cell: Cell, fitted: Calibrator, train: Predictions, calibrated: Predictions) -> dict[str, Array]:
    """Return the estimates of T that come with a fitted calibrator."""
    from truelabel.transitions import TransitionFromH, count_transition

    found = {"t_counted": count_transition(calibrated.hard, train.labels, train.n_classes)}
    prior = getattr(fitted, "transition_matrix_", None)
    if prior is not None:
        found["t_prior"] = prior
    if cell.transitions and hasattr(fitted, "transition"):
        solved = TransitionFromH(random_state=cell.calibration_seed, progress=False).fit(fitted, train)
        found["t_from_h"] = solved.average_
    return found


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    """Run with this many threads in torch, faiss and whatever else has a pool of its own."""
    import faiss
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads(), faiss.omp_get_max_threads()
    torch.set_num_threads(count)
    faiss.omp_set_num_threads(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        torch.set_num_threads(before[0])
        faiss.omp_set_num_threads(before[1])


@lru_cache(maxsize=4)
def environment(device: str) -> dict[str, str]:
    """Return the versions, the revision and the machine that a record was made with; nothing is imported for it."""
    import truelabel

    return {
        "truelabel": truelabel.__version__,
        "revision": _revision(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "numpy", "scikit-learn", "faiss-cpu")},
        "device": device,
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _revision() -> str:
    """Return the git revision of the source, with a plus where files differ from it; empty outside a repository."""
    home = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", home, *words], capture_output=True, text=True, check=True).stdout.strip()

    try:
        if not git("ls-files", ".."):
            return ""
        return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "--", "..") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""
