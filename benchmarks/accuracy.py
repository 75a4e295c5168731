"""The scoreboard: what NPC makes of a classifier's predictions, beside what else one could do.

    python benchmarks/accuracy.py --root DATA --features cifar10-features.npz --out scoreboard.jsonl --jobs 2
    python benchmarks/accuracy.py --out scoreboard.jsonl --summary         # print what is there, run nothing
    python benchmarks/accuracy.py … --cells 'fashion-mnist/*/stopped' --seeds 0
    python benchmarks/accuracy.py … --cache CASES --redo npc               # after a change to the default recipe

A row (a cell) is DATA/NOISE/NETWORK/WAY:

- mnist, fashion-mnist: 10,000 images; an MLP on the pixels, and PCA-64 as the label-free features.
- cifar10: all 50,000; an MLP on the features of --features (arrays train and test in CIFAR-10's order), which are the
  label-free features, too.
- digits, made: 1,000 of scikit-learn's digits, 3,000 points of its make_classification, as tables.
- cnn-small is the paper's CNN (one seed); cnn-tiny a small one whose only features are PCA-8: a strong classifier with
  weak features, and its predictions on the training set are made in-sample or out-of-fold.
- memorised: cross entropy until 97 % of the noisy labels are fitted; stopped: early stopping on held-out noisy labels.

A column is a way to predict the test set: the classifier; a k-NN vote; the ensemble of out-of-fold heads; temperature
scaling by the noisy labels; NPC's paper recipe; NPC; cleanlab (out-of-fold heads, filter, heads anew on the rest;
`pip install cleanlab`); and the classifier trained on clean labels. Each gets the noisy labels and nothing else.

--out holds one line of JSON a cell and seed, and a later line replaces an earlier one, so that an interrupted run goes
on where it stopped. With --cache the trained classifiers' predictions are kept as well, so that --redo repeats a column
without training them again. Three seeds take about three hours of processor time, an hour and a half on two cores. At
the end come the tables, and what must hold of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from scoreboard.cells import Cell, Sources, cells
from scoreboard.columns import TITLES, Columns, one_thread
from scoreboard.store import Key, Record, add, cached_case, lacking, line, read_records
from scoreboard.summary import report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, help="folder with the data in torchvision's layout")
    parser.add_argument("--features", type=Path, help="file of CIFAR-10 features (.npz)")
    parser.add_argument("--out", type=Path, default=Path("scoreboard.jsonl"), help="finished cells (JSON lines)")
    parser.add_argument("--cache", type=Path, help="folder for the cases: data and predictions, 2 GB a seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="seeds (default 0 1 2)")
    parser.add_argument("--cells", nargs="+", default=["*"], metavar="PATTERN", help="cells to run, as in 'mnist/*'")
    parser.add_argument("--only", nargs="+", choices=TITLES, default=[*TITLES], help="columns to run")
    parser.add_argument("--redo", nargs="+", choices=TITLES, default=[], help="columns to run again where they exist")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each (default 1)")
    parser.add_argument("--list", action="store_true", help="print the names of the cells and what is left to do")
    parser.add_argument("--summary", action="store_true", help="print the tables and run nothing")
    options = parser.parse_args()
    stored = read_records(options.out)
    wanted = [cell for cell in cells() if any(fnmatch(cell.name, pattern) for pattern in options.cells)]
    if not wanted:
        parser.error(f"no cell is named {' or '.join(options.cells)}; --list prints the names.")
    left = groups(wanted, options, stored)
    if options.list:
        for group in left:
            print("\n".join(f"{cell.name} seed {seed}: {' '.join(columns)}" for cell, seed, columns in group))
        return
    if not options.summary:
        for record in run_all(left, Sources.of(options), options.jobs):
            print(line(add(stored, options.out, record)), flush=True)
    names = {cell.name for cell in wanted}
    print(report([record for (name, seed), record in stored.items() if name in names and seed in options.seeds]))


Task = tuple[Cell, int, list[str]]


def groups(wanted: list[Cell], options: argparse.Namespace, stored: dict[Key, Record]) -> list[list[Task]]:
    """Return what is left to do; cells that differ in the classifier's training alone are together, to share work."""
    found: dict[tuple[Any, ...], list[Task]] = {}
    for seed in options.seeds:
        for cell in wanted:
            columns = lacking(stored, (cell.name, seed), TITLES, options)
            if columns and (seed == 0 or not cell.one_seed):
                found.setdefault((cell.data, cell.noise, cell.network, seed), []).append((cell, seed, columns))
    return list(found.values())


def run_all(left: list[list[Task]], sources: Sources, jobs: int) -> Iterator[Record]:
    """Run the groups, in processes of their own if there are to be several."""
    if jobs == 1:
        one_thread()
        for group in left:
            for task in group:
                yield run(task, sources)
        return
    with ProcessPoolExecutor(jobs, initializer=one_thread) as pool:
        for future in as_completed([pool.submit(run_group, group, sources) for group in left]):
            yield from future.result()


def run_group(group: list[Task], sources: Sources) -> list[Record]:
    return [run(task, sources) for task in group]


_columns = Columns()


def run(task: Task, sources: Sources) -> Record:
    """Make one case and measure the columns on it."""
    cell, seed, columns = task
    began = time.perf_counter()
    made = cached_case(cell, seed, sources)
    results: dict[str, dict[str, Any]] = {}
    for column in columns:
        results[column] = _columns.answer(column, made).measured(made.truth)
    seconds = round(time.perf_counter() - began, 1)
    return {"cell": cell.name, "seed": seed, "columns": results, "facts": made.facts, "seconds": seconds}


if __name__ == "__main__":
    main()
