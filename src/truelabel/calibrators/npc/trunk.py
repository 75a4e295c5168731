"""Trunks f(x): what the autoencoder sees of an instance, from arrays or through a copy of the classifier's network."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from truelabel.arrays import Array, Ints, as_numbers, float32
from truelabel.calibrators.npc.model import Standardise
from truelabel.experts.heads import FoldHeads
from truelabel.predictions import Predictions
from truelabel.scale import Scale, moments


class Source:
    """Hands out the rows that a trunk reads.

    Parameters
    ----------
    names : sequence of str
        Views that are put side by side; "hidden" and "inputs" stand for those parts of Predictions.
    """

    def __init__(self, predictions: Predictions, names: list[str]) -> None:
        self.parts = [_part(predictions, name) for name in names]

    def __call__(self, rows: slice | Ints, device: torch.device) -> Tensor:
        """Return these rows as one float32 tensor on `device`."""
        blocks = [float32(as_numbers(part[rows], "inputs")) for part in self.parts]
        block = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
        if not block.flags.writeable:
            block = block.copy()
        return torch.from_numpy(np.ascontiguousarray(block)).to(device)


def _part(predictions: Predictions, name: str) -> Any:
    if name == "inputs":
        if predictions.inputs is None:
            raise ValueError("a calibrator with a trunk network reads raw inputs; pass Predictions(inputs=…).")
        return predictions.inputs
    if name == "hidden":
        if predictions.hidden is None:
            raise ValueError("the calibrator was fitted on the hidden layer; pass Predictions(hidden=…).")
        return predictions.hidden
    return predictions.views[name]


def standardise(arrays: Mapping[str, Array], scales: Mapping[str, Scale]) -> Standardise:
    """Return the layer that brings the views, put side by side, to scale."""
    found = [scales[name] if name in scales else Scale("columns", *moments(array)) for name, array in arrays.items()]
    view = np.repeat(np.arange(len(found)), [len(scale.mean) for scale in found])
    unit = [view == i for i, scale in enumerate(found) if scale.name == "unit"]
    return Standardise(
        torch.from_numpy(np.concatenate([scale.mean for scale in found])),
        torch.from_numpy(np.concatenate([scale.divisor for scale in found])),
        torch.from_numpy(np.stack(unit).astype(np.float32)) if unit else None,
    )


def array_trunk(scale: Standardise, width: int, hidden: tuple[int, ...]) -> tuple[nn.Module, int]:
    """Return a trunk on arrays, and its width: to scale, then hidden layers of these sizes, or one linear layer.

    With no hidden sizes it is a fresh last layer on the given (hidden) features, of `width` outputs.
    """
    layers: list[nn.Module] = [scale]
    inside = scale.mean.shape[0]
    for size in hidden:
        layers += [nn.Linear(inside, size), nn.ReLU()]
        inside = size
    if not hidden:
        layers.append(nn.Linear(inside, width))
        inside = width
    return nn.Sequential(*layers), inside


def headed_trunk(scale: Standardise, start: Mapping[str, tuple[FoldHeads, float]]) -> tuple[nn.Module, Tensor, Tensor]:
    """Return a trunk that holds the first layers of all heads side by side, and the last layer that pools them.

    The views come in the order of `start`, put side by side; a head reads its own view alone to begin with.
    """
    heads = [(part, weight) for part, weight in start.values()]
    width = sum(part.first.shape[1] for part, _ in heads)
    inside = sum(part.first.shape[0] * part.first.shape[2] for part, _ in heads)
    layer = nn.Linear(width, inside)
    last, bias = [], []
    column = row = 0
    with torch.no_grad():
        layer.weight.zero_()
        for part, weight in heads:
            folds, d, hidden = part.first.shape
            layer.weight[row : row + folds * hidden, column : column + d] = part.first.transpose(1, 2).reshape(-1, d)
            layer.bias[row : row + folds * hidden] = part.first_bias.reshape(-1)
            last.append(part.last.reshape(folds * hidden, -1) * (weight / folds))
            bias.append(part.last_bias.mean(0)[0] * weight)
            row, column = row + folds * hidden, column + d
        return nn.Sequential(scale, layer, nn.ReLU()), torch.cat(last).T.cpu(), torch.stack(bias).sum(0).cpu()


def network_trunk(network: nn.Module) -> tuple[nn.Module, int]:
    """Return a copy of the classifier's network with a fresh last layer, and its width."""
    trunk = copy.deepcopy(network)
    name, last = last_linear(trunk)
    parent = trunk.get_submodule(name.rpartition(".")[0])
    fresh = nn.Linear(last.in_features, last.out_features, bias=last.bias is not None)
    setattr(parent, name.rpartition(".")[2], fresh)
    for parameter in trunk.parameters():
        parameter.requires_grad_(True)
    return trunk, last.out_features


def last_linear(network: nn.Module) -> tuple[str, nn.Linear]:
    """Return name and module of the network's last linear layer."""
    linear = [(name, module) for name, module in network.named_modules() if isinstance(module, nn.Linear)]
    if not linear or not linear[-1][0]:
        raise ValueError("trunk has no linear layer inside a larger module; pass the classifier's whole network.")
    return linear[-1]
