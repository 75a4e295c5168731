"""CORES²: its schedule, its regulariser, its sieve and its prior."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from truelabel import methods
from truelabel.methods import Run

PROBS = [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.3, 0.6, 0.1], [0.3, 0.3, 0.4]]
LABELS = [0, 0, 1, 2]  # the second is wrong


def test_beta_is_zero_then_grows_then_stays() -> None:
    method = methods.CORES2(epochs=100)
    assert [method.beta_at(epoch) for epoch in (0, 10, 25, 40, 99)] == pytest.approx([0, 0, 1, 2, 2])


def test_the_learning_rate_of_sgd_alone_is_divided_by_one_plus_beta() -> None:
    factors = [methods.CORES2(optimizer=name).rate(SimpleNamespace(epoch=99)) for name in ("sgd", "adam")]
    assert factors == pytest.approx([1 / 3, 1])


def test_a_step_of_adam_is_as_long_at_the_end_as_at_the_start() -> None:
    """Adam moves a weight by the learning rate in its first step, whatever the size of the gradient."""
    for epoch in (0, 99):
        method = methods.CORES2(learning_rate=0.01, batch_size=2)
        inputs = np.array([[1.0, 2.0], [3.0, -1.0]], dtype=np.float32)
        split = SimpleNamespace(inputs=inputs, labels=np.array([0, 1]), n_classes=2, class_names=None)
        torch.manual_seed(0)
        run = Run(method, split, split.labels, lambda: torch.nn.Linear(2, 2), "cpu")
        run.epoch = epoch
        before = run.network.weight.detach().clone()
        method._epoch(run)
        moved = (run.network.weight.detach() - before).abs()
        torch.testing.assert_close(moved, torch.full((2, 2), 0.01), rtol=1e-3, atol=0)


def test_the_regulariser_takes_the_expected_loss_under_the_prior_away(written: Any) -> None:
    run, batch = written(methods.CORES2(epochs=100, sieve_from=1.0), LABELS, PROBS)
    run.epoch = 50
    run.method.start_epoch(run)
    assert run.state["prior"].tolist() == pytest.approx([0.5, 0.25, 0.25])
    losses = -torch.tensor(PROBS).log()
    expected = losses[range(4), LABELS] - 2 * losses @ torch.tensor([0.5, 0.25, 0.25])
    assert run.method.loss(run, batch).item() == pytest.approx(expected.mean().item(), rel=1e-5)


def test_the_sieve_drops_what_is_harder_than_the_mean_of_all_classes(written: Any) -> None:
    run, batch = written(methods.CORES2(epochs=100), LABELS, PROBS)
    run.epoch = 31
    run.method.start_epoch(run)
    run.method.loss(run, batch).backward()
    assert run.state["kept"].tolist() == [True, False, True, True]
    assert (run.network.table.grad.abs().sum(dim=1) > 0).tolist() == [True, False, True, True]


def test_nothing_is_sieved_before_its_time(written: Any) -> None:
    run, batch = written(methods.CORES2(epochs=100), LABELS, PROBS)
    run.epoch = 30
    run.method.start_epoch(run)
    run.method.loss(run, batch)
    assert run.state["kept"].all()


def test_the_prior_is_that_of_the_labels_kept(written: Any) -> None:
    run, batch = written(methods.CORES2(epochs=100), LABELS, PROBS)
    run.epoch = 31
    run.method.start_epoch(run)
    run.method.loss(run, batch)
    run.epoch = 32
    run.method.start_epoch(run)
    assert run.state["prior"].tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3])
