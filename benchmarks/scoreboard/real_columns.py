"""Columns that the scoreboard of real noise has beside those of the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold
from torch import nn
from torch.nn import functional

from scoreboard.cells import Case
from scoreboard.columns import Answer, Columns, timed
from truelabel import NPC
from truelabel.calibrators.npc.trunk import Source
from truelabel.label_noise import LabelNoise
from truelabel.label_noise.model import LEVEL
from truelabel.labels import correct_labels, examine
from truelabel.scale import Scale, moments

FOLDS = 5
STRONG_EPOCHS = 5
CHECKED = 100
DRAWS = 50  # of so many labels, for which intervals are looked at
COVERED = 0.005  # half a label in a hundred: an interval that ends so close holds the truth


def strong(columns: Columns, case: Case) -> Answer:
    """The mean of five networks (1024–256, dropout 0.3), each on four fifths of the labels for five epochs."""
    return columns.once("strong", case, lambda: Answer(*timed(lambda: _strong(case))))


def _strong(case: Case) -> np.ndarray:
    x, x_test = _scaled(case)
    labels, c = torch.from_numpy(case.train.labels), case.train.n_classes
    batch = 32 if len(x) < 3_000 else 128
    torch.manual_seed(case.seed)
    total = np.zeros((len(x_test), c), dtype=np.float32)
    for seen, _ in KFold(FOLDS, shuffle=True, random_state=case.seed).split(x):
        net = nn.Sequential(
            *(nn.Linear(x.shape[1], 1024), nn.ReLU(), nn.Dropout(0.3)),
            *(nn.Linear(1024, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, c)),
        )
        optimizer = torch.optim.Adam(net.parameters(), 1e-3)
        for _ in range(STRONG_EPOCHS):
            order = torch.from_numpy(seen)[torch.randperm(len(seen))]
            for rows in order.split(batch):
                loss = functional.cross_entropy(net(x[rows]), labels[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        net.eval()
        with torch.inference_mode():
            total += net(x_test).softmax(1).numpy() / FOLDS
    return total


def logistic(columns: Columns, case: Case) -> Answer:
    """Logistic regression on the features, at scikit-learn's default strength."""

    def fitted() -> np.ndarray:
        x, x_test = (part.numpy() for part in _scaled(case))
        model = LogisticRegression(max_iter=300).fit(x, case.train.labels)
        out = np.full((len(x_test), case.train.n_classes), 1e-9, dtype=np.float32)
        out[:, model.classes_] = model.predict_proba(x_test)
        return out

    return columns.once("logistic", case, lambda: Answer(*timed(fitted)))


