"""The audit: does its 90 % interval hold the true number of wrong labels, and how long is it?

    python benchmarks/audit.py --data REAL-NOISE --cache AUDITS --out audit.jsonl
    python benchmarks/audit.py --out audit.jsonl --summary                 # print what is there, run nothing
    python benchmarks/audit.py … --verdicts 40                             # all that a verdict says, too: slower

--data has a file NAME.npz of each real set, as in `real_noise.py`. p_wrong is what `truelabel.labels.examine` makes of
out-of-fold predictions of logistic regression (kept in --cache), and what no model should say: one number for all
labels, random numbers, and the model's upside down. Of each, 200 audits of 100 labels; the answers are the true
classes. Nothing in the audit's recipe sees them otherwise.

Columns: the average precision of p_wrong; how often the interval holds the true number; its mean width by that of the
exact (Clopper–Pearson) interval of a plain random sample of the same size; what that ratio is at best, if the truth
chose how many to draw from each stratum and the bounds cost nothing; how often the plain sample's interval holds it.

With --verdicts: how often the intervals of the classes, of the precision at each cut-off and of the gain of corrections
hold the truth; in how many audits a correction is called safe, and in how many of all audits one is that is not.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta, hypergeom
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from scoreboard.columns import one_thread
from scoreboard.real_cells import SETS
from truelabel import Predictions
from truelabel.labels import Audit, audit, examine

KINDS = ("model", "constant", "random", "inverted")
LEVEL = 0.9


class Case(NamedTuple):
    """Given and true labels, and p(y | x, ỹ)."""

    given: np.ndarray
    truth: np.ndarray
    probs: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the sets of real labels (.npz)")
    parser.add_argument("--cache", type=Path, default=Path("audits"), help="folder for what the model believes")
    parser.add_argument("--out", type=Path, default=Path("audit.jsonl"), help="finished cells (JSON lines)")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--audits", type=int, default=200, help="audits a cell (default 200)")
    parser.add_argument("--sample", type=int, default=100, help="labels an audit (default 100)")
    parser.add_argument("--verdicts", type=int, default=0, help="audits a cell whose whole verdict is measured")
    parser.add_argument("--summary", action="store_true", help="print the table and run nothing")
    options = parser.parse_args()
    if not options.summary:
        if options.data is None:
            parser.error("--data is the folder with the sets of real labels; --summary needs none.")
        one_thread()
        for name in options.sets:
            case = cached(name, options.data, options.cache)
            for kind in options.kinds:
                record = run(name, kind, case, options)
                with options.out.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(_row(record), flush=True)
    print(report(options.out))


def cached(name: str, data: Path, cache: Path) -> Case:
    """Return what the model believes of a set, from its file if there is one."""
    path = cache / f"{name}.npz"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.savez(path, **_believed(name, data)._asdict())
    with np.load(path) as stored:
        return Case(stored["given"], stored["truth"], stored["probs"])


def _believed(name: str, data: Path) -> Case:
    base, _, rate = name.partition("-")
    with np.load(data / f"{base}.npz") as stored:
        x, truth = stored["x"].astype(np.float32), stored["true"].astype(np.int64)
        given = stored[f"noisy_{rate}" if rate else "noisy"].astype(np.int64)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=300))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    probs = np.zeros((len(x), int(max(given.max(), truth.max())) + 1))
    probs[:, np.unique(given)] = cross_val_predict(model, x, given, cv=folds, method="predict_proba")
    found = examine(Predictions(probs, x, labels=given, out_of_sample=True), random_state=0, progress=False)
    return Case(given, truth, found.probs)


def run(name: str, kind: str, case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Run the audits of one cell."""
    began, n = time.perf_counter(), len(case.given)
    wrong = case.truth != case.given
    model = np.clip(1 - case.probs[np.arange(n), case.given].astype(np.float64), 0, 1)
    p_wrong = {
        "model": model,
        "constant": np.full(n, 0.5),
        "random": np.random.default_rng(0).random(n),
        "inverted": 1 - model,
    }[kind]
    parts = {"given": case.given, "suggested": case.probs.argmax(axis=1), "class_names": range(case.probs.shape[1])}
    totals, verdicts = [], []
    for seed in range(options.audits):
        made = audit(p_wrong, sample=options.sample, random_state=seed, **parts)
        made.answer(made.rows, case.truth[made.rows])
        totals.append(made.total(LEVEL))
        if seed < options.verdicts:
            verdicts.append(_judged(made.verdict(LEVEL), p_wrong, case, parts["suggested"]))
    held = [total.low <= wrong.sum() <= total.high for total in totals]
    plain = _plain_sample(n, int(wrong.sum()), min(options.sample, n))
    return {
        "set": name,
        "kind": kind,
        "n": n,
        "wrong": float(wrong.mean()),
        "precision": float(average_precision_score(wrong, p_wrong)),
        "audits": len(totals),
        "sample": options.sample,
        "covered": float(np.mean(held)),
        "bias": float(np.mean([total.number for total in totals]) - wrong.sum()) / n,
        "width": float(np.mean([total.high - total.low for total in totals])) / n,
        "plain": plain,
        "limit": _limit(made, wrong),
        "verdicts": _mean(verdicts),
        "seconds": round(time.perf_counter() - began, 1),
    }


