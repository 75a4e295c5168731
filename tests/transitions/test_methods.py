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
from truelabel.noise import Asymmetric
from truelabel.transitions import transition_error

NAMES = ("forward", "dualt", "tvr", "causalnl")
EPOCHS = {"forward": 12, "dualt": 12, "tvr": 30, "causalnl": 25}


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
    """Stated error: 0.1 for an entry on average; the identity's is 0.15, the transpose's 0.3."""
    found, truth = trained(name)
    assert transition_error(found.transition, truth).absolute < 0.1


@pytest.mark.parametrize("name", NAMES)
def test_it_survives_saving(name: str, tmp_path: Path) -> None:
    found, _ = trained(name)
    found.save(tmp_path)
    np.testing.assert_array_equal(Trained.load(tmp_path).transition, found.transition)


def test_causalnl_counts_an_instance_for_a_class_with_the_classifiers_probability() -> None:
    rng = np.random.default_rng(0)
    split = datasets.Split(rng.normal(size=(20, 4)).astype(np.float32), np.arange(20) % 3, ("a", "b", "c"))
    torch.manual_seed(0)
    run = Run(methods.CausalNL(), split, split.labels, "mlp", "cpu")
    vae: Any = run.modules["vae"].eval()
    x = torch.from_numpy(split.inputs)
    with torch.no_grad():
        q = run.network.eval()(x).softmax(dim=1).numpy()
        noisy = [vae.noise_logits(x, torch.eye(3)[[k] * 20]).softmax(dim=1).numpy() for k in range(3)]
    expected = [q[:, k] @ noisy[k] / q[:, k].sum() for k in range(3)]
    np.testing.assert_allclose(run.method.transition(run), expected, atol=1e-6)  # type: ignore[arg-type]
    unweighted = [noisy[k].mean(axis=0) for k in range(3)]
    assert np.abs(np.array(expected) - unweighted).max() > 1e-4
