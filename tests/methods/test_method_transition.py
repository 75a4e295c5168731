"""Forward, DualT and TVR: estimating T, and learning through it."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest
import torch

from truelabel import methods, noise
from truelabel.methods import Run
from truelabel.methods.transition import anchor_transition, forward_nll, label_counts

# Column 0 sorted: 0.1, 0.3, 0.6, 0.8, 0.95 (rows 4, 3, 2, 1, 0).
PROBS = torch.tensor([[0.95, 0.05], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.1, 0.9]])
T = torch.tensor([[0.8, 0.2], [0.3, 0.7]])


@pytest.mark.parametrize(
    ("percentile", "expected"),
    [(100, [[0.95, 0.05], [0.1, 0.9]]), (75, [[0.8, 0.2], [0.3, 0.7]]), (50, [[0.6, 0.4], [0.6, 0.4]])],
)
def test_a_row_of_t_is_what_is_said_at_the_anchor_point(percentile: float, expected: list[list[float]]) -> None:
    torch.testing.assert_close(anchor_transition(PROBS, percentile), torch.tensor(expected))


def test_the_forward_loss_is_that_of_the_noisy_label(written: Any) -> None:
    logits = torch.tensor([[0.6, 0.4], [0.5, 0.5]]).log()
    expected = -(log(0.6 * 0.8 + 0.4 * 0.3) + log(0.5 * 0.2 + 0.5 * 0.7)) / 2
    assert forward_nll(logits, torch.tensor([0, 1]), T).item() == pytest.approx(expected)


def test_the_forward_loss_is_least_at_the_clean_posterior() -> None:
    noisy = torch.tensor([0.7, 0.3])  # = Tᵀ(0.8, 0.2): the clean posterior behind these noisy labels
    losses = {
        p: sum(noisy[k] * forward_nll(torch.tensor([[p, 1 - p]]).log(), torch.tensor([k]), T).item() for k in (0, 1))
        for p in (0.6, 0.7, 0.8, 0.9)
    }
    assert min(losses, key=lambda p: float(losses[p])) == 0.8


def test_forward_reads_t_between_its_stages_and_begins_anew(written: Any) -> None:
    rows = PROBS.tolist()
    run, batch = written(methods.Forward(epochs=3, percentile=75), [0, 0, 1, 1, 1], rows, [[0.5, 0.5]] * 5)
    run.method.start(run)
    assert run.method.loss(run, batch).item() == pytest.approx(
        torch.nn.functional.cross_entropy(PROBS.log(), run.labels).item()
    )
    run.history.append({})
    run.method.end_epoch(run)  # the only epoch so far, hence the best
    run.epoch = 3
    run.method.start_epoch(run)
    torch.testing.assert_close(run.state["transition"], T)
    assert torch.equal(run.network.table, torch.tensor([[0.5, 0.5]] * 5).log())
    assert len(run.rows) == 5
    assert run.method.total_epochs == 6


def test_dual_t_is_the_product_in_the_order_of_the_paper() -> None:
    labels = torch.tensor([0, 1, 0, 1, 1])  # predicted 0, 0, 0, 1, 1
    club = torch.tensor([[0.8, 0.2], [0.3, 0.7]])
    spade = torch.tensor([[2 / 3, 1 / 3], [0.0, 1.0]])
    torch.testing.assert_close(label_counts(PROBS.argmax(1), labels, 2), spade)
    estimate = methods.DualT(percentile=75).estimate(PROBS, labels)
    torch.testing.assert_close(estimate, club @ spade)
    assert not torch.allclose(estimate, spade @ club)


def test_a_class_that_is_never_predicted_keeps_its_label() -> None:
    counts = label_counts(torch.tensor([0, 0]), torch.tensor([0, 1]), 2)
    assert counts.tolist() == [[0.5, 0.5], [0.0, 1.0]]


def test_anchors_of_real_predictions_find_the_noise(digits: Any) -> None:
    labels = noise.Symmetric(0.4).corrupt(digits.train, seed=0)
    trained = methods.Forward(epochs=12, batch_size=32).fit(digits.train.with_labels(labels), "mlp")
    assert trained.transition is not None
    error = np.abs(trained.transition - labels.transition).mean()
    assert error < 0.6 * np.abs(np.eye(10) - labels.transition).mean()


class TestTVR:
    def test_t_starts_at_its_diagonal(self, written: Any) -> None:
        run, _ = written(methods.TVR(diagonal=0.6), [0, 1], [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]])
        expected = torch.full((3, 3), 0.2).fill_diagonal_(0.6)
        torch.testing.assert_close(run.method.transition(run).detach(), expected)

    def test_the_loss_rewards_predictions_that_lie_apart(self, written: Any) -> None:
        probs = [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]
        run, batch = written(methods.TVR(gamma=0.1), [0, 1, 1], probs)
        first, second = torch.randint(3, (2, 3), generator=torch.Generator().manual_seed(5))
        variation = np.mean([abs(probs[i][0] - probs[j][0]) for i, j in zip(first, second, strict=True)])
        assert variation > 0
        likelihood = forward_nll(batch.logits, run.labels, run.method.transition(run)).item()
        torch.manual_seed(5)
        assert run.method.loss(run, batch).item() == pytest.approx(likelihood - 0.1 * variation, rel=1e-5)

    def test_t_is_learned_at_a_rate_of_its_own(self, written: Any) -> None:
        run, batch = written(methods.TVR(epochs=10), [0, 1], [[0.9, 0.1], [0.2, 0.8]])
        before = run.method.transition(run).detach().clone()
        rates = []
        for run.epoch in range(10):
            run.method.start_epoch(run)
            rates.append(run.optimizer.param_groups[1]["initial_lr"] / 5e-3)
        assert rates == pytest.approx([1 / 3, 2 / 3, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8])
        assert run.optimizer.param_groups[0]["lr"] == 1e-3
        run.method.step(run, batch)
        assert not torch.allclose(before, run.method.transition(run))


def test_probabilities_are_those_of_the_network_in_evaluation_mode(written: Any) -> None:
    run, _ = written(methods.CE(), [0, 0, 1, 1, 1], PROBS.tolist())
    assert isinstance(run, Run)
    torch.testing.assert_close(run.probabilities(torch.tensor([3, 0])), PROBS[[3, 0]])
    assert run.network.training
