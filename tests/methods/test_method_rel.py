"""REL: which weights follow the gradient and which only decay."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from truelabel import methods
from truelabel.methods import Batch, Run


def one_step(momentum: float = 0.0) -> tuple[torch.Tensor, torch.Tensor, nn.Linear]:
    """Take one step of a linear network at τ = 0.5; return weight and gradient before, and it after."""
    method = methods.REL(noise_rate=0.5, learning_rate=0.1, momentum=momentum, weight_decay=0.01)
    inputs = np.array([[1.0, 2.0], [3.0, -1.0]], dtype=np.float32)
    split = SimpleNamespace(inputs=inputs, labels=np.array([0, 1]), n_classes=2, class_names=None)
    torch.manual_seed(0)
    run = Run(method, split, split.labels, lambda: nn.Linear(2, 2), "cpu")
    run.state["noise_rate"] = torch.tensor(0.5)
    layer: Any = run.network
    before = layer.weight.detach().clone()
    nn.functional.cross_entropy(layer(torch.from_numpy(inputs)), run.labels).backward()
    gradient = layer.weight.grad.clone()
    rows = torch.arange(2)
    for _ in range(2 if momentum else 1):
        method.step(run, Batch(rows, run.inputs[rows], run.labels, [layer]))
    return before, gradient, layer


def test_critical_weights_learn_and_the_others_decay() -> None:
    before, gradient, layer = one_step()
    worth = (gradient * before).abs().flatten()
    critical = (worth >= worth.sort(descending=True).values[1]).reshape(2, 2)
    assert critical.sum() == 2
    decayed = before * (1 - 0.1 * 0.01)
    torch.testing.assert_close(layer.weight.detach()[~critical], decayed[~critical])
    learned = decayed - 0.1 * 0.5 * gradient
    torch.testing.assert_close(layer.weight.detach()[critical], learned[critical])


def test_the_learning_rate_is_divided_by_ten_twice() -> None:
    method = methods.REL(epochs=200)
    factors = [method.rate(SimpleNamespace(epoch=epoch)) for epoch in (39, 40, 80, 199)]
    assert factors == pytest.approx([1, 0.1, 0.01, 0.01])


def test_the_epoch_of_the_best_held_out_accuracy_is_kept() -> None:
    """Each class has an input of its own; labels change after the second epoch, so that what was right is unlearned."""
    y = np.arange(200) % 2
    inputs = np.eye(2, dtype=np.float32)[y]
    split = SimpleNamespace(inputs=inputs, labels=y, n_classes=2, class_names=None)

    class Turned(methods.REL):
        def rate(self, run: Run) -> float:
            return 1.0

        def step(self, run: Run, batch: Batch) -> torch.Tensor:
            if run.epoch >= 2:
                batch.labels = 1 - batch.labels
            return super().step(run, batch)

    method = Turned(epochs=12, noise_rate=0.0, batch_size=16, learning_rate=0.5, weight_decay=0.0)
    trained = method.fit(split, lambda: nn.Linear(2, 2))
    held_out = [record["validation_accuracy"] for record in trained.history]
    assert held_out[1] == 1.0
    assert held_out[-1] == 0.0
    assert (trained.predict_proba(inputs).argmax(axis=1) == y).all()
