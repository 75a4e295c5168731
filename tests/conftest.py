"""Settings and fixtures that tests share."""

import os
import shutil
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

# Before NumPy, faiss and torch are imported, and for every process that a test starts: threads that wait for each other
# on busy cores take several times as long as one, and one makes runs repeatable.
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pytest
import torch

from truelabel import Predictions

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium, as the machine has it; closed before another module, which may run an event loop itself."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as play:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        chromium = play.chromium.launch(executable_path=path, args=flags)
        yield chromium
        chromium.close()


def soft(classes: np.ndarray, c: int, sure: float = 0.97) -> np.ndarray:
    """Probabilities that name these classes: `sure`, and the rest spread evenly."""
    probs = np.full((len(classes), c), (1 - sure) / (c - 1), dtype=np.float32)
    probs[np.arange(len(classes)), classes] = sure
    return probs


@pytest.fixture(scope="session")
def problem() -> Callable[..., SimpleNamespace]:
    """n points in c blobs, a share of their labels moved to another class, and a classifier that says the labels."""

    def make(n: int = 300, c: int = 3, rate: float = 0.3, d: int = 4, seed: int = 0, **parts: Any) -> SimpleNamespace:
        rng = np.random.default_rng(seed)
        truth = rng.permutation(np.arange(n) % c)
        x = (6 * np.random.default_rng(99).normal(size=(c, d))[truth] + rng.normal(size=(n, d))).astype(np.float32)
        moved = rng.random(n) < rate
        noisy = np.where(moved, (truth + rng.integers(1, c, size=n)) % c, truth)
        said = Predictions(**({"probs": soft(noisy, c), "features": x, "labels": noisy} | parts))
        return SimpleNamespace(x=x, truth=truth, noisy=noisy, moved=moved, said=said, c=c)

    return make
