"""Fits in several threads are what they are alone, and leave torch's generator as it was."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

import truelabel as tl


def test_threads_draw_what_they_draw_alone() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 3
    noisy = np.where(rng.random(300) < 0.3, (truth + 1) % 3, truth)
    x = rng.normal(size=(300, 4)) + np.eye(3, 4)[truth] * 2
    said = tl.Predictions(0.8 * np.eye(3)[noisy] + 0.2 / 3, x, labels=noisy)

    def fit(number: int) -> np.ndarray:
        return tl.NPC(random_state=0, epochs=1, progress=False).fit(said).calibrate(said)

    torch.manual_seed(123)
    before = torch.get_rng_state()
    alone = fit(0)
    with ThreadPoolExecutor(4) as pool:
        for together in pool.map(fit, range(4)):
            np.testing.assert_array_equal(together, alone)
    assert torch.equal(torch.get_rng_state(), before)
