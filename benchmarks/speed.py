"""How fast truelabel is, as ratios measured within the run, beside what is required of them.

    python benchmarks/speed.py                     # about six minutes
    python benchmarks/speed.py --large             # also fits a million instances, some minutes more
    python benchmarks/speed.py --only calibrate loop --repeats 9

Sections:

network    fitting the default recipe on arrays against the paper's recipe in network mode with the paper's CNN.
           Of network mode a part is timed (two epochs on some of the images), and scaled up to all.
calibrate  calibrating against a bare forward pass of the calibrator's trunk (10 classes), and against one pass of
           the network for each class ŷ = k (100 classes).
scale      fitting 10⁴, 10⁵ and, with --large, 10⁶ instances, each in a process of its own: time and peak memory.
loop       training with `methods.CE` against a bare PyTorch loop of the same steps.
lab        the grid smoke with one worker process against two, wall time from nothing to the last record: no cache, and
           the workers yet to be started. It needs two idle processors.

What is compared runs in turn, as often as --repeats says; the table has the median of the ratios. Time is processor
time except in lab, so that other programs on the machine disturb little. The data are made up: images of 28×28 pixels
and their 64 principal components, or points around class centres; lab has the digits that come with scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from sklearn.decomposition import PCA
from torch.nn.functional import cross_entropy

from truelabel import NPC, Predictions, datasets, methods, networks
from truelabel.lab import load_grid, open_store
from truelabel.lab import run as run_grid

SIDE = 28
FITTED = 10_000  # instances that the two recipes are compared on
TIMED = 1_000  # of them, what network mode is timed on
CALIBRATED = 16_384  # rows of one block of `NPC.calibrate` at 10 classes
PASSES = 10  # of 100 passes, those that are timed
SIZES = (10_000, 100_000, 1_000_000)
LINEAR = 1.5  # the factor by which time an instance may differ between sizes and still count as linear
MEGABYTES = 500


@dataclass(frozen=True)
class Line:
    """A row of the table."""

    what: str
    measured: str
    required: str
    holds: bool | None

    def __str__(self) -> str:
        verdict = {True: "yes", False: "**no**", None: "–"}[self.holds]
        return f"| {self.what} | {self.measured} | {self.required} | {verdict} |"


def network(options: argparse.Namespace) -> Iterator[Line]:
    """Fit the default recipe and, in part, the paper's in network mode."""
    images, labels = _images(FITTED)
    pixels = images.reshape(FITTED, -1)
    features = PCA(64, svd_solver="randomized", random_state=0).fit_transform(pixels).astype(np.float32)
    said = Predictions(_memorised(labels, 10), features=features, inputs=images, labels=labels)
    part, cnn = said[:TIMED], networks.CNNSmall()

    def of_arrays() -> None:
        NPC(random_state=0, progress=False).fit(said)

    def of_network(epochs: int) -> Callable[[], None]:
        return lambda: NPC("paper", trunk=cnn, epochs=epochs, random_state=0, progress=False).fit(part) and None

    ratios, arrays = [], []
    for _ in range(options.repeats):
        arrays.append(_seconds(of_arrays))
        one, two = _seconds(of_network(1)), _seconds(of_network(2))
        ratios.append((one + 9 * (two - one)) * FITTED / TIMED / arrays[-1])
    yield _at_least(
        f"fit, {FITTED:,} instances: network mode (10 epochs, scaled from 2 on {TIMED:,}) "
        f"/ default recipe ({statistics.median(arrays):.1f} s)",
        ratios,
        20,
    )


def calibrate(options: argparse.Namespace) -> Iterator[Line]:
    """Calibrate 10 and 100 classes: the default recipe, and the paper's in network mode and on arrays."""
    for title, make in CALIBRATORS.items():
        npc, said = make(10)
        ratios = _ratios(lambda n=npc, s=said: n.calibrate(s), _trunk_pass(npc, said), options.repeats, times=5)
        yield _at_most(f"calibrate, 10 classes, {title} / forward pass of its trunk", ratios, 3, title != LINEAR_TRUNK)
    for title, make in CALIBRATORS.items():
        npc, said = make(100)
        ratios = _ratios(_pass_a_class(npc, said), lambda n=npc, s=said: n.calibrate(s), options.repeats)
        ratios = [ratio * 100 / PASSES for ratio in ratios]
        yield _at_least(
            f"100 passes of the network / calibrate, 100 classes, {title}", ratios, 20, title != LINEAR_TRUNK
        )


