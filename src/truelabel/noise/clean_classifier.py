"""The classifier behind similarity-reflected noise: cross-entropy on clean labels, its softmax averaged."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from truelabel import networks
from truelabel.arrays import Array, Ints
from truelabel.device import resolve
from truelabel.seeding import seeded

BATCH = 128
LEARNING_RATE = 1e-3


def averaged_softmax(
    x: Any, y: Ints, c: int, *, network: str | nn.Module | None, epochs: int, device: str, seed: int
) -> Array:
    """Train a classifier on (x, y) and return its softmax on x, averaged over the ends of the epochs."""
    where = resolve(device)
    # Weights and dropout draw from torch's global state, which is given back as it was.
    with seeded(seed):
        model = _model(network, np.shape(x[0]), c).to(where)
        optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
        total = np.zeros((len(y), c))
        for _ in range(epochs):
            model.train()
            for rows in _batches(torch.randperm(len(y)).numpy()):
                logits = model(_batch(x, rows, where))
                loss = functional.cross_entropy(logits, torch.from_numpy(y[rows]).to(where))
                optimiser.zero_grad()
                torch.autograd.backward(loss)
                optimiser.step()
            total += _softmax(model, x, total.shape, where)
    return total / epochs


def _model(network: str | nn.Module | None, in_shape: tuple[int, ...], c: int) -> nn.Module:
    if isinstance(network, nn.Module):
        return deepcopy(network)
    return networks.build(network or networks.default_for(in_shape), in_shape, c)


@torch.no_grad()
def _softmax(model: nn.Module, x: Any, shape: tuple[int, int], where: torch.device) -> Array:
    model.eval()
    scores = np.empty(shape)
    for rows in _batches(np.arange(shape[0])):
        scores[rows] = model(_batch(x, rows, where)).softmax(dim=1).cpu().numpy()
    return scores


def _batches(order: Array) -> list[Array]:
    """Cut rows into batches; a last one of a single row, which BatchNorm rejects, joins the one before."""
    cuts = list(range(BATCH, len(order), BATCH))
    if cuts and len(order) - cuts[-1] == 1:
        cuts.pop()
    return np.split(order, cuts)


def _batch(x: Any, rows: Array, where: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(x[rows], dtype=np.float32)).to(where)
