"""The columns of the scoreboard: ways to turn what is known of a case into probabilities of the test set's classes.

None of them reads a clean label, but for "clean".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.metrics import average_precision_score

from scoreboard.cells import Case
from scoreboard.measures import accuracy, balanced_accuracy, calibration_error, risk_coverage
from truelabel import NPC
from truelabel.calibrators import KNN
from truelabel.experts.heads import out_of_fold
from truelabel.progress import Progress
from truelabel.scale import Scale, moments

NEIGHBOURS = 50


class Answer:
    """A column's probabilities, its processor seconds, and whatever else it found out."""

    def __init__(self, probs: np.ndarray, seconds: float, sureness: np.ndarray | None = None, **facts: Any) -> None:
        self.probs, self.seconds, self.facts = probs, seconds, facts
        self.sureness = probs.max(axis=1) if sureness is None else sureness

    def measured(self, truth: np.ndarray) -> dict[str, Any]:
        """Return what there is to know of the answer, given the true labels."""
        return {
            "accuracy": accuracy(self.probs, truth),
            "balanced": balanced_accuracy(self.probs, truth),
            "ece": calibration_error(self.probs, truth),
            "aurc": risk_coverage(self.probs, truth, self.sureness),
            "seconds": round(self.seconds, 2),
            **self.facts,
        }


class Columns:
    """Answers for one case after another; what does not depend on the classifier is kept for the next case."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], Any] = {}

    def answer(self, column: str, case: Case) -> Answer:
        """Run a column on a case."""
        return _COLUMNS[column](self, case)

    def classifier(self, case: Case) -> Answer:
        return Answer(case.test.probs, 0.0)

    def knn(self, case: Case) -> Answer:
        """The vote of the noisy labels of 50 neighbours on the label-free features."""
        k = min(NEIGHBOURS, len(case.train) // 20)
        return self.once("knn", case, lambda: Answer(*timed(lambda: KNN(k).fit(case.train).calibrate(case.test))))

    def heads(self, case: Case) -> Answer:
        """The mean of the heads that NPC's default recipe trains out of fold, of the same size and epochs."""
        probs, seconds = self.once("heads", case, lambda: timed(lambda: _heads(case, case.train.labels)))
        return Answer(probs[len(case.train) :], seconds)

    def temperature(self, case: Case) -> Answer:
        """Temperature scaling by the noisy labels: the predictions that NPC gets, too."""

        def scaled() -> np.ndarray:
            logs, rows = _logs(case.train.probs), np.arange(len(case.train))

            def loss(log_t: float) -> float:
                return -float(log_softmax(logs / np.exp(log_t), axis=1)[rows, case.train.labels].mean())

            log_t = minimize_scalar(loss, bounds=(-3, 3), method="bounded").x
            return softmax(_logs(case.test.probs) / np.exp(log_t), axis=1)

        return Answer(*timed(scaled))

    def paper(self, case: Case) -> Answer:
        """NPC's paper recipe on the classifier's hidden layer, or on the features where that is not given."""
        npc = NPC("paper", random_state=case.seed, progress=False)
        return Answer(*timed(lambda: npc.fit(case.train).calibrate(case.test)))

    def npc(self, case: Case) -> Answer:
        """NPC as it comes."""
        npc = NPC(random_state=case.seed, progress=False)
        probs, seconds = timed(lambda: npc.fit(case.train).calibrate(case.test))
        found = npc.report_
        return Answer(
            probs,
            seconds,
            -npc.posterior(case.test).p_wrong,
            memorisation=found.memorisation,
            noise_rate=found.noise_rate,
            interval=found.noise_interval,
            swapped=found.swapped,
            weights=found.weights,
            k=found.k,
        )

    def cleanlab(self, case: Case) -> Answer:
        """Cleanlab's filter by the heads out of fold, then the same heads, five again, on what is left."""
        before = self.heads(case)
        probs, _ = self.once("heads", case, lambda: None)

        def run() -> Answer:
            from cleanlab.filter import find_label_issues
            from cleanlab.rank import get_label_quality_scores

            labels = case.train.labels
            quality = get_label_quality_scores(labels, probs[: len(labels)].astype(np.float64))
            issues, seconds = timed(
                lambda: find_label_issues(labels, probs[: len(labels)].astype(np.float64), n_jobs=1)
            )
            again, more = timed(lambda: _heads(case, labels, np.flatnonzero(~issues)))
            facts: dict[str, Any] = {"removed": float(issues.mean())}
            if case.true is not None and (labels != case.true).any():
                facts["ranking"] = float(average_precision_score(labels != case.true, -quality))
            return Answer(again[len(labels) :], before.seconds + seconds + more, **facts)

        return self.once("cleanlab", case, run)

    def clean(self, case: Case) -> Answer:
        """A classifier trained in the same way on clean labels."""
        return Answer(case.clean_probs, 0.0)

    def once(self, what: str, case: Case, run: Callable[[], Any]) -> Any:
        """Return what `run` returned for another case with the same features and labels, or run it."""
        key = (what, *case.cell.shared, case.seed)
        if key not in self._kept:
            while len(self._kept) > 6:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = run()
        return self._kept[key]


_COLUMNS: dict[str, Callable[[Columns, Case], Answer]] = {
    "classifier": Columns.classifier,
    "knn": Columns.knn,
    "heads": Columns.heads,
    "temperature": Columns.temperature,
    "paper": Columns.paper,
    "npc": Columns.npc,
    "cleanlab": Columns.cleanlab,
    "clean": Columns.clean,
}

TITLES = {
    "classifier": "classifier",
    "knn": "k-NN vote",
    "heads": "heads' ensemble",
    "temperature": "temperature",
    "paper": "NPC, paper recipe",
    "npc": "NPC",
    "cleanlab": "cleanlab",
    "clean": "clean labels",
}


def one_thread() -> None:
    """Let everything run on one thread, so that seconds can be compared."""
    import faiss
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    threadpool_limits(1)


def _heads(case: Case, labels: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """Train heads on `rows` of the training set; return what they say of it out of fold, then of the test set."""
    train, test = (said.views["features"] for said in (case.train, case.test))
    rows = np.arange(len(train)) if rows is None else rows
    torch.manual_seed(case.seed)
    foretold = out_of_fold(
        np.concatenate([train, test]),
        Scale(case.scale, *moments(train)),
        labels,
        rows,
        case.train.n_classes,
        device=torch.device("cpu"),
        seed=case.seed,
        progress=Progress(False),
    )
    return foretold.said


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """Run something; return its result and the processor seconds it took."""
    began = time.process_time()
    result = run()
    return result, time.process_time() - began


def _logs(probs: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(probs, 1e-12))
