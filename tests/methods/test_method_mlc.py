"""MLC: its meta-gradient against finite differences, and a known flip that it learns to undo."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from truelabel import datasets, methods, networks
from truelabel.methods import Batch
from truelabel.methods.mlc import LabelCorrector, clean_gradient, corrected_loss, look_ahead_gradient


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


class Linear(nn.Module):
    """A linear classifier in double precision, whose step can be written down."""

    def __init__(self, weights: np.ndarray) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor(weights))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weights


@pytest.mark.parametrize("taught", [0, 3])
def test_the_meta_gradient_is_that_of_finite_differences(taught: int) -> None:
    rng = np.random.default_rng(0)
    x, clean_x = rng.normal(size=(5, 4)), rng.normal(size=(7, 4))
    labels, clean_y = np.array([0, 1, 2, 1, 0]), np.array([2, 0, 1, 1, 2, 0, 0])
    w, eta = rng.normal(size=(4, 3)), 0.7
    torch.manual_seed(0)
    corrector = LabelCorrector(3, 3, embedding=2, hidden=3).double()
    network = Linear(w)
    batch = Batch(torch.arange(5), torch.tensor(x), torch.tensor(labels), [network])
    told, judged = (torch.tensor(clean_x[:taught]), torch.tensor(clean_y[:taught])), slice(taught, None)
    loss = corrected_loss(network, corrector, batch, *told)
    gradient = torch.autograd.grad(loss, [network.weights], create_graph=True)
    ahead = {"weights": network.weights - eta * gradient[0]}
    ways = clean_gradient(network, ahead, torch.tensor(clean_x[judged]), torch.tensor(clean_y[judged]))
    found = look_ahead_gradient([*corrector.parameters()], gradient, ways, eta)

    def clean_loss_after_the_step() -> float:
        """NumPy alone, but for the corrected labels."""
        with torch.no_grad():
            corrected = corrector(torch.tensor(x @ w), torch.tensor(labels)).numpy()
        slope = x.T @ (softmax(x @ w) - corrected)
        if taught:
            slope += clean_x[:taught].T @ (softmax(clean_x[:taught] @ w) - np.eye(3)[clean_y[:taught]])
        after = w - eta * slope / (5 + taught)
        probs = softmax(clean_x[judged] @ after)
        return float(-np.log(probs[np.arange(len(probs)), clean_y[judged]]).mean())

    compared = 0
    for parameter, values in zip(corrector.parameters(), found, strict=True):
        flat = parameter.data.view(-1)
        for i, value in enumerate(values.view(-1).tolist()):
            kept, step = flat[i].item(), 1e-5
            losses = []
            for shift in (step, -step):
                flat[i] = kept + shift
                losses.append(clean_loss_after_the_step())
            flat[i] = kept
            assert value == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-5, abs=1e-9)
            compared += abs(value) > 1e-6
    assert compared > 20


def flipped(n: int = 300, known: int = 60) -> tuple[datasets.Split, datasets.Split, np.ndarray]:
    """Blobs, every label of which is the next class; the true labels of a few."""
    truth = np.arange(n) % 3
    x = (np.random.default_rng(1).normal(size=(n, 4)) + 6 * np.eye(3, 4)[truth]).astype(np.float32)
    names = tuple("abc")
    return datasets.Split(x, (truth + 1) % 3, names), datasets.Split(x[:known], truth[:known], names), truth


@pytest.mark.parametrize("clean_share", [0.0, 0.5])
def test_it_learns_to_undo_a_known_flip(clean_share: float) -> None:
    noisy, clean, truth = flipped()
    seen: dict[str, Any] = {}

    class Watched(methods.MLC):
        def finish(self, run: Any) -> None:
            with torch.no_grad():
                features = run.network.features(run.inputs[torch.arange(len(truth))])
                seen["corrected"] = run.modules["corrector"](features, run.labels).argmax(dim=1).numpy()

    trained = Watched(epochs=20, batch_size=32, clean_share=clean_share).fit(noisy, "mlp", trusted=clean)
    assert (seen["corrected"] == truth).mean() > 0.98
    assert (trained.predict_proba(noisy.inputs).argmax(axis=1) == truth).mean() > 0.98


def test_an_imagined_step_leaves_no_trace_in_the_network() -> None:
    torch.manual_seed(0)
    network = networks.build("cnn-tiny", (1, 8, 8), 3)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    weights = {name: 2 * value for name, value in network.named_parameters()}
    clean_gradient(network, weights, torch.randn(6, 1, 8, 8), torch.tensor([0, 1, 2, 0, 1, 2]))
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())


def test_a_network_that_shows_no_hidden_layer_is_corrected_by_its_logits() -> None:
    noisy, clean, truth = flipped()
    method = methods.MLC(epochs=15, batch_size=32, learning_rate=0.01)
    trained = method.fit(noisy, lambda: nn.Linear(4, 3), trusted=clean)
    assert (trained.predict_proba(noisy.inputs).argmax(axis=1) == truth).mean() > 0.95


def test_frozen_weights_stay_as_they_are() -> None:
    noisy, clean, _ = flipped()
    given = networks.build("mlp", (4,), 3, hidden=(8,))
    given.trunk.requires_grad_(False)
    trained = methods.MLC(epochs=1, batch_size=32).fit(noisy, given, trusted=clean)
    for name, value in given.trunk.state_dict().items():
        assert torch.equal(trained.network.get_submodule("trunk").state_dict()[name], value)


def test_trusted_instances_count_as_trained_on() -> None:
    noisy, clean, _ = flipped()
    trained = methods.MLC(epochs=1).fit(noisy[60:], "mlp", trusted=clean)
    assert not trained.predictions(clean).out_of_sample


def test_a_checkpoint_of_other_clean_labels_is_refused(tmp_path: Any) -> None:
    noisy, clean, _ = flipped()
    methods.MLC(epochs=1).fit(noisy, "mlp", trusted=clean, checkpoint=tmp_path)
    with pytest.raises(ValueError, match=r"another training \(trusted was"):
        methods.MLC(epochs=1).fit(noisy, "mlp", trusted=clean[:30], checkpoint=tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.full(60, 3)}, "trusted labels has 3 in row 0, but there are 3 classes"),
        ({"labels": np.zeros(5, dtype=int)}, "trusted labels has 5 rows, but inputs has 60"),
        ({"inputs": np.zeros((60, 5), np.float32)}, r"trusted inputs have shape \(5,\), but those trained on have"),
        ({"inputs": np.full((60, 4), np.nan)}, "trusted inputs has a NaN"),
        ({"inputs": np.zeros((0, 4)), "labels": np.zeros(0, dtype=int)}, "there are no trusted labels"),
    ],
)
def test_bad_trusted_data_are_refused(change: dict[str, Any], message: str) -> None:
    noisy, clean, _ = flipped()
    trusted = SimpleNamespace(**{"inputs": clean.inputs, "labels": clean.labels, **change})
    with pytest.raises(ValueError, match=message):
        methods.MLC(epochs=1).fit(noisy, "mlp", trusted=trusted)


@pytest.mark.parametrize(
    "parameters",
    [{"meta_rate": 0.0}, {"look_ahead": -1.0}, {"clean_share": 1.0}, {"embedding": 0}, {"hidden": 0}],
)
def test_a_parameter_out_of_range_is_named(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(parameters))} of MLC must be"):
        methods.MLC(**parameters)


@pytest.mark.parametrize(("share", "taught"), [(0.0, 0), (0.5, 10), (0.01, 2), (0.99, 18)])
def test_of_each_batch_of_clean_instances_a_share_teaches_and_two_judge(
    monkeypatch: pytest.MonkeyPatch, share: float, taught: int
) -> None:
    noisy, clean, _ = flipped()
    seen: list[int] = []

    def spy(network: nn.Module, corrector: Any, batch: Batch, inputs: torch.Tensor, labels: torch.Tensor) -> Any:
        seen.append(len(inputs))
        return corrected_loss(network, corrector, batch, inputs, labels)

    monkeypatch.setattr("truelabel.methods.mlc.corrected_loss", spy)
    methods.MLC(epochs=1, batch_size=20, clean_share=share).fit(noisy, "mlp", trusted=clean)
    assert set(seen) == {taught}
