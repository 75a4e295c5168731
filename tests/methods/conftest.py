"""A few noisy digits, and networks whose logits are written down by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from truelabel import datasets, methods, noise
from truelabel.methods import Batch, Run

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def digits() -> datasets.Dataset:
    return datasets.load("digits")


@pytest.fixture(scope="session")
def noisy(digits: datasets.Dataset) -> datasets.Split:
    """120 digits, 40 % of their labels wrong."""
    few = digits.train[:120]
    return few.with_labels(noise.Symmetric(0.4).corrupt(few, seed=0))


class Written(nn.Module):
    """A network that gives instance i (its input is the number i) the i-th row of a table of logits."""

    def __init__(self, logits: Sequence[Sequence[float]]) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.tensor(logits, dtype=torch.float32))

    def forward(self, x: Tensor) -> Tensor:
        return self.table[x[:, 0].long()]


@pytest.fixture
def written() -> Callable[..., tuple[Run, Batch]]:
    """A run whose networks' probabilities are written down, and the batch of all its instances."""

    def make(
        method: methods.Method, labels: Sequence[int], *probabilities: Sequence[Sequence[float]]
    ) -> tuple[Run, Batch]:
        tables = cycle([np.log(table).tolist() for table in probabilities])
        split = SimpleNamespace(
            inputs=np.arange(len(labels), dtype=np.float32)[:, None],
            labels=np.array(labels),
            n_classes=len(probabilities[0][0]),
            class_names=None,
        )
        run = Run(method, split, split.labels, lambda: Written(next(tables)), "cpu")
        rows = torch.arange(len(labels))
        networks = [run.modules[name] for name in ("network", "peer") if name in run.modules]
        return run, Batch(rows, run.inputs[rows], run.labels, networks)

    return make
