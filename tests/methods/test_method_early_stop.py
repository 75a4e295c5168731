"""EarlyStop: what is held out, when training stops, which weights stay."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from truelabel import methods
from truelabel.methods import Run

ACCURACIES = [0.2, 0.5, 0.4, 0.6, 0.3, 0.3, 0.3]


@pytest.fixture
def weights(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, torch.Tensor]]:
    """Write the held-out accuracy of every epoch down in advance, and record the weights it is asked for."""
    seen: list[dict[str, torch.Tensor]] = []

    def accuracy(run: Run, rows: torch.Tensor) -> float:
        seen.append({name: value.clone() for name, value in run.network.state_dict().items()})
        return ACCURACIES[len(seen) - 1]

    monkeypatch.setattr(Run, "noisy_accuracy", accuracy)
    return seen


@pytest.mark.parametrize(("patience", "epochs", "best"), [(1, 3, 2), (2, 6, 4), (9, 7, 4)])
def test_it_stops_after_the_drop_and_keeps_the_best(
    noisy: Any, weights: list[Any], patience: int, epochs: int, best: int
) -> None:
    trained = methods.EarlyStop(epochs=7, patience=patience, batch_size=32).fit(noisy, "mlp")
    assert len(trained.history) == epochs
    assert [record["validation_accuracy"] for record in trained.history] == ACCURACIES[:epochs]
    for name, value in trained.network.state_dict().items():
        assert torch.equal(value, weights[best - 1][name])


def test_the_papers_experiments_kept_the_epoch_after(noisy: Any, weights: list[Any]) -> None:
    trained = methods.EarlyStop(epochs=7, patience=1, keep="last", batch_size=32).fit(noisy, "mlp")
    for name, value in trained.network.state_dict().items():
        assert torch.equal(value, weights[2][name])


def test_a_tenth_is_held_out_and_never_trained_on(noisy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trained_on: set[int] = set()
    step = methods.EarlyStop.step

    def watched(self: methods.EarlyStop, run: Run, batch: Any) -> torch.Tensor:
        trained_on.update(batch.rows.tolist())
        assert not set(batch.rows.tolist()) & set(run.state["held_out"].tolist())
        return step(self, run, batch)

    monkeypatch.setattr(methods.EarlyStop, "step", watched)
    methods.EarlyStop(epochs=2, batch_size=32).fit(noisy, "mlp")
    assert len(trained_on) == 108
