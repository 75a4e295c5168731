"""The methods that are a loss: its value by hand."""

from __future__ import annotations

from math import log
from typing import Any

import pytest
import torch

from truelabel import methods

PROBS = [[0.7, 0.2, 0.1], [0.25, 0.25, 0.5]]
LABELS = [0, 1]


def test_cross_entropy(written: Any) -> None:
    run, batch = written(methods.CE(), LABELS, PROBS)
    assert run.method.loss(run, batch).item() == pytest.approx(-(log(0.7) + log(0.25)) / 2)


def test_label_smoothing_gives_every_class_a_share(written: Any) -> None:
    run, batch = written(methods.LabelSmoothing(smoothing=0.3), LABELS, PROBS)
    first = -(0.8 * log(0.7) + 0.1 * log(0.2) + 0.1 * log(0.1))
    second = -(0.1 * log(0.25) + 0.8 * log(0.25) + 0.1 * log(0.5))
    assert run.method.loss(run, batch).item() == pytest.approx((first + second) / 2)


def test_sce_adds_the_reverse_cross_entropy(written: Any) -> None:
    run, batch = written(methods.SCE(alpha=0.1, beta=2.0, floor=1e-4), LABELS, PROBS)
    forward = -(log(0.7) + log(0.25)) / 2
    # Σ_j p_j·log q_j with log 1 = 0 at the label and log 1e-4 elsewhere
    reverse = -(log(1e-4) * (0.2 + 0.1) + log(1e-4) * (0.25 + 0.5)) / 2
    assert run.method.loss(run, batch).item() == pytest.approx(0.1 * forward + 2 * reverse, rel=1e-5)


def test_sce_is_bounded_where_cross_entropy_is_not(written: Any) -> None:
    run, batch = written(methods.SCE(alpha=0.0), [0], [[1e-30, 1.0]])
    assert run.method.loss(run, batch).item() == pytest.approx(-log(1e-4), rel=1e-5)


def test_gce_lies_between_cross_entropy_and_absolute_error(written: Any) -> None:
    run, batch = written(methods.GCE(q=0.5), LABELS, PROBS)
    assert run.method.loss(run, batch).item() == pytest.approx((2 - 2 * 0.7**0.5 + 2 - 2 * 0.25**0.5) / 2)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        (methods.LabelSmoothing, {"smoothing": 1.0}),
        (methods.SCE, {"alpha": -1.0}),
        (methods.SCE, {"floor": 0.0}),
        (methods.CORES2, {"beta": -1.0}),
        (methods.GCE, {"q": 0.0}),
        (methods.CoTeaching, {"noise_rate": 1.0}),
        (methods.JoCoR, {"agreement": 2.0}),
        (methods.EarlyStop, {"patience": 0}),
        (methods.EarlyStop, {"keep": "first"}),
        (methods.EarlyStop, {"validation": 1.0}),
        (methods.Forward, {"percentile": 0.0}),
        (methods.TVR, {"diagonal": 1.0}),
        (methods.REL, {"optimizer": "adam"}),
        (methods.Joint, {"update_from": 2.0}),
        (methods.Joint, {"prior": [0.5, 0.6]}),
        (methods.CausalNL, {"z_dim": 0}),
    ],
)
def test_a_parameter_out_of_range_is_named(method: type[methods.Method], parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(parameters))} of {method.__name__} must be"):
        method(**parameters)


def test_a_loss_that_is_no_number_stops_training(noisy: Any) -> None:
    with pytest.raises(ValueError, match=r"loss became nan in epoch 1; lower learning_rate"):
        methods.CE(epochs=2, batch_size=32, learning_rate=1e30).fit(noisy, "mlp")


def test_gradients_reach_only_the_network_in_use(written: Any) -> None:
    run, batch = written(methods.CE(), LABELS, PROBS)
    run.method.step(run, batch)
    assert torch.any(run.network.table.grad != 0)