def _scaled(case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    train, test = (said.views["features"].astype(np.float32) for said in (case.train, case.test))
    scale = Scale("columns", *moments(train))
    return torch.from_numpy(scale(train)), torch.from_numpy(scale(test))


def distilled(columns: Columns, case: Case) -> Answer:
    """The network that NPC starts from, taught the belief by plain cross entropy at the same pace: no decoder or KL."""

    def taught() -> np.ndarray:
        npc = NPC(random_state=case.seed, progress=False, epochs=1, learning_rate=1e-12).fit(case.train)
        vae, n = npc.network_, len(case.train)
        rate = 4e-3 * npc.belief_.pace
        optimizer = torch.optim.Adam([part for part in vae.parameters() if part is not vae.reliance], rate)
        source, belief = Source(case.train, npc.reads_), torch.from_numpy(npc.belief_.shares)
        epochs = max(2, -(-290 * npc.batch_size_ // n))
        steps, step = epochs * -(-n // npc.batch_size_), 0
        torch.manual_seed(case.seed)
        vae.train()
        for _ in range(epochs):
            for rows in torch.randperm(n).split(npc.batch_size_):
                probs = torch.from_numpy(case.train.block(rows.numpy()))
                out = vae.calibrate(source(rows.numpy(), torch.device("cpu")), probs)
                loss = -(belief[rows] * out.clamp_min(1e-6).log()).sum(1).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                step += 1
                optimizer.param_groups[0]["lr"] = rate * (1 - step / steps)
        vae.eval()
        return npc.calibrate(case.test)

    return Answer(*timed(taught))


def npc(columns: Columns, case: Case) -> Answer:
    """NPC as it comes, and what it says of noise and labels."""
    model = NPC(random_state=case.seed, progress=False)
    probs, seconds = timed(lambda: model.fit(case.train).calibrate(case.test))
    return Answer(probs, seconds, **_facts(model, case))


def unlabelled(columns: Columns, case: Case) -> Answer:
    """NPC that has seen what the classifier says of the test instances, too."""
    model = NPC(random_state=case.seed, progress=False)
    told = {} if case.train.out_of_sample else {"unlabelled": case.test}
    probs, seconds = timed(lambda: model.fit(case.train, **told).calibrate(case.test))
    return Answer(probs, seconds, **_facts(model, case))


def checked(columns: Columns, case: Case) -> Answer:
    """NPC with the true classes of a hundred instances drawn at random."""
    rng = np.random.default_rng(case.seed)
    trusted = np.full(len(case.train), -1)
    rows = rng.choice(len(trusted), CHECKED, replace=False)
    trusted[rows] = case.true[rows]
    model = NPC(random_state=case.seed, progress=False)
    probs, seconds = timed(lambda: model.fit(case.train, trusted=trusted).calibrate(case.test))
    return Answer(probs, seconds, **_facts(model, case), held=_held(model.belief_.noise, case))


def _held(noise: LabelNoise, case: Case) -> float:
    """Return in what share of other draws the interval holds the truth, with the same experts."""
    rng = np.random.default_rng(case.seed)
    wrong = float(np.mean(case.train.labels != case.true))
    before = replace(noise, checked=np.zeros_like(noise.checked))
    held = 0
    for _ in range(DRAWS):
        trusted = np.full(len(case.train), -1)
        rows = rng.choice(len(trusted), CHECKED, replace=False)
        trusted[rows] = case.true[rows]
        low, high = before.check(trusted, case.train.labels).interval(LEVEL)
        held += low - COVERED <= wrong <= high + COVERED
    return held / DRAWS


def ceiling(columns: Columns, case: Case) -> Answer:
    """NPC that is told the true T."""
    model = NPC(random_state=case.seed, progress=False, label_transition=true_transition(case))
    return Answer(*timed(lambda: model.fit(case.train).calibrate(case.test)))


def true_transition(case: Case) -> np.ndarray:
    """Return T, counted on true labels; a class that has none keeps its label."""
    c = case.train.n_classes
    counts = np.zeros((c, c))
    np.add.at(counts, (case.true, case.train.labels), 1)
    counts += 1e-6 + 1e-3 * np.eye(c)
    return counts / counts.sum(axis=1, keepdims=True)


def _facts(model: NPC, case: Case) -> dict[str, Any]:
    """Return how the noise, its interval, the ranking of wrong labels and corrected labels compare with the truth."""
    found, belief, labels = model.report_, model.belief_, case.train.labels
    wrong = labels != case.true
    p_wrong = 1 - belief.shares[np.arange(len(labels)), labels]
    difference = np.abs(belief.transition - true_transition(case)).sum(axis=1) / 2
    low, high = found.noise_interval
    issues = examine(case.train, model)
    corrected = {rule: correct_labels(issues, rule=rule).labels for rule in ("safe", "all")}
    return {
        "memorisation": found.memorisation,
        "noise_rate": found.noise_rate,
        "interval": [low, high],
        "level": LEVEL,
        "lower": float(1 - belief.noise.shares @ np.diag(belief.noise.lower)),
        "transition_error": float(difference.mean()),
        "ranking": float(average_precision_score(wrong, p_wrong)) if wrong.any() else None,
        "labels_right": float(np.mean(~wrong)),
        "safe_right": float(np.mean(corrected["safe"] == case.true)),
        "all_right": float(np.mean(corrected["all"] == case.true)),
        "evidence": found.noise_evidence,
        "weights": found.weights,
    }


REAL_COLUMNS: dict[str, Callable[[Columns, Case], Answer]] = {
    "strong": strong,
    "logistic": logistic,
    "distilled": distilled,
    "npc": npc,
    "unlabelled": unlabelled,
    "checked": checked,
    "ceiling": ceiling,
}

REAL_TITLES = {
    "classifier": "classifier",
    "knn": "k-NN vote",
    "heads": "heads",
    "strong": "strong heads",
    "logistic": "logistic",
    "cleanlab": "cleanlab",
    "distilled": "distilled",
    "paper": "NPC, paper",
    "npc": "NPC",
    "unlabelled": "NPC + unlabelled",
    "checked": "NPC + 100 checked",
    "ceiling": "NPC, true T",
    "clean": "clean labels",
}
