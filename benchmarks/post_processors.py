"""Every post-processor on the same classifiers: test accuracy, as a Markdown table.

    python benchmarks/post_processors.py --root DATA --out post_processors.jsonl
    python benchmarks/post_processors.py --out post_processors.jsonl --summary      # print what is there, run nothing
    python benchmarks/post_processors.py … --seeds 1                                # one seed, beside another process

Fashion-MNIST, 5,000 training images with 20 % symmetric or 40 % instance-dependent label noise, the 10,000 test images
with their true labels. The classifiers are cnn-tiny (a small CNN; the paper's takes twenty times as long), trained by
cross entropy for 60 epochs or by Co-teaching for 40, in batches of 128: about a minute on one core, half a minute more
for Co-teaching, which estimates the noise rate. All settings but the epochs are the defaults; no rate of noise is given
to anything. What each post-processor gets:

- k-NN, the paper's: the classifier's hidden layer and its predictions, of which the confident ones vote.
- k-NN, RoG: the classifier's hidden layer and the noisy labels. "+ view": k-NN on the label-free view in its place, and
  RoG on the hidden layer and the view; the view is PCA-64 of the pixels.
- LRT*, MLC*, CausalNL*: the pixels and the classifier's predictions; a new cnn-tiny, 30 epochs. MLC* is also told the
  true labels of a tenth of the training images: it uses clean labels, and the table marks it.
- NPC, paper recipe: hidden layer and predictions. NPC: the view, the predictions and the noisy labels.

--out holds one line of JSON a result, and what it holds is not run again, so that an interrupted run goes on where it
stopped (the classifier is trained again for what its cell still lacks).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.decomposition import PCA

from truelabel import Predictions, calibrators, datasets, methods, noise
from truelabel.calibrators import Calibrator
from truelabel.datasets.stratified import stratified_rows

NOISES = {"sn:0.2": "SN 20 %", "idn:0.4": "IDN 40 %"}
CLASSIFIERS = {"ce": ("CE", 60), "coteaching": ("Co-teaching", 40)}  # title and epochs
NETWORK = "cnn-tiny"
RETRAINED_EPOCHS = 30
COMPONENTS = 64
TRUSTED = 0.1  # share of the training set whose true labels MLC* is told
TITLES = {
    "classifier": "classifier",
    "knn-paper": "k-NN, the paper's",
    "knn": "k-NN of the labels",
    "knn-view": "k-NN of the labels, on the view",
    "rog": "RoG",
    "rog-view": "RoG, + view",
    "lrt": "LRT*",
    "mlc": "MLC* (uses clean labels)",
    "causalnl": "CausalNL*",
    "npc-paper": "NPC, paper recipe",
    "npc": "NPC",
}

Record = dict[str, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A classifier's predictions with all that a post-processor may be given, and the test labels that none is."""

    train: Predictions
    test: Predictions
    trusted: Predictions
    truth: np.ndarray
    seed: int
    epochs: int
    facts: dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, help="folder with the data in torchvision's layout")
    parser.add_argument("--out", type=Path, default=Path("post_processors.jsonl"), help="finished results (JSON lines)")
    parser.add_argument("--dataset", default="fashion-mnist", help="a name of `truelabel datasets`")
    parser.add_argument("--subset", type=int, default=5000, help="training instances (default 5000)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="seeds (default 0 1 2)")
    parser.add_argument("--noises", nargs="+", default=[*NOISES], help="as in 'idn:0.4'")
    parser.add_argument("--classifiers", nargs="+", default=[*CLASSIFIERS], choices=CLASSIFIERS)
    parser.add_argument("--only", nargs="+", default=[*TITLES], choices=TITLES, help="post-processors to run")
    parser.add_argument("--short", type=float, default=1.0, help="share of all epochs, for a trial (default 1)")
    parser.add_argument("--summary", action="store_true", help="print the table and run nothing")
    options = parser.parse_args()
    torch.set_num_threads(1)
    stored = read(options.out)
    if not options.summary:
        run(options, stored)
    print(table(options, stored))


def run(options: argparse.Namespace, stored: dict[Key, Record]) -> None:
    """Run what is not stored yet, and store it, a line each."""
    for seed, kind, classifier in product(options.seeds, options.noises, options.classifiers):
        cell = {
            "dataset": options.dataset,
            "subset": options.subset,
            "noise": kind,
            "classifier": classifier,
            "seed": seed,
            "short": options.short,
        }
        left = [name for name in options.only if key(cell | {"post": name}) not in stored]
        for record in results(cell, left, options.root):
            stored[key(record)] = record
            append(options.out, record)
            print(json.dumps(record), flush=True)


def results(cell: dict[str, Any], names: list[str], root: Path | None) -> Iterator[Record]:
    """Train the classifier of a cell, if anything is asked of it, and yield a record for each post-processor."""
    if names:
        made, seconds = timed(lambda: case(cell, root))
        for name in names:
            yield cell | {"post": name} | measure(name, made, seconds)


def case(cell: dict[str, Any], root: Path | None) -> Case:
    """Train a classifier on noisy labels and collect what is known of its instances."""
    seed = cell["seed"]
    data = datasets.load(cell["dataset"], root=root, subset=cell["subset"], seed=seed)
    noisy = noise.parse(cell["noise"], dataset=cell["dataset"]).corrupt(data.train, seed=seed)
    split = data.train.with_labels(noisy)
    epochs = round(CLASSIFIERS[cell["classifier"]][1] * cell["short"])
    trained = methods.build(cell["classifier"], epochs=max(1, epochs)).fit(split, NETWORK, seed=seed, progress=False)
    flat = [part.inputs.reshape(len(part), -1) for part in (split, data.test)]
    pca = PCA(min(COMPONENTS, *flat[0].shape), svd_solver="randomized", random_state=seed).fit(flat[0])
    train, test = (
        trained.predictions(part).replace(features=pca.transform(pixels).astype(np.float32))
        for part, pixels in zip((split, data.test), flat, strict=True)
    )
    known = stratified_rows(data.train.labels, max(2, round(TRUSTED * len(split))), seed)
    facts = {"noise_rate": float(noisy.rate), "fitted": float(np.mean(train.hard == noisy.labels))}
    trusted = train.replace(labels=data.train.labels)[known]
    retrained = max(1, round(RETRAINED_EPOCHS * cell["short"]))
    return Case(train, test.replace(labels=None), trusted, data.test.labels, seed, retrained, facts)


def build(name: str, made: Case) -> Calibrator:
    """Return the post-processor of a row."""
    seeded: dict[str, Any] = {"random_state": made.seed}
    retrained = seeded | {"network": NETWORK, "epochs": made.epochs, "progress": False}
    settings: dict[str, dict[str, Any]] = {
        "knn-paper": seeded,
        "rog": seeded | {"layers": ["hidden"]},
        "rog-view": seeded,
        "lrt": retrained,
        "mlc": retrained | {"trusted": made.trusted},
        "causalnl": retrained,
        "npc-paper": seeded | {"progress": False},
        "npc": seeded | {"progress": False},
    }
    title = "identity" if name == "classifier" else name.removesuffix("-view")
    return calibrators.build(title, **settings.get(name, {}))


def measure(name: str, made: Case, training_seconds: float) -> Record:
    """Fit one post-processor and measure it on the true test labels."""
    train, test = made.train, made.test
    if name == "knn":  # neighbours in the classifier's own layer
        train, test = (said.replace(features=said.hidden) for said in (train, test))
    predicted, seconds = timed(lambda: build(name, made).fit(train).predict(test))
    accuracy = float(np.mean(predicted == made.truth))
    if name == "classifier":
        return {"accuracy": accuracy, "seconds": round(training_seconds, 1), **made.facts}
    return {"accuracy": accuracy, "seconds": round(seconds, 1)}


def table(options: argparse.Namespace, stored: dict[Key, Record]) -> str:
    """Return mean ± standard deviation of the test accuracy over the seeds, and processor seconds, for each row."""
    columns = [(kind, classifier) for kind in options.noises for classifier in options.classifiers]
    head = [f"{NOISES.get(kind, kind)}, {CLASSIFIERS[classifier][0]}" for kind, classifier in columns]
    lines = ["| | " + " | ".join([*head, "seconds"]) + " |", "|" + "---|" * (len(head) + 2)]
    for name in options.only:
        found = [
            [
                record
                for record in stored.values()
                if all(record[part] == getattr(options, part) for part in ("dataset", "subset", "short"))
                and (record["post"], record["noise"], record["classifier"]) == (name, kind, classifier)
                and record["seed"] in options.seeds
            ]
            for kind, classifier in columns
        ]
        values = [mean_sd([100 * record["accuracy"] for record in records]) for records in found]
        seconds = [record["seconds"] for records in found for record in records]
        lines.append(f"| {TITLES[name]} | {' | '.join(values)} | {np.mean(seconds) if seconds else 0:.0f} |")
    return "\n".join(lines)


def mean_sd(values: list[float]) -> str:
    """Return what stands in a cell: nothing, one value, or mean ± standard deviation."""
    if not values:
        return "–"
    return f"{np.mean(values):.1f}" + (f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else "")


def key(record: dict[str, Any]) -> Key:
    return tuple(record[part] for part in ("dataset", "subset", "noise", "classifier", "seed", "short", "post"))


def read(path: Path) -> dict[Key, Record]:
    """Return the stored results; a line that was cut short is as good as none."""
    stored: dict[Key, Record] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        stored[key(record)] = record
    return stored


def append(path: Path, record: Record) -> None:
    """Add a record as one line, on a line of its own even after one that was cut short."""
    with path.open("a+b") as file:
        file.seek(max(0, file.tell() - 1))
        if file.read(1) not in (b"", b"\n"):
            file.write(b"\n")
        file.write(json.dumps(record).encode() + b"\n")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what `work` returns, and its processor seconds."""
    began = time.process_time()
    result = work()
    return result, time.process_time() - began


if __name__ == "__main__":
    main()
