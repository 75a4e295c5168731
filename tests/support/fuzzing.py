"""Damaged inputs for every reader: the only outcomes are an answer or a documented error.

A short run is a test (tests/test_fuzzed.py); the long one is a command:

    python tests/support/fuzzing.py --inputs 100000 [--readers npz idx] [--seed 0]
"""

from __future__ import annotations

import argparse
import copy
import gzip
import io
import json
import shutil
import sqlite3
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import truelabel as tl

DOCUMENTED = (ValueError, OSError, ImportError)  # what the command line shows as one line
SLOW = 10.0  # seconds that no input may take
NUMBERS = (0, 1, -1, 255, 2**31 - 1, 2**32 - 1, 2**63 - 1)
VALUES: tuple[Any, ...] = (None, True, -1, 0, 3, 2.5, 1e400, 10**30, "", "x", "\ud800", [], [1], {}, {"a": 1}, [[]])
RNG = np.random.Generator


def mutated(data: bytes, rng: RNG) -> bytes:
    """Return bytes with one to four of them changed, cut, doubled or replaced by numbers that are hard to bear."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        if not out:
            break
        at = int(rng.integers(len(out)))
        # Headers are where meaning is, so half of the changes go to the first 512 bytes or the last.
        if rng.random() < 0.5:
            at = at % 512 if rng.random() < 0.5 else max(0, len(out) - 1 - at % 512)
            at = min(at, len(out) - 1)
        kind = int(rng.integers(6))
        if kind == 0:
            out[at] = int(rng.integers(256))
        elif kind == 1:
            out[at] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            out[at : at + int(rng.integers(1, 64))] = b""
        elif kind == 4:
            out[at:at] = out[at : at + int(rng.integers(1, 64))]
        else:
            number = NUMBERS[int(rng.integers(len(NUMBERS)))]
            out[at : at + 8] = int(number).to_bytes(8, "little" if rng.random() < 0.5 else "big", signed=True)
    return bytes(out)


def changed(value: Any, rng: RNG) -> Any:
    """Return plain values (as JSON has them) with one of them, somewhere, replaced, removed or added."""
    value = copy.deepcopy(value)
    place: Any = value
    for _ in range(int(rng.integers(1, 6))):
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            break
        key = keys[int(rng.integers(len(keys)))]
        if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.7:
            place = place[key]
            continue
        if rng.random() < 0.15:
            del place[key]
        else:
            place[key] = VALUES[int(rng.integers(len(VALUES)))]
        return value
    return VALUES[int(rng.integers(len(VALUES)))] if rng.random() < 0.05 else value


@dataclass
class Reader:
    """Something that reads files: sound ones to begin with, how one of them is damaged, and how it is read."""

    prepare: Callable[[Path], None]
    damage: Callable[[Path, RNG], None]
    read: Callable[[Path], object]


@dataclass
class Outcome:
    """What became of the inputs of a reader."""

    inputs: int = 0
    answered: int = 0
    refused: int = 0
    slowest: float = 0.0
    undocumented: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        found = f"{self.inputs:8,} inputs: {self.answered:,} answered, {self.refused:,} refused"
        return f"{found}, {sum(self.undocumented.values())} undocumented; the slowest took {self.slowest:.2f} s"


def _said(n: int = 40) -> tl.Predictions:
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 3
    x = (4 * np.eye(3, 4)[truth] + rng.normal(size=(n, 4))).astype(np.float32)
    noisy = np.where(rng.random(n) < 0.2, (truth + 1) % 3, truth)
    names = {"class_names": ["a", "b", "c"], "feature_names": ["p", "q", "r", "s"]}
    return tl.Predictions(0.9 * np.eye(3)[noisy] + 0.1 / 3, x, labels=noisy, ids=[f"i{k}" for k in range(n)], **names)


def _file(name: str, write: Callable[[Path], object], read: Callable[[Path], object]) -> Reader:
    """A reader of one file, whose bytes are damaged."""

    def damage(folder: Path, rng: RNG) -> None:
        path = folder / name
        path.write_bytes(mutated(path.read_bytes(), rng))

    return Reader(lambda folder: write(folder / name) and None, damage, lambda folder: read(folder / name))


def _npy(path: Path) -> None:
    np.save(path, np.asarray(_said().probs))


def _read_npy(path: Path) -> object:
    from truelabel.cli import files

    return files.read(None, {"probs": path}, logits=False, out_of_sample=None)


def _npz(save: Callable[..., None]) -> Callable[[Path], None]:
    said = _said()
    arrays = {"probs": said.probs, "features": said.views["features"], "labels": said.labels}
    return lambda path: save(path, **arrays, ids=np.array(said.ids))


def _read_npz(path: Path) -> object:
    from truelabel.cli import files

    return files.read(path, {}, logits=False, out_of_sample=None)


def _read_parquet(path: Path) -> object:
    from truelabel import parquet

    return list(parquet.stream(path, 16)), tl.Predictions.from_parquet(path)


def _damage_metadata(folder: Path, rng: RNG) -> None:
    import pyarrow.parquet as pq

    from truelabel.parquet import METADATA

    table = pq.read_table(folder / "said.parquet")
    about = changed(json.loads(table.schema.metadata[METADATA]), rng)
    text = json.dumps(about).encode("utf-8", "surrogatepass")
    if rng.random() < 0.2:
        text = mutated(text, rng)
    pq.write_table(table.replace_schema_metadata({METADATA: text}), folder / "said.parquet")


def _damage_types(folder: Path, rng: RNG) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = 6
    columns: list[Any] = [
        pa.array(np.full(n, 0.5)),
        pa.array(np.arange(n)),
        pa.array(["x"] * n),
        pa.array([b"x"] * n),
        pa.array([True] * n),
        pa.array([None] * n),
        pa.array([0.5, None] * (n // 2)),
        pa.array([[0.5, 0.5]] * n),
        pa.array([[0.5], [0.2, 0.8]] * (n // 2)),
        pa.array([["a", "b"]] * n),
        pa.array([[[0.5, 0.5]]] * n),
        pa.array([{"a": 1}] * n),
        pa.array([[]] * n, pa.list_(pa.float64())),
        pa.array(np.arange(n), pa.timestamp("s")),
        pa.array([[1, 2]] * n, pa.list_(pa.timestamp("s"), 2)),
        pa.array(["x"] * n).dictionary_encode(),
        pa.array([1] * n, pa.decimal128(5)),
    ]
    names = ["probs", "probs_a", "probs_b", "features", "features_0", "features_x", "features:v", "hidden", "labels"]
    names += ["ids", "inputs", "features:", "features:probs"]
    chosen = rng.choice(names, size=int(rng.integers(1, 7)), replace=rng.random() < 0.1)
    fields = [columns[int(rng.integers(len(columns))) if rng.random() < 0.7 else 0] for _ in chosen]
    if rng.random() < 0.5:
        chosen[0], fields[0] = "probs", pa.array([[0.5, 0.5]] * n)
    pq.write_table(pa.Table.from_arrays(fields, names=[str(name) for name in chosen]), folder / "said.parquet")


def _parquet(damage: Callable[[Path, RNG], None]) -> Reader:
    def prepare(folder: Path) -> None:
        _said().to_parquet(folder / "said.parquet")

    return Reader(prepare, damage, lambda folder: _read_parquet(folder / "said.parquet"))


def _idx(path: Path) -> None:
    content = b"\0\0\x08\x03" + b"".join(size.to_bytes(4, "big") for size in (5, 4, 4)) + bytes(range(80))
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def _read_idx(path: Path) -> object:
    from truelabel.datasets.idx import read_idx

    return read_idx(path)


def _examined(folder: Path) -> None:
    from truelabel.labels import examine, examined

    said = _said()
    npc = tl.NPC("paper", random_state=0, epochs=1, progress=False).fit(said)
    examined(said, examine(said, calibrator=npc, progress=False)).write(folder)


def _decisions(folder: Path) -> None:
    from truelabel.labels import Examined
    from truelabel.review import Decisions
    from truelabel.review.decisions import Asked

    _examined(folder)
    with Decisions.of(Examined.read(folder), folder / "decisions.sqlite") as decided:
        for row in range(10):
            decided.decide(row, row % 3, given=0, suggested=1, tab="a", reviewer="Anna")
        decided.undo("a")
        decided.decide(10, None, given=0, suggested=1, tab="a", new_class="sofa")
        decided.decide_all([Asked(row, row, 0, 1, 0) for row in range(11, 15)], 1, tab="b")
    shutil.copy(folder / "decisions.sqlite", folder / "whole.sqlite")


COLUMNS = (
    *("row", "given", "suggested", "decision", "label", "at", "tab", "undoes", "id"),
    *("reviewer", "new_class", "batch"),
)


def _damage_decisions(folder: Path, rng: RNG) -> None:
    path = folder / "decisions.sqlite"
    if rng.random() < 0.5:
        path.write_bytes(mutated(path.read_bytes(), rng))
        return
    values = ("x", -5, 99, 2.5, None, b"\xff", 2**62)
    with sqlite3.connect(path) as file:
        column = COLUMNS[int(rng.integers(len(COLUMNS)))]
        value = values[int(rng.integers(len(values)))]
        try:
            if rng.random() < 0.3:
                file.execute("UPDATE about SET value = ?", (value,))
            else:
                file.execute(f"UPDATE log SET {column} = ? WHERE seq % 3 = 0", (value,))
        except sqlite3.Error:
            file.execute("DROP TABLE about")
    file.close()


def _read_decisions(folder: Path) -> object:
    from truelabel.review import Decisions
    from truelabel.review.deliver import decided_in

    with Decisions(folder / "decisions.sqlite") as decided:
        return decided.table(), decided.trusted(), decided_in(decided)


def _store(folder: Path) -> None:
    from truelabel.lab import Cell, Record, Store

    with Store(folder / "lab.sqlite") as store:
        for seed in range(3):
            result = {"before": 0.5, "after": 0.75, "noise_rate": 0.4}
            store.add(Record(Cell(dataset="digits", training_seed=seed), "ok", result, {"fit": 1.0}, {"torch": "2"}))


def _damage_store(folder: Path, rng: RNG) -> None:
    path = folder / "lab.sqlite"
    if rng.random() < 0.4:
        path.write_bytes(mutated(path.read_bytes(), rng))
        return
    file = sqlite3.connect(path)
    with file:
        (text,) = file.execute("SELECT record FROM records LIMIT 1").fetchone()
        text = json.dumps(changed(json.loads(text), rng), ensure_ascii=True)
        file.execute("UPDATE records SET record = ? WHERE key = (SELECT key FROM records LIMIT 1)", (text,))
    file.close()


def _read_store(folder: Path) -> object:
    from truelabel.lab import open_store

    with open_store(folder / "lab.sqlite") as store:
        return store.statuses(), store.frame()


def _damage_examined(folder: Path, rng: RNG) -> None:
    if rng.random() < 0.6:
        path = folder / "examined.json"
        about = changed(json.loads(path.read_text("utf-8")), rng)
        path.write_bytes(json.dumps(about).encode())
        return
    names = ("examined.json", "examined.safetensors", "issues.parquet", "predictions.parquet")
    path = folder / names[int(rng.integers(4))]
    path.write_bytes(mutated(path.read_bytes(), rng))


def _read_examined(folder: Path) -> object:
    from truelabel.labels import Examined

    found = Examined.read(folder)
    return found.found.wrong.to_dict(), str(found.found.wrong.total), found.items.fields(0), found.found.ranked()


def _grid(path: Path) -> None:
    path.write_text(
        'title = "t"\nsummary = "s"\nlayout = "time"\npaper = ["table-1"]\n[[block]]\ndataset = "digits"\n'
        'noise = ["sn:0.2", "idn:0.4"]\nmethod = ["ce", "gce"]\nseed = [0, 1]\nsubset = 200\n'
        'method_settings = { epochs = 3 }\n[[rule]]\nwhen = { noise = "sn*" }\nset = { rounds = 2 }\n'
    )


def _damage_grid(folder: Path, rng: RNG) -> None:
    path = folder / "grid.toml"
    if rng.random() < 0.5:
        path.write_bytes(mutated(path.read_bytes(), rng))
        return
    words = [
        "1",
        "-1",
        "2.5",
        "true",
        "[]",
        "{}",
        '"x"',
        "[1, [2]]",
        "1979-05-27",
        "nan",
        "inf",
        '"sn:"',
        "10000000000",
    ]
    lines = path.read_text().split("\n")
    at = int(rng.integers(len(lines)))
    head = lines[at].partition("=")[0]
    lines[at] = f"{head} = {words[int(rng.integers(len(words)))]}" if rng.random() < 0.8 else ""
    path.write_text("\n".join(lines))


def _read_grid(folder: Path) -> object:
    from truelabel.lab import load_grid

    return load_grid(folder / "grid.toml").cells


def _calibrator(path: Path) -> None:
    tl.NPC("paper", random_state=0, epochs=1, progress=False).fit(_said()).save(path)


def _damage_calibrator(folder: Path, rng: RNG) -> None:
    """Damage the configuration or the tensors, and make the checksum fit."""
    from safetensors import safe_open
    from safetensors.torch import save_file

    from truelabel.export.files import _checksum

    path = folder / "npc.safetensors"
    with safe_open(path, framework="pt") as file:
        header = dict(file.metadata())
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if rng.random() < 0.6:
        header["config"] = json.dumps(changed(json.loads(header["config"]), rng))
    else:
        name = list(tensors)[int(rng.integers(len(tensors)))]
        kind = int(rng.integers(5))
        if kind == 0:
            del tensors[name]
        elif kind == 1:
            tensors[name] = tensors[name].reshape(-1)[: int(rng.integers(3))].clone()
        elif kind == 2:
            tensors[name] = tensors[name] * float("nan")
        elif kind == 3:
            tensors[name] = tensors[name].double() if rng.random() < 0.5 else tensors[name].long()
        else:
            tensors[f"{name}.more"] = tensors[name].clone()
    header["checksum"] = _checksum(header["config"], tensors)
    save_file(tensors, path, header)


def _read_calibrator(folder: Path) -> object:
    npc = tl.load(folder / "npc.safetensors", device="cpu")
    return npc.calibrate(_said())


def _images(folder: Path) -> None:
    from PIL import Image

    rng = np.random.default_rng(0)
    (folder / "a").mkdir()
    colours = Image.fromarray(rng.integers(0, 256, size=(24, 20, 3), dtype=np.uint8))
    for ending in ("jpg", "png", "gif", "bmp", "tif", "webp", "avif"):
        buffer = io.BytesIO()
        try:
            colours.save(buffer, {"jpg": "JPEG", "tif": "TIFF"}.get(ending, ending.upper()))
        except (KeyError, OSError):  # this build of Pillow does not write it
            continue
        (folder / "a" / f"{'x' if ending == 'avif' else ending}.{'jpg' if ending == 'avif' else ending}").write_bytes(
            buffer.getvalue()
        )
    Image.fromarray(rng.integers(0, 2**16, size=(24, 20), dtype=np.uint16)).save(folder / "a" / "deep.png")


def _damage_images(folder: Path, rng: RNG) -> None:
    for path in (folder / "a").iterdir():
        path.write_bytes(mutated(path.read_bytes(), rng))


def _read_images(folder: Path) -> object:
    from truelabel.labels.items import ImageFiles
    from truelabel.progress import Progress
    from truelabel.raw.pictures import look

    names = [path.relative_to(folder).as_posix() for path in (folder / "a").iterdir()]
    items = ImageFiles(folder, names)
    shown = [items.image(row, 64) for row in range(len(names))]
    return shown, look(folder, names, Progress(False))


def _csv(folder: Path, rng: RNG) -> None:
    path = folder / "t.csv"
    path.write_bytes(mutated(path.read_bytes(), rng))


def _only(write: Callable[[Path], None], name: str) -> Callable[[Path], None]:
    return lambda folder: write(folder / name)


READERS: dict[str, Reader] = {
    "npy": _file("p.npy", _npy, _read_npy),
    "npz": _file("p.npz", _npz(np.savez), _read_npz),
    "npz-compressed": _file("p.npz", _npz(np.savez_compressed), _read_npz),
    "parquet": _parquet(
        lambda folder, rng: (
            (folder / "said.parquet").write_bytes(mutated((folder / "said.parquet").read_bytes(), rng)) and None
        )
    ),
    "parquet-metadata": _parquet(_damage_metadata),
    "parquet-types": _parquet(_damage_types),
    "idx": _file("images-ubyte", _idx, _read_idx),
    "idx-gz": _file("images-ubyte.gz", _idx, _read_idx),
    "decisions": Reader(_decisions, _damage_decisions, _read_decisions),
    "lab-store": Reader(_store, _damage_store, _read_store),
    "results-folder": Reader(_examined, _damage_examined, _read_examined),
    "grid": Reader(_only(_grid, "grid.toml"), _damage_grid, _read_grid),
    "calibrator": Reader(_only(_calibrator, "npc.safetensors"), _damage_calibrator, _read_calibrator),
    "calibrator-bytes": _file("npc.safetensors", _calibrator, lambda path: _read_calibrator(path.parent)),
    "images": Reader(_images, _damage_images, _read_images),
}


def fuzz(name: str, inputs: int, seed: int = 0, folder: Path | None = None) -> Outcome:
    """Give a reader so many damaged inputs, the same ones for the same seed."""
    reader, found = READERS[name], Outcome()
    with tempfile.TemporaryDirectory(dir=folder) as home, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sound, broken = Path(home) / "sound", Path(home) / "broken"
        sound.mkdir()
        reader.prepare(sound)
        for number in range(inputs):
            shutil.rmtree(broken, ignore_errors=True)
            shutil.copytree(sound, broken)
            reader.damage(broken, np.random.default_rng([seed, number]))
            began = time.perf_counter()
            try:
                reader.read(broken)
                found.answered += 1
            except DOCUMENTED as error:
                found.refused += 1
                if "allow_pickle" in str(error) or isinstance(error, json.JSONDecodeError):
                    found.undocumented[f"{type(error).__name__}: {error}"[:160]] += 1
            except Exception as error:
                found.undocumented[f"{type(error).__name__}: {error}"[:160]] += 1
            found.inputs += 1
            taken = time.perf_counter() - began
            found.slowest = max(found.slowest, taken)
            if taken > SLOW:
                found.undocumented[f"input {number} took {taken:.0f} s"] += 1
    return found


def main() -> None:
    """Run the long run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=100_000, help="of each reader")
    parser.add_argument("--readers", nargs="+", default=list(READERS), choices=list(READERS))
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    bad = 0
    for name in asked.readers:
        began = time.perf_counter()
        found = fuzz(name, asked.inputs, asked.seed)
        print(f"{name:18} {found} ({time.perf_counter() - began:.0f} s)", flush=True)
        for what, times in found.undocumented.most_common(20):
            print(f"    {times:6,} × {what}")
        bad += sum(found.undocumented.values())
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
