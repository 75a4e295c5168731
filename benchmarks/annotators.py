"""The consensus of several annotators, beside majority vote, Dawid–Skene, GLAD and cleanlab.

    python benchmarks/annotators.py --data REAL-NOISE --out annotators.jsonl

Sets: labelme (1,000 images, 8 classes, 59 annotators, at most 3 labels per image) and cifar10h (10,000 images, 10
classes, about 51 anonymous labels per image). From each instance's votes 3 and 5 are drawn without replacement, or all
are taken; labelme, which has no more than 3, is thinned to 2 as well. Five draws; where nothing is drawn they differ in
the seeds of the networks. Nothing is chosen by the true classes, which only measure.

Methods that ask who gave a label get a slot's number as a name for cifar10h's anonymous votes. cleanlab is given
out-of-fold probabilities by heads that learn the majority's label, and, in another column, by the experts that
truelabel ends with. Measured: accuracy; mean log-likelihood of the true class (probabilities below 1e-6 count as 1e-6;
those of majority vote are shares with one vote more that all classes share; cleanlab gives one number per instance, and
the rest is shared by the other classes); and on labelme Spearman's correlation of the annotators' quality with the
share of their labels that are right, of those with at least ten.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import spearmanr

from scoreboard.store import append, read_records
from truelabel.experts.heads import out_of_fold
from truelabel.label_noise.annotators import Annotators
from truelabel.labels import Consensus, Votes, consensus
from truelabel.progress import Progress
from truelabel.scale import Scale, moments

CELLS = [("labelme", 2), ("labelme", None), ("cifar10h", 3), ("cifar10h", 5), ("cifar10h", None)]
NONE = -1
LEAST_LABELS = 10  # of an annotator whose quality is compared
LEAST = 1e-6
GLAD_STEPS = 20  # instead of crowd-kit's 100, which would take an hour for all votes of cifar10h


@dataclass(frozen=True)
class Material:
    """A draw: the votes as a matrix with a column per annotator or slot, the features and the truth."""

    matrix: np.ndarray
    votes: Votes
    x: np.ndarray
    truth: np.ndarray
    seed: int

    def long(self) -> pd.DataFrame:
        rows, columns = np.nonzero(self.matrix != NONE)
        return pd.DataFrame({"task": rows, "worker": columns, "label": self.matrix[rows, columns]})


@dataclass(frozen=True)
class Answer:
    probs: np.ndarray
    quality: np.ndarray | None = None


def material(name: str, most: int | None, seed: int, folder: Path) -> Material:
    rng = np.random.default_rng(seed)
    with np.load(folder / f"{name}.npz") as found:
        x, truth = found["x"].astype(np.float32), found["true"].astype(int)
        if name == "labelme":
            matrix = found["answers"].astype(int)
            for row in matrix if most is not None else ():
                given = np.flatnonzero(row != NONE)
                row[rng.permutation(given)[most:]] = NONE
            return Material(matrix, Votes(matrix), x, truth, seed)
        counts = found["counts"].astype(int)
    slots = most or counts.sum(axis=1).max()
    matrix = np.full((len(counts), slots), NONE)
    for row, count in zip(matrix, counts, strict=True):
        drawn = rng.permutation(np.repeat(np.arange(len(count)), count))[:slots]
        row[: len(drawn)] = drawn
    drawn = np.stack([(matrix == k).sum(axis=1) for k in range(counts.shape[1])], axis=1)
    return Material(matrix, Votes.from_counts(drawn), x, truth, seed)


def majority(made: Material, _: dict[str, Any]) -> Answer:
    counts = made.votes.counts
    probs = (counts + 1 / counts.shape[1]) / (counts.sum(axis=1, keepdims=True) + 1)
    label = np.where(made.matrix == NONE, False, made.matrix == probs.argmax(axis=1)[:, None])
    return Answer(probs, label.sum(axis=0) / np.maximum((made.matrix != NONE).sum(axis=0), 1))


def dawid_skene(made: Material, _: dict[str, Any]) -> Answer:
    from crowdkit.aggregation import DawidSkene

    c = made.votes.n_classes
    model = DawidSkene(n_iter=100).fit(made.long())
    probs = model.probas_.reindex(index=range(len(made.x)), columns=range(c), fill_value=0).to_numpy()
    errors = model.errors_.reset_index()  # a row per worker and label given, a column per true class
    right = np.zeros((made.matrix.shape[1], c))
    for worker, label, *row in errors[["worker", "label", *range(c)]].itertuples(index=False):
        right[int(worker), int(label)] = row[int(label)]
    return Answer(probs, right @ probs.mean(axis=0))


def glad(made: Material, _: dict[str, Any]) -> Answer:
    from crowdkit.aggregation import GLAD

    model = GLAD(n_iter=GLAD_STEPS, silent=True).fit(made.long())
    probs = model.probas_.reindex(index=range(len(made.x)), columns=range(made.votes.n_classes), fill_value=0)
    quality = model.alphas_.reindex(range(made.matrix.shape[1])).to_numpy()
    return Answer(probs.to_numpy(), quality)


def heads_of_majority(made: Material, shared: dict[str, Any]) -> np.ndarray:
    if "heads" not in shared:
        rows = np.arange(len(made.x))
        with Progress(False) as silent:
            shared["heads"] = out_of_fold(
                made.x,
                Scale("whole", *moments(made.x)),
                made.votes.majority(),
                rows,
                made.votes.n_classes,
                device=torch.device("cpu"),
                seed=made.seed,
                progress=silent,
            ).said
    return np.asarray(shared["heads"])


def cleanlab(made: Material, pred_probs: np.ndarray) -> Answer:
    from cleanlab.multiannotator import get_label_quality_multiannotator

    table = pd.DataFrame(made.matrix, dtype="float").replace(NONE, np.nan)
    table = table.loc[:, table.notna().any()]
    found = get_label_quality_multiannotator(table, pred_probs, verbose=False, return_detailed_quality=False)
    label = found["label_quality"]["consensus_label"].to_numpy().astype(int)
    p = found["label_quality"]["consensus_quality_score"].to_numpy()
    c = pred_probs.shape[1]
    probs = np.repeat(((1 - p) / (c - 1))[:, None], c, axis=1)
    probs[np.arange(len(label)), label] = np.maximum(p, 1 / c + LEAST)
    quality = found["annotator_stats"]["annotator_quality"].reindex(range(made.matrix.shape[1]))
    return Answer(probs, quality.to_numpy())


def ours(made: Material, shared: dict[str, Any]) -> Consensus:
    if "ours" not in shared:
        shared["ours"] = consensus(made.votes, made.x, random_state=made.seed, device="cpu", progress=False)
    return shared["ours"]


def truelabel(made: Material, shared: dict[str, Any]) -> Answer:
    found = ours(made, shared)
    return Answer(found.probs, None if made.votes.anonymous else found.annotators.quality)


def votes_alone(made: Material, _: dict[str, Any]) -> Answer:
    found = Annotators.estimate(made.votes)
    return Answer(found.probs, None if made.votes.anonymous else found.quality)


COLUMNS: dict[str, Callable[[Material, dict[str, Any]], Answer]] = {
    "majority": majority,
    "Dawid–Skene": dawid_skene,
    "GLAD": glad,
    "cleanlab": lambda made, shared: cleanlab(made, heads_of_majority(made, shared)),
    "truelabel": truelabel,
    "cleanlab, our experts": lambda made, shared: cleanlab(made, np.asarray(ours(made, shared).expert_probs)),
    "experts alone": lambda made, shared: Answer(np.asarray(ours(made, shared).expert_probs)),
    "truelabel, votes alone": votes_alone,
}


def measured(answer: Answer, made: Material, full: np.ndarray, seconds: float) -> dict[str, float]:
    rows = np.arange(len(made.truth))
    out = {
        "accuracy": float(np.mean(answer.probs.argmax(axis=1) == made.truth)),
        "log_likelihood": float(np.log(np.maximum(answer.probs[rows, made.truth], LEAST)).mean()),
        "seconds": round(seconds, 1),
    }
    if answer.quality is not None and not made.votes.anonymous:
        given = full != NONE
        right = (given & (full == made.truth[:, None])).sum(axis=0) / np.maximum(given.sum(axis=0), 1)
        compared = (given.sum(axis=0) >= LEAST_LABELS) & np.isfinite(answer.quality)
        out["rank_correlation"] = float(spearmanr(answer.quality[compared], right[compared])[0])
    return out


def run(options: argparse.Namespace) -> None:
    stored = read_records(options.out)
    for seed in options.seeds:
        for name, most in CELLS:
            cell = f"{name} {most or 'all'}"
            record = stored.get((cell, seed), {"cell": cell, "seed": seed, "columns": {}})
            lacking = [column for column in options.only if column not in record["columns"] or column in options.redo]
            if cell not in options.cells or not lacking:
                continue
            made, shared = material(name, most, seed, options.data), dict[str, Any]()
            full = material(name, None, seed, options.data).matrix if name == "labelme" else made.matrix
            for column in lacking:
                began = time.perf_counter()
                answer = COLUMNS[column](made, shared)
                record["columns"][column] = measured(answer, made, full, time.perf_counter() - began)
                print(cell, seed, column, record["columns"][column], flush=True)
            append(options.out, record)
            stored[cell, seed] = record


def table(path: Path, measure: str, times: float, digits: int) -> str:
    stored = read_records(path)
    names = [name for name in COLUMNS if any(measure in r["columns"].get(name, {}) for r in stored.values())]
    lines = ["| votes | draws | " + " | ".join(names) + " |", "| --- " * (len(names) + 2) + "|"]
    for cell in dict.fromkeys(f"{name} {most or 'all'}" for name, most in CELLS):
        records = [r for (of, _), r in sorted(stored.items()) if of == cell]
        row = []
        for name in names:
            found = [times * r["columns"][name][measure] for r in records if measure in r["columns"].get(name, {})]
            fewer = f" ({len(found)} draw{'s' * (len(found) > 1)})" if len(found) < len(records) else ""
            row.append(f"{np.mean(found):.{digits}f} ± {np.std(found):.{digits}f}{fewer}" if found else "–")
        if any(value != "–" for value in row):
            lines.append(f"| {cell} | {len(records)} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with labelme.npz and cifar10h.npz")
    parser.add_argument("--out", type=Path, default=Path("annotators.jsonl"), help="what is in it is not run again")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--cells", nargs="+", default=[f"{name} {most or 'all'}" for name, most in CELLS])
    parser.add_argument("--only", nargs="+", default=list(COLUMNS), choices=list(COLUMNS), metavar="COLUMN")
    parser.add_argument("--redo", nargs="+", default=[], choices=list(COLUMNS), metavar="COLUMN")
    options = parser.parse_args()
    torch.set_num_threads(1)
    run(options)
    for title, measure, times, digits in (
        ("Accuracy, %", "accuracy", 100, 2),
        ("Mean log-likelihood of the true class", "log_likelihood", 1, 3),
        ("Rank correlation of the annotators' quality", "rank_correlation", 1, 2),
        ("Seconds", "seconds", 1, 0),
    ):
        print(f"\n{title} (mean and standard deviation over draws)\n\n{table(options.out, measure, times, digits)}")


if __name__ == "__main__":
    main()
