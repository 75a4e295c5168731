"""The scoreboard of real noise: mistakes that people and rules made, and strong classifiers beside weak features.

    python benchmarks/real_noise.py --data REAL-NOISE --root DATA --cache CASES --out real.jsonl --jobs 2
    python benchmarks/real_noise.py --out real.jsonl --summary             # print what is there, run nothing
    python benchmarks/real_noise.py … --cells 'labelme/*' --seeds 0 --redo npc

A row is DATA/FEATURES/WAY:

- hausa, yoruba (distant supervision), trec, semeval, youtube (rules), labelme (a crowd worker an image), cifar10h (one
  of about 51 people an image; -20 and -40: drawn from their votes, flattened until 20 and 40 % are wrong). --data has a
  file NAME.npz of each, with arrays x, xt (features), noisy, true (training labels) and yt (test labels).
- own: the set's features, which the classifier is trained on, too. pixels: principal components of the images, beside a
  classifier that was trained on better features. 2, 3, 6, 64: so many principal components of 3,000 images of MNIST
  (40 % symmetric noise, a CNN that fits 80 % of its labels) or of scikit-learn's digits (clean labels, an MLP); random:
  random numbers.
- memorised, stopped, out-of-fold, in-sample: how the classifier was trained, and its predictions made. no-hidden: its
  hidden layer is not given.

Columns: the classifier; a k-NN vote; the recipe's own heads; strong heads, the mean of five networks of 1024–256
units with dropout 0.3 after a fixed five epochs; logistic regression; cleanlab (filter by out-of-fold heads, heads
anew); the belief distilled by plain cross entropy; NPC's paper recipe; NPC; NPC with unlabelled test predictions; NPC
with a hundred random labels checked; NPC with the true T, the ceiling; a classifier trained on clean labels.

--out holds one line of JSON a cell and seed; an interrupted run goes on where it stopped. Five seeds take about an hour
and a half of processor time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from scoreboard.columns import Answer, Columns, one_thread
from scoreboard.real_cells import RealCell, real_case, real_cells
from scoreboard.real_columns import REAL_COLUMNS, REAL_TITLES
from scoreboard.real_summary import report
from scoreboard.store import Record, add, from_cache, lacking, line, read_records

Task = tuple[RealCell, int, list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the sets of real labels (.npz)")
    parser.add_argument("--root", type=Path, help="folder with MNIST and CIFAR-10 in torchvision's layout")
    parser.add_argument("--out", type=Path, default=Path("real.jsonl"), help="finished cells (JSON lines)")
    parser.add_argument("--cache", type=Path, help="folder for the cases: data and predictions, 0.4 GB a seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4], help="seeds (default 0 to 4)")
    parser.add_argument("--cells", nargs="+", default=["*"], metavar="PATTERN", help="cells to run, as in 'labelme/*'")
    parser.add_argument("--only", nargs="+", choices=REAL_TITLES, default=[*REAL_TITLES], help="columns to run")
    parser.add_argument("--redo", nargs="+", choices=REAL_TITLES, default=[], help="columns to run again")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each (default 1)")
    parser.add_argument("--summary", action="store_true", help="print the tables and run nothing")
    options = parser.parse_args()
    stored = read_records(options.out)
    wanted = [cell for cell in real_cells() if any(fnmatch(cell.name, pattern) for pattern in options.cells)]
    if not wanted:
        parser.error(f"no cell is named {' or '.join(options.cells)}; the names are as in labelme/own/memorised.")
    if not options.summary:
        if options.data is None:
            parser.error("--data is the folder with the sets of real labels; --summary needs none.")
        for record in run_all(groups(wanted, options, stored), options):
            print(line(add(stored, options.out, record)), flush=True)
    names = {cell.name for cell in wanted}
    print(report([record for (name, seed), record in stored.items() if name in names and seed in options.seeds]))


def groups(wanted: list[RealCell], options: argparse.Namespace, stored: dict[Any, Record]) -> list[list[Task]]:
    """Return what is left to do; cells that share features and labels are together, to share work."""
    found: dict[tuple[Any, ...], list[Task]] = {}
    for seed in options.seeds:
        for cell in wanted:
            columns = lacking(stored, (cell.name, seed), REAL_TITLES, options)
            if columns:
                found.setdefault((*cell.shared, seed), []).append((cell, seed, columns))
    return list(found.values())


def run_all(left: list[list[Task]], options: argparse.Namespace) -> Iterator[Record]:
    """Run the groups, in processes of their own if there are to be several."""
    where = options.data, options.root, options.cache
    if options.jobs == 1:
        one_thread()
        for group in left:
            yield from run_group(group, *where)
        return
    with ProcessPoolExecutor(options.jobs, initializer=one_thread) as pool:
        for future in as_completed([pool.submit(run_group, group, *where) for group in left]):
            yield from future.result()


def run_group(group: list[Task], data: Path, root: Path | None, cache: Path | None) -> list[Record]:
    columns = Columns()
    return [run(task, columns, data, root, cache) for task in group]


def run(task: Task, columns: Columns, data: Path, root: Path | None, cache: Path | None) -> Record:
    """Make one case and measure the columns on it."""
    cell, seed, wanted = task
    began = time.perf_counter()
    made = from_cache(cache, cell, seed, lambda: real_case(cell, seed, data, root))
    results: dict[str, dict[str, Any]] = {}
    for name in wanted:
        answer: Answer = _column(name, columns)(made)
        results[name] = answer.measured(made.truth) | {"right": _packed(answer.probs.argmax(axis=1) == made.truth)}
    seconds = round(time.perf_counter() - began, 1)
    return {"cell": cell.name, "seed": seed, "columns": results, "facts": made.facts, "seconds": seconds}


def _column(name: str, columns: Columns) -> Callable[[Any], Answer]:
    if name in REAL_COLUMNS:
        return lambda made: REAL_COLUMNS[name](columns, made)
    return lambda made: columns.answer(name, made)


def _packed(right: np.ndarray) -> str:
    """Return which test instances are right, eight in two digits, for paired tests."""
    return np.packbits(right).tobytes().hex()


if __name__ == "__main__":
    main()
