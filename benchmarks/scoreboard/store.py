"""What the scoreboard keeps on disk: finished cells, and cases with their trained classifiers' predictions."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from scoreboard.cells import Case, Cell, Sources, case
from truelabel import Predictions

Record = dict[str, Any]
Key = tuple[str, int]


def read_records(path: Path) -> dict[Key, Record]:
    """Return the stored records; a line that was cut short is as good as none."""
    stored: dict[Key, Record] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        stored[record["cell"], record["seed"]] = record
    return stored


def lacking(stored: dict[Key, Record], key: Key, names: Iterable[str], options: argparse.Namespace) -> list[str]:
    """Return the columns that a record lacks or that --redo wants again."""
    have = stored.get(key, {"columns": {}})["columns"]
    return [name for name in names if name in options.redo or (name in options.only and name not in have)]


def add(stored: dict[Key, Record], path: Path, record: Record) -> Record:
    """Join a record with what is stored of its cell and seed, store it and write it as one line; return it."""
    key = record["cell"], record["seed"]
    if key in stored:
        record["columns"] = stored[key]["columns"] | record["columns"]
    stored[key] = record
    append(path, record)
    return record


def append(path: Path, record: Record) -> None:
    """Write a record as one line."""
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def line(record: Record) -> str:
    """Return a record's accuracies in one line."""
    values = ", ".join(f"{name} {100 * found['accuracy']:.1f}" for name, found in record["columns"].items())
    return f"{record['cell']} seed {record['seed']}: {values} ({record['seconds']} s)"


def cached_case(cell: Cell, seed: int, sources: Sources) -> Case:
    """Return a case of the scoreboard of generated noise, from its file if there is one."""
    return from_cache(sources.cache, cell, seed, lambda: case(cell, seed, sources))


def from_cache(folder: Path | None, cell: Any, seed: int, make: Callable[[], Case]) -> Case:
    """Return the case from its file, or make it and write the file, where there is a folder for cases."""
    if folder is None:
        return make()
    path = folder / f"{cell.name.replace('/', ' ').replace(':', '')} {seed}.npz"
    if path.exists():
        return _read(path, cell, seed)
    made = make()
    _write(path, made)
    return made


def _write(path: Path, made: Case) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial.npz")
    parts = {
        f"{name}_{part}": value
        for name, said in (("train", made.train), ("test", made.test))
        for part, value in (("probs", said.probs), ("features", said.features), ("hidden", said.hidden))
        if value is not None
    }
    if made.true is not None:
        parts["true"] = made.true
    np.savez(
        partial,
        **parts,
        labels=made.train.labels,
        out_of_sample=made.train.out_of_sample,
        truth=made.truth,
        clean_probs=made.clean_probs,
        scale=made.scale,
        facts=json.dumps(made.facts),
    )
    partial.replace(path)


def _read(path: Path, cell: Any, seed: int) -> Case:
    with np.load(path) as found:
        parts = dict(found)
        train, test = (
            Predictions(parts[f"{name}_probs"], parts[f"{name}_features"], hidden=parts.get(f"{name}_hidden"))
            for name in ("train", "test")
        )
        return Case(
            cell,
            seed,
            train.replace(labels=found["labels"], out_of_sample=bool(found["out_of_sample"])),
            test,
            found["truth"],
            found["clean_probs"],
            str(found["scale"]),
            json.loads(str(found["facts"])),
            parts.get("true"),
        )
