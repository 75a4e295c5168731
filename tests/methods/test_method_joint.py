"""Joint: its three terms, its label updates and its restart."""

from __future__ import annotations

from math import log
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from truelabel import methods

EARLY = [[0.6, 0.4], [0.1, 0.9], [0.8, 0.2]]
LATE = [[0.8, 0.2], [0.3, 0.7], [0.4, 0.6]]
LABELS = [0, 0, 1]


def test_the_loss_has_a_prior_and_an_entropy_term(written: Any) -> None:
    run, batch = written(methods.Joint(alpha=2.0, beta=0.5), LABELS, EARLY)
    run.method.start(run)
    classification = -(log(0.6) + log(0.1) + log(0.2)) / 3
    prior = 0.5 * log(0.5 / 0.5) + 0.5 * log(0.5 / 0.5)  # the mean prediction is (0.5, 0.5)
    entropy = -sum(p * log(p) for row in EARLY for p in row) / 3
    expected = classification + 2 * prior + 0.5 * entropy
    assert run.method.loss(run, batch).item() == pytest.approx(expected, rel=1e-5)


def test_the_prior_term_is_a_divergence_from_uniform_classes(written: Any) -> None:
    run, batch = written(methods.Joint(alpha=1.0, beta=0.0), LABELS, [[0.8, 0.2]] * 3)
    run.method.start(run)
    classification = -(2 * log(0.8) + log(0.2)) / 3
    divergence = 0.5 * log(0.5 / 0.8) + 0.5 * log(0.5 / 0.2)
    assert run.method.loss(run, batch).item() == pytest.approx(classification + divergence, rel=1e-5)


def test_the_prior_may_be_known(written: Any) -> None:
    run, batch = written(methods.Joint(alpha=1.0, beta=0.0, prior=[0.9, 0.1]), LABELS, [[0.8, 0.2]] * 3)
    run.method.start(run)
    classification = -(2 * log(0.8) + log(0.2)) / 3
    divergence = 0.9 * log(0.9 / 0.8) + 0.1 * log(0.1 / 0.2)
    assert run.method.loss(run, batch).item() == pytest.approx(classification + divergence, rel=1e-5)
    run, _ = written(methods.Joint(prior=[0.5, 0.3, 0.2]), LABELS, EARLY)
    with pytest.raises(ValueError, match="prior has 3 shares, but there are 2 classes"):
        run.method.start(run)


def test_labels_become_the_mean_of_the_last_predictions(written: Any) -> None:
    # Labels are updated from epoch 4 of 10, as the mean of 2 epochs.
    run, batch = written(methods.Joint(epochs=10, update_from=0.4, average=0.2), LABELS, EARLY)
    run.method.start(run)
    given = [[1, 0], [1, 0], [0, 1]]
    soft = []
    for run.epoch in range(4):
        run.network.table.data = torch.tensor(LATE if run.epoch == 3 else EARLY).log()
        vars(batch).pop("logits", None)
        run.method.loss(run, batch)
        run.method.end_epoch(run)
        soft.append(run.state["soft_labels"].clone())
    assert soft[2].tolist() == given
    torch.testing.assert_close(soft[3], (torch.tensor(EARLY) + torch.tensor(LATE)) / 2)


def test_a_fresh_network_learns_the_final_labels(written: Any) -> None:
    run, batch = written(methods.Joint(epochs=10), LABELS, EARLY, LATE)
    run.method.start(run)
    run.state["soft_labels"] = torch.tensor(EARLY)
    optimizer = run.optimizer
    run.epoch = 10
    run.method.start_epoch(run)
    torch.testing.assert_close(run.network.table.detach(), torch.tensor(LATE).log())
    assert run.optimizer is not optimizer
    batch.networks = [run.network]
    expected = -(torch.tensor(EARLY) * torch.tensor(LATE).log()).sum(dim=1).mean()
    assert run.method.loss(run, batch).item() == pytest.approx(expected.item())
    run.method.end_epoch(run)
    assert run.state["soft_labels"].tolist() == torch.tensor(EARLY).tolist()


def test_the_second_stage_has_the_length_and_the_rates_of_the_paper() -> None:
    method = methods.Joint(epochs=200)
    assert method.total_epochs == 320
    factors = [method.rate(SimpleNamespace(epoch=epoch)) for epoch in (199, 200, 239, 240, 280, 319)]
    assert factors == pytest.approx([1, 1, 1, 0.1, 0.01, 0.01])
