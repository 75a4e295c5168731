"""Every training method on noisy digits: test accuracy after the last epoch, as a Markdown table.

    python benchmarks/methods.py --out methods.json

Cells that the file holds already are not run again, so that an interrupted table goes on where it stopped. A method
that uses clean labels is told those of a tenth of the training set.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import torch

from truelabel import datasets, methods, noise
from truelabel.datasets.stratified import stratified_rows

NOISES = {"symmetric": noise.Symmetric, "instance-dependent": noise.InstanceDependent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=100, help="by then CE has memorised")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=0.4, help="noise rate")
    parser.add_argument("--methods", nargs="+", default=[*methods.NAMES], choices=methods.NAMES)
    parser.add_argument("--network", default="mlp")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON file of finished cells")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    cells: dict[str, dict[str, float]] = {}
    if options.out is not None and options.out.exists():
        cells = json.loads(options.out.read_text())
    for seed in range(options.seeds):
        for kind in NOISES:
            for method in options.methods:
                key = _key(options, kind, method, seed)
                if key not in cells:
                    cells[key] = run(kind, method, seed, options)
                    print(key, cells[key], flush=True)
                    if options.out is not None:
                        _write(options.out, cells)
    print(table(cells, options))


def run(kind: str, method: str, seed: int, options: argparse.Namespace) -> dict[str, float]:
    """Train one method on one noisy set and measure it on clean test labels."""
    data = datasets.load("digits")
    noisy = NOISES[kind](options.rate).corrupt(data.train, seed=seed)
    began = time.perf_counter()
    way = methods.build(method, epochs=options.epochs, batch_size=options.batch_size)
    known = stratified_rows(data.train.labels, len(data.train) // 10, seed)
    clean = {"trusted": data.train[known]} if way.uses_clean_labels else {}
    trained = way.fit(data.train.with_labels(noisy), options.network, seed=seed, **clean)
    seconds = time.perf_counter() - began
    right = trained.predict_proba(data.test.inputs).argmax(axis=1) == data.test.labels
    memorised = trained.predict_proba(data.train.inputs).argmax(axis=1) == noisy.labels
    return {
        "accuracy": float(right.mean()),
        "fits_wrong_labels": float(memorised[noisy.flipped].mean()),
        "seconds": round(seconds, 1),
    }


def table(cells: dict[str, dict[str, float]], options: argparse.Namespace) -> str:
    """Return test accuracy, and the share of wrong training labels that is reproduced, for every method."""
    head = ["method", *NOISES, *(f"wrong labels fitted, {kind}" for kind in NOISES), "seconds a fit"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for method in options.methods:
        found = {kind: [cells[_key(options, kind, method, seed)] for seed in range(options.seeds)] for kind in NOISES}
        row = [f"{method} (uses clean labels)" if methods.build(method).uses_clean_labels else method]
        row += [_mean_sd([100 * cell["accuracy"] for cell in found[kind]]) for kind in NOISES]
        row += [f"{100 * np.mean([cell['fits_wrong_labels'] for cell in found[kind]]):.0f} %" for kind in NOISES]
        row += [f"{np.mean([cell['seconds'] for kind in NOISES for cell in found[kind]]):.0f}"]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def _mean_sd(values: list[float]) -> str:
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1) if len(values) > 1 else 0:.1f}"


def _key(options: argparse.Namespace, kind: str, method: str, seed: int) -> str:
    return f"{kind}:{options.rate} {method} {options.network} {options.epochs}x{options.batch_size} seed {seed}"


def _write(path: Path, cells: dict[str, dict[str, float]]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(cells, indent=1))
    os.replace(partial, path)


if __name__ == "__main__":
    main()
