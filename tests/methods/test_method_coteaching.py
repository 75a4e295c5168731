"""Co-teaching and JoCoR: who learns from what."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.distributions import Categorical, kl_divergence

from truelabel import methods

# Labelled 0 throughout: network 1 finds rows 0 and 1 easy, network 2 rows 2 and 3.
FIRST = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8]]
SECOND = [[0.4, 0.6], [0.1, 0.9], [0.95, 0.05], [0.7, 0.3]]


def started(run: Any, epoch: int) -> Any:
    run.method.start(run)
    run.epoch = epoch
    return run


def test_each_network_learns_from_what_the_other_selects(written: Any) -> None:
    run, batch = written(methods.CoTeaching(epochs=20, noise_rate=0.5), [0] * 4, FIRST, SECOND)
    started(run, 10)
    loss = run.method.loss(run, batch)
    loss.backward()
    learned = run.network.table.grad.abs().sum(dim=1) > 0
    peer_learned = run.modules["peer"].table.grad.abs().sum(dim=1) > 0
    assert learned.tolist() == [False, False, True, True]
    assert peer_learned.tolist() == [True, True, False, False]
    expected = -torch.tensor([0.3, 0.2]).log().mean() - torch.tensor([0.4, 0.1]).log().mean()
    assert loss.item() == pytest.approx(expected.item())


def test_the_forget_rate_grows_to_the_noise_rate() -> None:
    method = methods.CoTeaching(epochs=200, noise_rate=0.4)
    state = {"noise_rate": torch.tensor(0.4)}
    rates = [method.forget_rate(SimpleNamespace(state=state, epoch=epoch)) for epoch in (0, 4, 9, 100)]
    assert rates == pytest.approx([0.04, 0.2, 0.4, 0.4])


def test_the_learning_rate_falls_to_zero_after_two_fifths() -> None:
    method = methods.CoTeaching(epochs=200)
    factors = [method.rate(SimpleNamespace(epoch=epoch)) for epoch in (0, 80, 140, 199)]
    assert factors == pytest.approx([1, 1, 0.5, 1 / 120])


def test_momentum_falls_with_the_learning_rate(written: Any) -> None:
    run, _ = written(methods.CoTeaching(epochs=10, noise_rate=0.5), [0] * 4, FIRST, SECOND)
    betas = []
    for epoch in (3, 4):
        run.epoch = epoch
        run.method.start_epoch(run)
        betas.append(run.optimizer.param_groups[0]["betas"][0])
    assert betas == [0.9, 0.1]


def test_jocors_loss_is_cross_entropy_plus_symmetric_divergence(written: Any) -> None:
    run, batch = written(methods.JoCoR(agreement=0.3, noise_rate=0.0), [0] * 4, FIRST, SECOND)
    p, q = (Categorical(probs=torch.tensor(table)) for table in (FIRST, SECOND))
    supervised = -p.probs[:, 0].log() - q.probs[:, 0].log()
    expected = 0.7 * supervised + 0.3 * (kl_divergence(p, q) + kl_divergence(q, p))
    torch.testing.assert_close(run.method.joint_losses(batch), expected)
    assert started(run, 10).method.loss(run, batch).item() == pytest.approx(expected.mean().item())


def test_jocor_leaves_out_where_the_networks_disagree(written: Any) -> None:
    # Both rows have the same sum of cross entropies: 0.5·0.5 = 0.9·(0.25/0.9).
    agree, disagree = [[0.5, 0.5], [0.9, 0.1]], [[0.5, 0.5], [0.25 / 0.9, 1 - 0.25 / 0.9]]
    run, batch = written(methods.JoCoR(epochs=20, noise_rate=0.5), [0, 0], agree, disagree)
    started(run, 10).method.loss(run, batch).backward()
    for name in ("network", "peer"):
        assert (run.modules[name].table.grad.abs().sum(dim=1) > 0).tolist() == [True, False]


def test_network_one_makes_the_predictions(noisy: Any) -> None:
    method = methods.CoTeaching(epochs=1, noise_rate=0.4)
    made: list[Any] = []

    def make() -> torch.nn.Module:
        made.append(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)))
        return made[-1]

    trained = method.fit(noisy, make)
    assert len(made) == 2
    assert trained.network is made[0]
