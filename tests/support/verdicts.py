"""How often `evaluate` agrees with the truth, on labels that people and rules got wrong, and on generated noise.

    python tests/support/verdicts.py --data REAL-NOISE --seeds 0 1 2 3 4

REAL-NOISE is a folder with the sets of docs/real-noise.md (.npz with `x`, `true`, and one or several `noisy…`). Of each
set 60 % of the instances (at most 2,000) are to train on and the rest (at most 2,000) is held out, with its noisy
labels. Classifiers: a network until it fits its labels ("memorised"), logistic regression ("linear"), and a decision
tree ("tree"). The calibrator is fitted without and with a hundred checked labels. Beside it a calibrator that does harm
where labels are wrong, the label of the nearest neighbour, is judged by the T of the first ("neighbour"). A verdict is
right if it has the sign of the true difference in accuracy on the held-out instances.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import truelabel as tl
from truelabel import evaluation, noise
from truelabel.calibrators import KNN

MOST = 2_000
CLASSIFIERS = {
    "memorised": lambda seed: MLPClassifier((128,), solver="lbfgs", max_iter=300, random_state=seed),
    "linear": lambda seed: LogisticRegression(max_iter=300),
    "tree": lambda seed: DecisionTreeClassifier(min_samples_leaf=5, random_state=seed),
}
GENERATED = ("sn:0.2", "sn:0.4", "asn:0.3", "idn:0.2", "idn:0.4")


def sets(folder: Path | None, seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield name, features, noisy labels and true ones."""
    x, y = load_digits(return_X_y=True)
    for name in GENERATED:
        made = noise.parse(name, dataset="mnist").corrupt(x / 16, y, seed=seed)
        yield f"digits {name}", x / 16, made.labels, y
    for path in sorted([] if folder is None else folder.glob("*.npz")):
        with np.load(path) as found:
            for part in (name for name in found.files if name.startswith("noisy")):
                yield (
                    path.stem + part.removeprefix("noisy").replace("_", "-"),
                    found["x"].astype(np.float64),
                    found[part].astype(np.int64),
                    found["true"].astype(np.int64),
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the sets of real labels; generated noise alone if none")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counted: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    with threadpool_limits(1):
        for seed in options.seeds:
            for name, x, noisy, truth in sets(options.data, seed):
                for row in measured(name, x, noisy, truth, seed):
                    print(*row, sep="\t", flush=True)
                    _, _, checked, evidence, verdict, unproven, actual, _, _, held = row
                    kind = "generated" if name.startswith("digits") else "real"
                    counted[kind, checked, evidence][f"{verdict}, is {actual}"] += 1
                    counted[kind, checked, evidence][f"(if T is believed) {unproven}, is {actual}"] += 1
                    counted[kind, checked, evidence][f"interval holds truth: {held}"] += 1
    for case, outcomes in sorted(counted.items()):
        print("\n" + " / ".join(case))
        for outcome, number in sorted(outcomes.items()):
            print(f"  {outcome}: {number}")


def measured(name: str, x: np.ndarray, noisy: np.ndarray, truth: np.ndarray, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield what `evaluate` says of each classifier, and what is true."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(x))
    cut = min(MOST, int(0.6 * len(x)))
    train, held = order[:cut], order[cut : cut + MOST]
    c = int(max(noisy.max(), truth.max())) + 1
    for kind, build in CLASSIFIERS.items():
        model = build(seed).fit(x[train], noisy[train])

        def said(rows: np.ndarray, model: object = model) -> tl.Predictions:
            probs = np.zeros((len(rows), c))
            probs[:, model.classes_] = model.predict_proba(x[rows])  # type: ignore[attr-defined]
            return tl.Predictions(probs, x[rows], labels=noisy[rows])

        for checked in ("none", "hundred"):
            known = None
            if checked == "hundred":
                known = np.full(len(train), -1)
                rows = rng.choice(len(train), 100, replace=False)
                known[rows] = truth[train][rows]
            npc = tl.NPC(random_state=seed, progress=False).fit(said(train), trusted=known)
            found = npc.evaluate(said(held))
            actual = npc.evaluate(said(held).replace(labels=truth[held]), labels_are_true=True)
            believed = believing(npc, said(held))
            real = actual.accuracy.difference.value
            gain = evaluation.Estimate(0, -1, 1) if believed.accuracy is None else believed.accuracy.difference
            evidence = str(npc.report_.noise_evidence)
            yield (
                *(name, kind, checked, evidence, found.verdict, believed.verdict, sign(real)),
                *(f"{100 * gain.value:+.1f} ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})", f"{100 * real:+.1f}"),
                str(gain.low <= real <= gain.high),
            )
            if evidence in evaluation.PROOFS:
                yield neighbour(
                    said(train), said(held), truth[held], npc, (name, kind, f"neighbour, {checked}", evidence)
                )


def neighbour(
    train: tl.Predictions, held: tl.Predictions, truth: np.ndarray, npc: tl.NPC, words: tuple[str, ...]
) -> tuple[str, ...]:
    """Return what `evaluate` says of the label of the nearest neighbour, by the T of another calibrator."""
    knn = KNN(k=1).fit(train)
    found = knn.evaluate(held, transition=npc.transition_matrix_)
    actual = knn.evaluate(held.replace(labels=truth), labels_are_true=True)
    real = actual.accuracy.difference.value
    gain = evaluation.Estimate(0, -1, 1) if found.accuracy is None else found.accuracy.difference
    shown = f"{100 * gain.value:+.1f} ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})"
    holds = str(gain.low <= real <= gain.high)
    return *words, found.verdict, found.verdict, sign(real), shown, f"{100 * real:+.1f}", holds


def sign(gain: float) -> str:
    return "better" if gain > 0 else "worse" if gain < 0 else "no different"


def believing(npc: tl.NPC, said: tl.Predictions) -> evaluation.Evaluation:
    """Evaluate as if whatever T was found were proven."""
    proofs, evaluation.PROOFS = evaluation.PROOFS, (*evaluation.PROOFS, "the surest instances")
    try:
        return npc.evaluate(said)
    finally:
        evaluation.PROOFS = proofs


if __name__ == "__main__":
    main()
