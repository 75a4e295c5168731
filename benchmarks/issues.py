"""Wrong labels: how well they are found, corrected and counted, beside cleanlab, on noise whose truth is known.

    python benchmarks/issues.py --root DATA --features cifar10-features.npz --out issues.jsonl --cache CASES
    python benchmarks/issues.py --root DATA --out issues.jsonl --cells 'fashion-mnist/*' --seeds 0
    python benchmarks/issues.py --root DATA --out issues.jsonl --extra --cells 'fashion-mnist/*'
    python benchmarks/issues.py --out issues.jsonl --summary               # print what is there, run nothing

A cell is DATA/NOISE/mlp/WAY, made as in `accuracy.py` (--cache is the same folder): Fashion-MNIST (10,000 images, an
MLP on the pixels, PCA-64 as the label-free view) and CIFAR-10 (50,000, an MLP on the features of --features, which are
the view, too); symmetric noise of 20 and 40 %, asymmetric of 40 %, instance-dependent of 20 and 40 %; the MLP trained
until it fits 97 % of the noisy labels ("memorised") or stopped in time ("stopped"). Its predictions are in-sample.

Measured on the training set, whose true labels nothing else sees:

- the area under the precision–recall curve (average precision) of wrong labels: truelabel's p_wrong; cleanlab's scores
  of the same predictions; cleanlab's own protocol, scores of predictions out of fold (five heads on the view). Of
  cleanlab's five scores (self confidence, normalised margin, both also adjusted, confidence-weighted entropy) the table
  shows the one that the truth finds best in that cell.
- the error of the labels as given, as truelabel corrects them ("auto"), and where cleanlab's filter, by its own
  protocol, replaces what it flags by the predicted class.
- the estimated number of wrong labels with its 90 % interval, cleanlab's estimate by its own protocol, and the truth.

--extra adds what nothing is asked of: clean labels, and similarity-reflected noise of 40 %, which moves the borders
between classes, so that few labels are unlike their neighbours'.

--out holds one line of JSON a cell and seed, and what it holds is not run again, so that an interrupted run goes on
where it stopped. `pip install cleanlab` first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from scoreboard.cells import Cell, Sources, load
from scoreboard.columns import _heads, one_thread
from scoreboard.store import Record, append, cached_case, read_records
from truelabel.labels import LabelIssues, correct_labels, examine

DATA = ("fashion-mnist", "cifar10")
NOISES = ("sn:0.2", "sn:0.4", "asn:0.4", "idn:0.2", "idn:0.4")
EXTRA = ("clean", "sridn:0.4")
WAYS = ("memorised", "stopped")
ENOUGH = 0.8  # of the cells in which truelabel has to be at or above cleanlab
CLOSE = 0.2  # relative error of the number of wrong labels
SCORES = {
    "self confidence": ("self_confidence", False),
    "self confidence, adjusted": ("self_confidence", True),
    "margin": ("normalized_margin", False),
    "margin, adjusted": ("normalized_margin", True),
    "weighted entropy": ("confidence_weighted_entropy", False),
}


def cells(noises: tuple[str, ...] = NOISES) -> list[Cell]:
    """Every cell, in the order they are run."""
    return [Cell(data, noise, "mlp", way) for data, noise, way in product(DATA, noises, WAYS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, help="folder with the data in torchvision's layout")
    parser.add_argument("--features", type=Path, help="file of CIFAR-10 features (.npz)")
    parser.add_argument("--cache", type=Path, help="folder for the cases: data and predictions")
    parser.add_argument("--out", type=Path, default=Path("issues.jsonl"), help="finished cells (JSON lines)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="seeds (default 0 1 2)")
    parser.add_argument("--cells", nargs="+", default=["*"], metavar="PATTERN", help="cells to run, as in 'cifar10/*'")
    parser.add_argument("--extra", action="store_true", help="add cells that nothing is asked of")
    parser.add_argument("--summary", action="store_true", help="print the tables and run nothing")
    options = parser.parse_args()
    stored = read_records(options.out)
    every = cells() + (cells(EXTRA) if options.extra else [])
    wanted = [cell for cell in every if any(fnmatch(cell.name, pattern) for pattern in options.cells)]
    if not wanted:
        parser.error(f"no cell is named {' or '.join(options.cells)}.")
    if not options.summary:
        one_thread()
        for seed, cell in product(options.seeds, wanted):
            if (cell.name, seed) not in stored:
                record = run(cell, seed, Sources.of(options))
                stored[cell.name, seed] = record
                append(options.out, record)
                print(_line(record), flush=True)
    names = [cell.name for cell in wanted]
    print(report([record for (name, seed), record in stored.items() if name in names and seed in options.seeds], names))


def run(cell: Cell, seed: int, sources: Sources) -> Record:
    """Make one case, examine its labels, and compare with the truth."""
    case = cached_case(cell, seed, sources)
    truth, given = load(cell.data, seed, sources).train.labels, case.train.labels
    wrong = truth != given
    found, seconds = _timed(lambda: examine(case.train, random_state=seed, progress=False))
    held_out, peer_seconds = _timed(lambda: _heads(case, given)[: len(given)].astype(np.float64))
    held_out /= held_out.sum(axis=1, keepdims=True)
    peer = _cleanlab(given, held_out)
    counted = [
        bool(count.low <= np.sum(wrong[given == k]) <= count.high)
        for k, count in enumerate(found.wrong.by_class.values())
    ]
    same = np.asarray(case.train.probs, dtype=np.float64)
    return {
        "cell": cell.name,
        "seed": seed,
        "n": len(truth),
        "wrong": int(wrong.sum()),
        "fitted": case.facts["fitted"],
        "aupr": {
            "truelabel": _area(wrong, found.p_wrong),
            "cleanlab, same predictions": _areas(wrong, given, same / same.sum(axis=1, keepdims=True)),
            "cleanlab, own protocol": _areas(wrong, given, held_out),
        },
        "error": {
            "given": float(wrong.mean()),
            "truelabel": float(np.mean(correct_labels(found).labels != truth)),
            "cleanlab": float(np.mean(peer["labels"] != truth)),
        },
        "estimate": found.wrong.total.to_dict() | {"classes covered": float(np.mean(counted)), "cleanlab": peer["n"]},
        "flagged": _flagged(found, wrong),
        "seconds": {"truelabel": round(seconds, 1), "cleanlab, own protocol": round(peer_seconds, 1)},
    }


def _flagged(found: LabelIssues, wrong: np.ndarray) -> dict[str, float]:
    mask = found.mask()
    return {
        "precision": float(wrong[mask].mean()) if mask.any() else 1.0,
        "recall": float(mask[wrong].mean()) if wrong.any() else 1.0,
    }


def _area(wrong: np.ndarray, suspicion: np.ndarray) -> float:
    """Return the average precision; 0 where there is nothing to find."""
    return float(average_precision_score(wrong, suspicion)) if wrong.any() else 0.0


def _areas(wrong: np.ndarray, given: np.ndarray, probs: np.ndarray) -> dict[str, float]:
    from cleanlab.rank import get_label_quality_scores

    return {
        title: _area(wrong, -get_label_quality_scores(given, probs, method=method, adjust_pred_probs=adjusted))
        for title, (method, adjusted) in SCORES.items()
    }


def _cleanlab(given: np.ndarray, probs: np.ndarray) -> dict[str, Any]:
    """Correct and count as cleanlab does."""
    from cleanlab.count import num_label_issues
    from cleanlab.filter import find_label_issues

    flagged = find_label_issues(given, probs, n_jobs=1)
    return {"labels": np.where(flagged, probs.argmax(axis=1), given), "n": int(num_label_issues(given, probs))}


def report(records: list[Record], names: list[str]) -> str:
    """Return the tables, means over seeds, and what must hold of them."""
    by_cell = {name: [record for record in records if record["cell"] == name] for name in names}
    by_cell = {name: found for name, found in by_cell.items() if found}
    if not by_cell:
        return "No cell is finished yet."
    rows = {name: _means(found) for name, found in by_cell.items()}
    parts = ["## Area under precision–recall, %", _areas_table(rows), "## Corrected and counted", _labels_table(rows)]
    asked = {name: row for name, row in rows.items() if name.split("/")[1] not in EXTRA}
    return "\n\n".join([*parts, "## What must hold", *(["\n".join(_checks(asked, by_cell))] if asked else [])])


def _means(found: list[Record]) -> dict[str, float]:
    """Return the means of a cell over its seeds."""

    def mean(read: Callable[[Record], float]) -> float:
        return float(np.mean([read(record) for record in found]))

    return {
        "seeds": len(found),
        "fitted": mean(lambda r: r["fitted"]),
        "npc": mean(lambda r: r["aupr"]["truelabel"]),
        "same": mean(lambda r: max(r["aupr"]["cleanlab, same predictions"].values())),
        "own": mean(lambda r: max(r["aupr"]["cleanlab, own protocol"].values())),
        "given": mean(lambda r: r["error"]["given"]),
        "corrected": mean(lambda r: r["error"]["truelabel"]),
        "by cleanlab": mean(lambda r: r["error"]["cleanlab"]),
        "wrong": mean(lambda r: r["wrong"]),
        "number": mean(lambda r: r["estimate"]["number"]),
        "low": mean(lambda r: r["estimate"]["low"]),
        "high": mean(lambda r: r["estimate"]["high"]),
        "peer": mean(lambda r: r["estimate"]["cleanlab"]),
        "seconds": mean(lambda r: r["seconds"]["truelabel"]),
    }


def _areas_table(rows: dict[str, dict[str, float]]) -> str:
    heads = ["cell", "seeds", "fits", "cleanlab, same predictions", "cleanlab, own protocol", "truelabel", "seconds"]
    lines = [
        [
            name,
            f"{row['seeds']:.0f}",
            f"{row['fitted']:.0%}",
            *(f"{100 * row[column]:.1f}" for column in ("same", "own", "npc")),
            f"{row['seconds']:.0f}",
        ]
        for name, row in rows.items()
    ]
    return _table(heads, lines)


def _labels_table(rows: dict[str, dict[str, float]]) -> str:
    heads = ["cell", "error given, %", "corrected by cleanlab", "by truelabel", "wrong", "cleanlab's estimate"]
    lines = [
        [
            name,
            *(f"{100 * row[column]:.1f}" for column in ("given", "by cleanlab", "corrected")),
            f"{row['wrong']:,.0f}",
            f"{row['peer']:,.0f}",
            f"{row['number']:,.0f} ({row['low']:,.0f} to {row['high']:,.0f})",
        ]
        for name, row in rows.items()
    ]
    return _table([*heads, "truelabel's"], lines)


def _checks(rows: dict[str, dict[str, float]], by_cell: dict[str, list[Record]]) -> Iterator[str]:
    for way in WAYS:
        some = {name: row for name, row in rows.items() if name.endswith("/" + way)}
        if some:
            below = [name for name, row in some.items() if row["npc"] < max(row["same"], row["own"])]
            holds = len(some) - len(below) >= ENOUGH * len(some)
            yield _verdict(f"{way}: area at or above both of cleanlab's in 8 of 10 cells", below, len(some), holds)
    dirtier = [name for name, row in rows.items() if row["corrected"] >= row["given"]]
    yield _verdict("corrected labels are cleaner than the given ones", dirtier, len(rows))
    far = [name for name, row in rows.items() if abs(row["number"] - row["wrong"]) > CLOSE * row["wrong"]]
    yield _verdict("the estimated number is within 20 % of the true one", far, len(rows))
    found = [record for name in rows for record in by_cell[name]]
    held = np.mean([r["estimate"]["low"] <= r["wrong"] <= r["estimate"]["high"] for r in found])
    classes = np.mean([r["estimate"]["classes covered"] for r in found])
    yield f"- 90 % intervals hold the true number in {held:.0%} of {len(found)} runs, and for {classes:.0%} of classes"


def _verdict(what: str, violations: list[str], of: int, holds: bool | None = None) -> str:
    holds = not violations if holds is None else holds
    lines = [f"- {'holds' if holds else '**does not hold**'}: {what} ({of - len(violations)} of {of} cells)"]
    return "\n".join(lines + [f"    - {name}" for name in violations])


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows])


def _line(record: Record) -> str:
    areas = record["aupr"]
    peers = [max(areas[name].values()) for name in ("cleanlab, same predictions", "cleanlab, own protocol")]
    return (
        f"{record['cell']} seed {record['seed']}: area {100 * areas['truelabel']:.1f} "
        f"(cleanlab {100 * peers[0]:.1f}, {100 * peers[1]:.1f}), error {100 * record['error']['given']:.1f} -> "
        f"{100 * record['error']['truelabel']:.1f} %, {record['wrong']} wrong, "
        f"{record['estimate']['number']:.0f} estimated"
    )


def _timed(run: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    result = run()
    return result, time.process_time() - began


if __name__ == "__main__":
    main()