def scale(options: argparse.Namespace) -> Iterator[Line]:
    """Fit ever larger data."""
    each: list[float] = []
    for size in SIZES if options.large else SIZES[:-1]:
        command = [sys.executable, str(Path(__file__).resolve()), "--measure", str(size)]
        command += ["--threads", str(options.threads), "--width", str(options.width)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        each.append(found["seconds"] / size)
        total = sum(found["phases"].values())
        phases = ", ".join(f"{name} {100 * seconds / total:.0f} %" for name, seconds in found["phases"].items())
        yield Line(
            f"fit, {size:,} × {options.width}, 10 classes: time ({phases})",
            f"{found['seconds']:.1f} s, {1e6 * each[-1]:.0f} µs an instance, × {each[-1] / each[0]:.2f}",
            f"linear: × {LINEAR} at most",
            each[-1] <= LINEAR * each[0],
        )
        yield Line(
            f"fit, {size:,} × {options.width}, 10 classes: peak memory beyond the input",
            f"{found['megabytes']:.0f} MB",
            f"< {MEGABYTES} MB",
            found["megabytes"] < MEGABYTES,
        )


def loop(options: argparse.Namespace) -> Iterator[Line]:
    """Train by the library's loop and by a bare one."""
    images, labels = _images(4_000)
    cases = {
        "an MLP on 64 features": ("mlp", images.reshape(len(images), -1)[:, 200:264].copy(), 10),
        "an MLP on the pixels": ("mlp", images.reshape(len(images), -1), 5),
        "a small CNN on images": ("cnn-tiny", images, 1),
    }
    for title, (name, inputs, epochs) in cases.items():
        split = datasets.Split(inputs, labels, tuple("0123456789"))
        method = methods.CE(epochs=epochs)
        ratios = _ratios(
            lambda m=method, s=split, n=name: m.fit(s, n, progress=False),
            _bare_loop(split, name, epochs),
            options.repeats,
        )
        overheads = [100 * (ratio - 1) for ratio in ratios]
        median = statistics.median(overheads)
        yield Line(
            f"training loop, {title}, batches of 128: over a bare loop",
            f"{median:+.1f} % ({min(overheads):+.1f} to {max(overheads):+.1f})",
            "< 10 %",
            median < 10,
        )


def lab(options: argparse.Namespace) -> Iterator[Line]:
    """Run the grid smoke with one worker and with two."""
    ratios, alone, same = [], [], True
    for _ in range(options.repeats):
        one, two = _smoke(1), _smoke(2)
        ratios.append(one[0] / two[0])
        alone.append(one[0])
        same = same and one[1] == two[1]
    yield _at_least(f"lab, smoke: one worker ({statistics.median(alone):.1f} s) / two workers", ratios, 1.6)
    yield Line("lab, smoke: records of one worker and of two", "the same" if same else "others", "the same", same)


def _smoke(workers: int) -> tuple[float, list[dict[str, object]]]:
    """Run the grid in a new folder; return the seconds and what came of its cells."""
    grid = load_grid("smoke")
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        found = run_grid(grid, f"{folder}/lab.sqlite", engine="processes", workers=workers, show=False)
        seconds = time.perf_counter() - began
        if found.ok != len(grid.cells):
            raise RuntimeError(f"{found.failed} of {len(grid.cells)} cells of smoke failed; look at them first.")
        with open_store(f"{folder}/lab.sqlite") as store:
            return seconds, [record.outcome() for record in store.records()]


SECTIONS = {"network": network, "calibrate": calibrate, "scale": scale, "loop": loop, "lab": lab}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=[*SECTIONS], help="sections to run")
    parser.add_argument("--repeats", type=int, default=5, help="measurements that the median is taken of (default 5)")
    parser.add_argument("--large", action="store_true", help="fit a million instances too")
    parser.add_argument("--width", type=int, default=32, help="features of an instance in scale (default 32)")
    parser.add_argument("--threads", type=int, default=1, help="processor threads (default 1)")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    _use_threads(options.threads)
    if options.measure is not None:
        print(json.dumps(measure(options.measure, options.width)))
        return
    print("| what | measured | required | holds |\n|---|---|---|---|", flush=True)
    for section in options.only:
        for line in SECTIONS[section](options):
            print(line, flush=True)


def measure(n: int, width: int) -> dict[str, object]:
    """Fit n instances; return the seconds, and the peak of memory beyond what it was with the input in place."""
    NPC(random_state=0, progress=False).fit(_points(500, width, 10))  # what is loaded on first use is not counted
    said = _points(n, width, 10)
    before = _memory("VmRSS")
    npc = NPC(random_state=0, progress=False)
    seconds = _seconds(lambda: npc.fit(said))
    return {"seconds": seconds, "phases": npc.report_.seconds, "megabytes": (_memory("VmHWM") - before) / 1e6}


