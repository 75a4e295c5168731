"""CausalNL: co-teaching plus a bound for each network."""

from __future__ import annotations

from math import log
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from truelabel import methods
from truelabel.methods import Batch, Run
from truelabel.methods.causal_vae import CausalVAE, causal_loss

SHAPES = [(5,), (1, 8, 8), (3, 9, 7)]


@pytest.mark.parametrize("convolutions", [True, False])
@pytest.mark.parametrize("in_shape", SHAPES)
def test_the_model_rebuilds_x_and_says_its_noisy_label(in_shape: tuple[int, ...], convolutions: bool) -> None:
    vae = CausalVAE(in_shape, 4, z_dim=6, convolutions=convolutions)
    found = any(isinstance(module, torch.nn.Conv2d) for module in vae.modules())
    assert found == (convolutions and len(in_shape) == 3)
    x, y = torch.randn(3, *in_shape), torch.eye(4)[:3]
    rebuilt, noisy, mean, log_variance = vae(x, y)
    assert rebuilt.shape == x.shape
    assert noisy.shape == (3, 4)
    assert mean.shape == log_variance.shape == (3, 6)


def test_every_part_of_the_model_depends_on_the_class() -> None:
    vae = CausalVAE((5,), 4, z_dim=6).eval()
    x = torch.randn(2, 5)
    answers = []
    for k in (0, 1):
        torch.manual_seed(0)
        answers.append(vae(x, torch.eye(4)[[k, k]]))
    assert all(not torch.allclose(first, second) for first, second in zip(*answers, strict=True))


class Fixed(CausalVAE):
    """A model whose answers are written down."""

    def __init__(self) -> None:
        super().__init__((2,), 2, 1)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:  # type: ignore[override]
        noisy = torch.tensor([[0.75, 0.25]]).log()
        return x + 2.0, noisy, torch.tensor([[3.0]]), torch.tensor([[log(4.0)]])


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ((1.0, 0, 0, 0), 4.0),  # squared error
        ((0, 1.0, 0, 0), -log(0.25)),  # cross entropy of the noisy label
        ((0, 0, 1.0, 0), 0.9 * log(0.9 / 0.5) + 0.1 * log(0.1 / 0.5)),  # q(y|x) against uniform
        ((0, 0, 0, 1.0), 9.0 + 4.0 - 1.0 - log(4.0)),  # twice KL(N(3, 4)‖N(0, 1))
        ((0.1, 0.1, 1e-5, 0.01), None),
    ],
)
def test_the_bound_has_four_terms(weights: Any, expected: float | None) -> None:
    logits = torch.tensor([[0.9, 0.1]]).log()
    loss = causal_loss(Fixed(), torch.zeros(1, 2), logits, torch.tensor([1]), weights).item()
    if expected is None:
        kl = 0.9 * log(1.8) + 0.1 * log(0.2)
        expected = 0.4 - 0.1 * log(0.25) + 1e-5 * kl + 0.01 * (12 - log(4.0))
    assert loss == pytest.approx(expected, rel=1e-5)


def test_without_the_bounds_it_is_co_teaching_and_with_them_not() -> None:
    inputs = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
    split = SimpleNamespace(inputs=inputs, labels=np.arange(8) % 2, n_classes=2, class_names=None)

    def loss(method: methods.CoTeaching) -> float:
        torch.manual_seed(3)
        run = Run(method, split, split.labels, "mlp", "cpu")
        method.start(run)
        run.epoch = 20
        rows = torch.arange(8)
        return method.loss(run, Batch(rows, run.inputs[rows], run.labels, [run.network, run.modules["peer"]])).item()

    silent = {"reconstruction": 0.0, "noisy_label": 0.0, "class_prior": 0.0, "z_prior": 0.0}
    plain = loss(methods.CoTeaching(epochs=30, noise_rate=0.5))
    assert loss(methods.CausalNL(epochs=30, noise_rate=0.5, **silent)) == pytest.approx(plain)
    assert loss(methods.CausalNL(epochs=30, noise_rate=0.5)) > plain


def test_the_bound_teaches_the_classifier() -> None:
    logits = torch.zeros(4, 2, requires_grad=True)
    causal_loss(CausalVAE((5,), 2, 3), torch.randn(4, 5), logits, torch.tensor([0, 1, 0, 1]), (1, 1, 1, 1)).backward()
    assert logits.grad is not None
    assert torch.any(logits.grad != 0)
