"""Every method that estimates T hands it out, and on an easy problem it is near the true one."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from truelabel import datasets, methods
from truelabel.methods import Run, Trained
from truelabel.methods.causal_vae import CausalVAE
from truelabel.noise import Asymmetric
from truelabel.transitions import transition_error

NAMES = ("forward", "dualt", "tvr", "causalnl")
EPOCHS = {"forward": 12, "dualt": 12, "tvr": 30, "causalnl": 25}
ERRORS = {"forward": 0.05, "dualt": 0.1, "tvr": 0.06, "causalnl": 0.03}  # for an entry on average


@cache
def trained(name: str) -> tuple[Trained, np.ndarray]:
    """Three clusters of one class each; a third of class 0 is labelled 1, a third of class 1 is labelled 2."""
    rng = np.random.default_rng(0)
    y = np.arange(900) % 3
    x = (5 * np.eye(3)[y] + rng.normal(size=(900, 3))).astype(np.float32)
    split = datasets.Split(x, y, ("a", "b", "c"))
    noisy = Asymmetric(1 / 3, {0: 1, 1: 2}).corrupt(split, seed=0)
    fitted = methods.build(name, epochs=EPOCHS[name], batch_size=32).fit(split.with_labels(noisy), "mlp", seed=0)
    return fitted, noisy.transition


@pytest.mark.parametrize("name", NAMES)
def test_its_rows_are_distributions(name: str) -> None:
    T = trained(name)[0].transition
    assert T is not None
    assert T.min() >= 0
    np.testing.assert_allclose(T.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_near_the_true_one(name: str) -> None:
    """The identity's error is 0.15, the transpose's 0.3."""
    found, truth = trained(name)
    assert transition_error(found.transition, truth).absolute < ERRORS[name]


@pytest.mark.parametrize("name", NAMES)
def test_it_survives_saving(name: str, tmp_path: Path) -> None:
    found, _ = trained(name)
    found.save(tmp_path)
    np.testing.assert_array_equal(Trained.load(tmp_path).transition, found.transition)


class Known(CausalVAE):
    """A model whose answers are written down, on its reconstructions; on real instances all labels are alike."""

    ANSWERS = torch.tensor([[[0.9, 0.1], [0.3, 0.7]], [[0.6, 0.4], [0.1, 0.9]]])  # by instance and class

    def __init__(self) -> None:
        super().__init__((2,), 2, 1)

    def noise_logits(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        known = self.ANSWERS[x[:, 1].long(), y.argmax(dim=1)]
        return torch.where(x[:, :1] == REBUILT, known, torch.full_like(known, 0.5)).log()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:  # type: ignore[override]
        rebuilt = torch.cat([torch.full_like(x[:, :1], REBUILT), x[:, 1:]], dim=1)
        return rebuilt, self.noise_logits(rebuilt, y), x[:, :1], x[:, :1]


REBUILT = 7.0


def test_causalnl_reads_t_on_reconstructions_weighted_by_the_classifiers_probability() -> None:
    """By hand: T[0] = (0.8·(0.9, 0.1) + 0.4·(0.6, 0.4)) / 1.2, and T[1] = (0.2·(0.3, 0.7) + 0.6·(0.1, 0.9)) / 0.8."""
    inputs = np.array([[0, 0], [0, 1]], dtype=np.float32)
    split = datasets.Split(inputs, np.array([0, 1]), ("a", "b"))
    run = Run(methods.CausalNL(), split, split.labels, lambda: torch.nn.Linear(2, 2), "cpu")
    network: Any = run.network
    believed = torch.tensor([[0.8, 0.2], [0.4, 0.6]]).log()
    with torch.no_grad():
        network.bias.copy_(believed[0])
        network.weight.copy_(torch.stack([torch.zeros(2), believed[1] - believed[0]], dim=1))
    run.modules["vae"] = Known()
    np.testing.assert_allclose(run.method.transition(run), [[0.8, 0.2], [0.15, 0.85]], atol=1e-6)  # type: ignore[arg-type]