def _images(n: int, c: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Images of c classes, each a smooth pattern with noise on it, and their labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(c, size=n)
    patterns = np.kron(rng.random((c, 7, 7)), np.ones((4, 4)))
    images = patterns[labels] + rng.normal(0, 0.5, size=(n, SIDE, SIDE))
    return images[:, None].astype(np.float32), labels


def _points(n: int, width: int, c: int) -> Predictions:
    """Points around class centres, a third of them with a wrong label, which the classifier memorised.

    Made a block at a time, so that the peak of memory is what the arrays take.
    """
    rng = np.random.default_rng(0)
    truth = rng.integers(c, size=n)
    labels = np.where(rng.random(n) < 0.3, rng.integers(c, size=n), truth)
    centres = rng.normal(size=(c, width)).astype(np.float32)
    features = np.empty((n, width), dtype=np.float32)
    probs = np.empty((n, c), dtype=np.float32)
    for start in range(0, n, 10_000):
        rows = slice(start, min(start + 10_000, n))
        features[rows] = centres[truth[rows]] + rng.standard_normal((rows.stop - start, width), dtype=np.float32)
        probs[rows] = _memorised(labels[rows], c, start)
    return Predictions(probs, features=features, labels=labels)


def _memorised(labels: np.ndarray, c: int, seed: int = 0) -> np.ndarray:
    """What a classifier says that is almost sure of these labels."""
    logits = np.random.default_rng(seed).normal(size=(len(labels), c)).astype(np.float32)
    logits[np.arange(len(labels)), labels] += 6
    return torch.from_numpy(logits).softmax(1).numpy()


def _on_arrays(recipe: str, c: int) -> tuple[NPC, Predictions]:
    """A calibrator on arrays, and a block of predictions to calibrate."""
    npc = NPC(recipe, epochs=1, random_state=0, progress=False).fit(_points(5_000, 64, c))
    return npc, _points(CALIBRATED if c <= 10 else 4_096, 64, c)


def _on_images(c: int) -> tuple[NPC, Predictions]:
    """A calibrator in network mode, and some images to calibrate."""
    images, labels = _images(256, c)
    said = Predictions(_memorised(labels, c), inputs=images, labels=labels)
    trunk = networks.CNNSmall(n_classes=c)
    return NPC("paper", trunk=trunk, epochs=1, random_state=0, progress=False).fit(said), said


LINEAR_TRUNK = "paper recipe on arrays (a trunk of one linear layer)"
CALIBRATORS: dict[str, Callable[[int], tuple[NPC, Predictions]]] = {
    "default recipe": partial(_on_arrays, "default"),
    "paper recipe in network mode": _on_images,
    LINEAR_TRUNK: partial(_on_arrays, "paper"),
}


def _trunk_pass(npc: NPC, said: Predictions) -> Callable[[], None]:
    @torch.inference_mode()
    def run() -> None:
        npc.network_.trunk(torch.from_numpy(_read(said)))

    return run


def _pass_a_class(npc: NPC, said: Predictions) -> Callable[[], None]:
    """The network once for each of the first `PASSES` classes ŷ = k, as H without its shortcut takes."""

    @torch.inference_mode()
    def run() -> None:
        x, probs = torch.from_numpy(_read(said)), torch.from_numpy(said.probs)
        out = torch.zeros_like(probs)
        for k in range(PASSES):
            predicted = torch.full((len(said),), k)
            _, mode = npc.network_.posterior(x, probs, predicted)
            out += probs[:, k, None] * mode

    return run


def _read(said: Predictions) -> np.ndarray:
    return said.inputs if said.features is None else said.features


def _bare_loop(split: datasets.Split, name: str, epochs: int) -> Callable[[], None]:
    def run() -> None:
        torch.manual_seed(0)
        inputs, labels = torch.from_numpy(split.inputs), torch.from_numpy(split.labels)
        model = networks.build(name, split.in_shape, split.n_classes)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
        for _ in range(epochs):
            for rows in torch.randperm(len(labels)).split(128):
                loss = cross_entropy(model(inputs[rows]), labels[rows])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()

    return run


def _seconds(run: Callable[[], object], times: int = 1) -> float:
    began = time.process_time()
    for _ in range(times):
        run()
    return time.process_time() - began


def _ratios(
    numerator: Callable[[], object], denominator: Callable[[], object], repeats: int, times: int = 1
) -> list[float]:
    numerator(), denominator()
    return [_seconds(numerator, times) / _seconds(denominator, times) for _ in range(repeats)]


def _at_least(what: str, ratios: list[float], least: float, required: bool = True) -> Line:
    holds = statistics.median(ratios) >= least
    return Line(what, _spread(ratios), f"≥ {least:g}" if required else "–", holds if required else None)


def _at_most(what: str, ratios: list[float], most: float, required: bool = True) -> Line:
    holds = statistics.median(ratios) <= most
    return Line(what, _spread(ratios), f"≤ {most:g}" if required else "–", holds if required else None)


def _spread(ratios: list[float]) -> str:
    return f"× {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _memory(what: str) -> int:
    """Bytes of memory in use (VmRSS) or the most there were (VmHWM); only the latter where there is no /proc.

    On Linux `getrusage` would count the peak of the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith(what))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _use_threads(threads: int) -> None:
    import faiss
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(threads)
    faiss.omp_set_num_threads(threads)
    threadpool_limits(threads)


if __name__ == "__main__":
    main()