def _limit(made: Audit, wrong: np.ndarray) -> float:
    """Return the standard error by a plain sample's, if strata and shares were those that the truth makes best.

    Strata by p_wrong, in number as many as the audit's and of equal size, from which draws are shared by the true
    spread in each: what no audit by this p_wrong can be much below.
    """
    order = np.argsort(made.p_wrong, kind="stable")
    parts = np.array_split(wrong[order], len(made.sizes))
    return float(sum(len(part) * part.std() for part in parts) / (len(wrong) * wrong.std()))


def _plain_sample(n: int, wrong: int, sample: int) -> dict[str, float]:
    """Return coverage and mean width of the exact interval of a plain random sample, over all samples there are."""
    number = np.arange(sample + 1)
    tail = (1 - LEVEL) / 2
    low = np.where(number > 0, beta.ppf(tail, np.maximum(number, 1), sample - number + 1), 0)
    high = np.where(number < sample, beta.isf(tail, number + 1, np.maximum(sample - number, 1)), 1)
    probs = hypergeom.pmf(number, n, wrong, sample)
    holds = (low <= wrong / n) & (wrong / n <= high)
    return {"covered": float(probs @ holds), "width": float(probs @ (high - low))}


def _judged(verdict: Any, p_wrong: np.ndarray, case: Case, suggested: np.ndarray) -> dict[str, float]:
    """Compare a verdict with the truth."""
    wrong = case.truth != case.given
    gain = (suggested == case.truth).astype(int) - (case.given == case.truth)
    classes = [count.low <= wrong[case.given == k].sum() <= count.high for k, count in verdict.wrong.by_class.items()]
    above = [(row.low, wrong[p_wrong >= row.cutoff].sum(), row.high) for row in verdict.precision.itertuples()]
    gains = [(row.low, gain[p_wrong >= row.cutoff].sum(), row.high) for row in verdict.corrections.itertuples()]
    unsafe = [row.safe and gain[p_wrong >= row.cutoff].sum() <= 0 for row in verdict.corrections.itertuples()]
    return {
        "classes": float(np.mean(classes)),
        "cut-offs": float(np.mean([low <= true <= high for low, true, high in above])),
        "gains": float(np.mean([low <= true <= high for low, true, high in gains])) if gains else float("nan"),
        "safe": float(verdict.safe is not None),
        "unsafe": float(any(unsafe)),
    }


def _mean(verdicts: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.nanmean([one[name] for one in verdicts])) for name in (verdicts[0] if verdicts else ())}


def _row(record: dict[str, Any]) -> str:
    cells = [
        record["set"],
        record["kind"],
        f"{record['wrong']:.1%}",
        f"{record['precision']:.2f}",
        f"{record['covered']:.1%}",
        f"{record['width']:.3f}",
        f"{record['width'] / record['plain']['width']:.2f}",
        f"{record['limit']:.2f}" if "limit" in record else "",
        f"{record['plain']['covered']:.1%}",
        *(f"{value:.0%}" for value in record["verdicts"].values()),
    ]
    return f"| {' | '.join(cells)} |"


def report(path: Path) -> str:
    """Return the table of all that is stored; of two records of a cell, the last."""
    stored: dict[tuple[str, str], dict[str, Any]] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        record = json.loads(line)
        stored[record["set"], record["kind"]] = record
    names = next(iter(stored.values()))["verdicts"] if stored else {}
    heads = ["set", "p_wrong", "wrong", "average precision", "covered", "width", "by a plain sample's"]
    heads += ["at best", "plain covered"]
    heads += list(names)
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    return "\n".join(lines + [_row(record) for record in stored.values()])


if __name__ == "__main__":
    main()
