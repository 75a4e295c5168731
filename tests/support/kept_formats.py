"""Write one small file of each kind, for later versions to read.

    python tests/support/kept_formats.py tests/compatibility/0.1.0

Run it with each release, into a folder of its own, and never again into an old one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from torch import nn

import truelabel as tl
from truelabel.lab import Cell, Record, Store
from truelabel.labels import examine, examined
from truelabel.review import Decisions

NAMES = ["ant", "bee", "cat"]


def small() -> nn.Module:
    """Return a network of a few bytes."""
    return nn.Sequential(nn.Flatten(), nn.Linear(4, 3))


def main(folder: Path) -> None:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 3
    noisy = np.where(rng.random(60) < 0.2, (truth + 1) % 3, truth)
    x = (6 * np.eye(3, 4)[truth] + rng.normal(size=(60, 4))).astype(np.float32)
    said = tl.Predictions(
        0.9 * np.eye(3)[noisy] + 0.1 / 3, x, labels=noisy, class_names=NAMES, feature_names=["a", "b", "c", "d"]
    )
    npc = tl.NPC(random_state=0, epochs=1, progress=False).fit(said)
    npc.save(folder / "npc.safetensors")
    said.to_parquet(folder / "predictions.parquet")
    kept = examined(said, examine(said, calibrator=npc, progress=False))
    kept.write(folder / "examined")
    with Decisions.of(kept, folder / "decisions.sqlite") as decided:
        decided.decide(3, 2, given=int(noisy[3]), suggested=0, tab="one")
        decided.decide(5, None, given=int(noisy[5]), suggested=1, tab="one")
    with Store(folder / "lab.sqlite") as store:
        store.add(Record(Cell(dataset="digits"), "ok", {"before": 0.5, "after": 0.75}, {"train": 1.5}, {"torch": "2"}))
    method = tl.methods.build("ce", epochs=1, batch_size=32)
    data = tl.datasets.arrays(x, noisy, x, truth)
    trained = method.fit(data.train, small(), seed=0, progress=False)
    trained.save(folder / "trained")
    expected = {
        "calibrated": npc.calibrate(said)[:5].tolist(),
        "p_wrong": kept.found.table.sort_index()["p_wrong"].iloc[:5].tolist(),
        "trained": trained.predict_proba(x[:5]).tolist(),
        "decided": {"3": 2, "5": None},
    }
    (folder / "expected.json").write_text(json.dumps(expected, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
