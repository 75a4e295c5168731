"""The noise rate, estimated from noisy labels alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from truelabel import methods, noise
from truelabel.methods import Run
from truelabel.methods.noise_rate import confident_joint, estimate_noise_rate


def test_the_confident_joint_by_hand() -> None:
    probs = torch.tensor([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7], [0.55, 0.45]])
    labels = torch.tensor([0, 0, 0, 1, 1, 1, 1])
    # Thresholds: (0.9 + 0.7 + 0.2)/3 = 0.6 and (0.6 + 0.2 + 0.7 + 0.45)/4 = 0.4875.
    # Labelled 0: rows 0 and 1 count as 0, row 2 as 1. Labelled 1: rows 3 and 5 as 1, row 4 as 0, row 6 not.
    expected = torch.tensor([[2 / 3 * 3, 1 / 3 * 3], [1 / 3 * 4, 2 / 3 * 4]]) / 7
    torch.testing.assert_close(confident_joint(probs, labels), expected)


def test_a_class_without_labels_is_no_obstacle() -> None:
    joint = confident_joint(torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]]), torch.tensor([0, 1]))
    torch.testing.assert_close(joint, torch.diag(torch.tensor([0.5, 0.5, 0.0])))


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_the_estimate_is_near_the_truth(digits: Any, rate: float) -> None:
    few = digits.train[:600]
    corrupted = noise.Symmetric(rate).corrupt(few, seed=0)
    torch.manual_seed(0)
    run = Run(methods.CE(batch_size=32), few.with_labels(corrupted), corrupted.labels, "mlp", "cpu")
    assert estimate_noise_rate(run) == pytest.approx(corrupted.rate, abs=0.06)


def test_a_rate_that_is_passed_is_not_estimated(noisy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Run] = []

    def estimate(run: Run) -> float:
        asked.append(run)
        return 0.3

    monkeypatch.setattr("truelabel.methods.noise_rate.estimate_noise_rate", estimate)
    methods.CoTeaching(epochs=1, noise_rate=0.2).fit(noisy, "mlp")
    assert not asked
    methods.CoTeaching(epochs=1).fit(noisy, "mlp")
    assert asked[0].state["noise_rate"].item() == pytest.approx(0.3)


def test_estimating_does_not_touch_the_networks_in_training(noisy: Any) -> None:
    run = Run(methods.CoTeaching(batch_size=64), noisy, noisy.labels, "mlp", "cpu")
    before = [value.clone() for value in run.modules.state_dict().values()]
    run.method.start(run)
    assert all(map(torch.equal, before, run.modules.state_dict().values()))
    assert 0 <= run.state["noise_rate"].item() < 1
    assert np.isfinite(run.state["noise_rate"].item())
