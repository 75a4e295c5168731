"""Estimates of the labels' transition matrix T: how far each is from the true one, and how long it takes.

    python benchmarks/transitions.py --root DATA --out transitions.jsonl     # about 20 minutes on one core
    python benchmarks/transitions.py --out transitions.jsonl --summary       # print the tables, run nothing
    python benchmarks/transitions.py --root DATA --out transitions.jsonl --summary --figures docs/images
    python benchmarks/transitions.py --dataset digits --subset 1000 --epochs 10 --seeds 0 --out trial.jsonl
    python benchmarks/transitions.py --root DATA --out causalnl.jsonl --only CausalNL   # one estimator alone

Every estimator sees the same instances with the same noisy labels, and an MLP on the pixels is the network of all:

- Forward, DualT, TVR, CausalNL: what the method estimates on its way to a classifier.
- NPC, on a classifier trained by cross entropy; both recipes. "T from H" is the class-wise average of T(x), worked out
  from H(x) by the paper's proposition; "counted" are the labels of each calibrated class, which T(x) is pulled towards;
  "estimated T" is the matrix that the default recipe's prior works with. The label-free features are PCA-64.
- identity: no noise at all.

The true T of instance-dependent noise is averaged over the instances of each class. --out holds one line of JSON an
estimate, and a later one replaces an earlier, so that an interrupted run goes on where it stopped. Time is processor
time. That of NPC is for fitting the calibrator and, in a column of its own, for T from H; the classifier that NPC
corrects has its own row. Every network is trained for --epochs, which is less than the methods' own defaults.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.decomposition import PCA

from truelabel import NPC, Predictions, datasets, methods, noise
from truelabel.analysis import draw_transitions, save_figure
from truelabel.datasets import Split
from truelabel.transitions import TransitionFromH, npc_transitions, transition_error

NOISES = ("sn:0.2", "asn:0.4", "idn:0.4")
METHODS = {"Forward": "forward", "DualT": "dualt", "TVR": "tvr", "CausalNL": "causalnl"}
RECIPES = {"paper": "NPC, paper recipe", "default": "NPC"}
CLASSIFIER, IDENTITY = "classifier", "identity"
SETTINGS = ("dataset", "subset", "epochs")
COMPONENTS = 64

Record = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, help="folder with the data in torchvision's layout")
    parser.add_argument("--out", type=Path, default=Path("transitions.jsonl"), help="finished estimates (JSON lines)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="seeds (default 0 1 2)")
    parser.add_argument("--dataset", default="fashion-mnist", help="fashion-mnist, mnist or digits")
    parser.add_argument("--subset", type=int, default=5000, help="training instances (default 5000)")
    parser.add_argument("--epochs", type=int, default=40, help="of every network; Forward and DualT train two")
    parser.add_argument("--noises", nargs="+", default=[*NOISES], help=f"noises (default {' '.join(NOISES)})")
    parser.add_argument("--only", nargs="+", choices=[*METHODS], help="these methods alone, and no NPC")
    parser.add_argument("--summary", action="store_true", help="print the tables and run nothing")
    parser.add_argument("--figures", type=Path, help="folder for heat maps of the first seed, one figure a noise")
    options = parser.parse_args()
    torch.set_num_threads(1)
    wanted = {name: getattr(options, name) for name in SETTINGS}
    stored = [record for record in _read(options.out) if wanted == {name: record[name] for name in SETTINGS}]
    records = {_key(record): record for record in stored}
    if not options.summary:
        for seed in options.seeds:
            for kind in options.noises:
                done = {estimator for noise, number, estimator in records if (noise, number) == (kind, seed)}
                done |= _left_out(options.only)
                for found in run(kind, seed, done, options):
                    record = wanted | {"noise": kind, "seed": seed} | found
                    records[_key(record)] = record
                    _append(options.out, record)
                    print(_line(record), flush=True)
    shown = [record for (kind, seed, _), record in records.items() if seed in options.seeds and kind in options.noises]
    print(summary(shown, options.noises))
    if options.figures is not None:
        for kind in options.noises:
            draw(shown, kind, options)


def run(kind: str, seed: int, done: set[str], options: argparse.Namespace) -> Iterator[Record]:
    """Make one noisy set and yield the estimates that are not there yet."""
    data = datasets.load(options.dataset, options.root, subset=options.subset, seed=seed)
    pixels = data.train.inputs.reshape(len(data.train), -1)
    clean = Split(pixels, data.train.labels, data.train.class_names)
    noisy = noise.parse(kind, dataset=options.dataset).corrupt(clean, seed=seed)
    split, truth = clean.with_labels(noisy), noisy.transition
    if IDENTITY not in done:
        yield _record(IDENTITY, np.eye(len(truth)), truth, 0.0)
    for title, name in METHODS.items():
        if title not in done:
            began = time.process_time()
            trained = methods.build(name, epochs=options.epochs).fit(split, "mlp", seed=seed, progress=False)
            yield _record(title, trained.transition, truth, time.process_time() - began)
    left = [recipe for recipe, title in RECIPES.items() if _last(title) not in done]
    if left:
        began = time.process_time()
        classifier = methods.CE(epochs=options.epochs).fit(split, "mlp", seed=seed, progress=False)
        seconds = time.process_time() - began
        features = _features(pixels, seed)
        said = classifier.predictions(split, out_of_sample=False).replace(features=features, inputs=None)
        if CLASSIFIER not in done:
            fitted = float(np.mean(said.hard == noisy.labels))
            yield {"estimator": CLASSIFIER, "seconds": round(seconds, 2), "fitted": fitted, "noise_rate": noisy.rate}
        for recipe in left:
            yield from of_npc(recipe, said, truth, clean.labels, seed)


def of_npc(recipe: Any, said: Predictions, truth: np.ndarray, classes: np.ndarray, seed: int) -> Iterator[Record]:
    """Fit NPC and yield every T that comes with it; the one from H last, whose record says that all are there."""
    began = time.process_time()
    npc = NPC(recipe, random_state=seed, progress=False).fit(said)
    seconds = time.process_time() - began
    found = TransitionFromH(random_state=seed, progress=False).fit(npc, said)
    facts = {
        "accuracy": float(np.mean(npc.predict(said) == classes)),
        "seconds_from_h": round(time.process_time() - began - seconds, 2),
        "conditioning": found.conditioning_.to_dict(),
    }
    name = RECIPES[recipe]
    for title, matrix in reversed(npc_transitions(npc, found, name).items()):
        from_h = title == _last(name)
        yield _record(title, matrix, truth, seconds) | (facts if from_h else {})


def summary(records: list[Record], kinds: list[str]) -> str:
    """Return Markdown tables of the errors, of the conditioning and of the times."""
    names = [name for name in _order(records) if name != CLASSIFIER]
    out = []
    for key, title, digits in (("squared", "Mean squared error of T", 4), ("absolute", "Mean absolute error of T", 3)):
        rows = [[name, *(_mean_sd(_values(records, name, kind, key), digits) for kind in kinds)] for name in names]
        out.append(_table(title, ["estimator", *kinds], rows))
    facts = ("condition", "determined", "residual")
    rows = []
    for name in names:
        if name.endswith("T from H"):
            found = {kind: _values(records, name, kind, "conditioning") for kind in kinds}
            rows += [[f"{name}: {fact}", *(_fact(found[kind], fact) for kind in kinds)] for fact in facts]
    out.append(_table("Conditioning of T from H (means over seeds)", ["", *kinds], rows))
    rows = []
    for name in _order(records):
        seconds = [_values(records, name, kind, "seconds") for kind in kinds]
        extra = [_values(records, name, kind, "seconds_from_h") for kind in kinds]
        spent = f"{np.mean(np.concatenate(seconds)):.1f}" if any(seconds) else "–"
        rows.append([name, spent, f"{np.mean(np.concatenate(extra)):.1f}" if any(extra) else "–"])
    out.append(_table("Processor seconds (means over noises and seeds)", ["", "fit", "T from H on top"], rows))
    return "\n\n".join(out)


def draw(records: list[Record], kind: str, options: argparse.Namespace) -> None:
    """Draw the matrices of the first seed, without the identity."""
    first = min(options.seeds)
    found = [r for r in records if (r["noise"], r["seed"]) == (kind, first) and "transition" in r]
    matrices = {r["estimator"]: np.array(r["transition"]) for r in found if r["estimator"] != IDENTITY}
    if not matrices:
        print(f"There is nothing of {kind} to draw.")
        return
    names = datasets.load(options.dataset, options.root, subset=options.subset, seed=first).class_names
    title = f"{options.dataset}, {options.subset:,} instances, {kind}"
    figure = draw_transitions(matrices, names, title, truth=np.array(found[0]["truth"]))
    paths = save_figure(figure, options.figures, f"transitions-{kind.partition(':')[0]}")
    print("Figure:", *paths)


def _left_out(only: list[str] | None) -> set[str]:
    """Return the estimators that need not be run where some methods alone are wanted."""
    if only is None:
        return set()
    return {IDENTITY, *METHODS, *map(_last, RECIPES.values())} - set(only)


def _last(recipe: str) -> str:
    """Return the name of the estimate that a recipe yields last."""
    return f"{recipe}, T from H"


def _features(pixels: np.ndarray, seed: int) -> np.ndarray:
    if pixels.shape[1] <= COMPONENTS:
        return pixels
    return PCA(COMPONENTS, svd_solver="randomized", random_state=seed).fit_transform(pixels).astype(np.float32)


def _record(name: str, estimate: Any, truth: np.ndarray, seconds: float) -> Record:
    error = transition_error(estimate, truth)
    return {
        "estimator": name,
        "squared": error.squared,
        "absolute": error.absolute,
        "seconds": round(seconds, 2),
        "transition": np.round(estimate, 5).tolist(),
        "truth": np.round(truth, 5).tolist(),
    }


def _key(record: Record) -> tuple[str, int, str]:
    return record["noise"], record["seed"], record["estimator"]


def _line(record: Record) -> str:
    error = f"mean squared error {record['squared']:.5f}, " if "squared" in record else ""
    return f"{record['noise']} seed {record['seed']} {record['estimator']}: {error}{record['seconds']} s"


def _order(records: list[Record]) -> list[str]:
    rank = [IDENTITY, *METHODS, CLASSIFIER]
    rank += [f"{name}, {what}" for name in RECIPES.values() for what in ("T from H", "counted", "estimated T")]
    return sorted({record["estimator"] for record in records}, key=rank.index)


def _values(records: list[Record], name: str, kind: str, key: str) -> list[Any]:
    return [r[key] for r in records if (r["estimator"], r["noise"]) == (name, kind) and key in r]


def _fact(found: list[dict[str, float]], fact: str) -> str:
    return f"{np.mean([each[fact] for each in found]):,.3g}" if found else "–"


def _mean_sd(values: list[float], digits: int) -> str:
    if not values:
        return "–"
    spread = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"


def _table(title: str, head: list[str], rows: list[list[str]]) -> str:
    lines = [f"**{title}**", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _read(path: Path) -> list[Record]:
    """Read the records; a line that an interruption cut short is left out."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")
    return [json.loads(line) for line in lines if line.endswith("}")]


def _append(path: Path, record: Record) -> None:
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
