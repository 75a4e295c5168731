"""One training in progress: the data, the networks, the optimiser and whatever a method remembers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol
from zlib import crc32

import numpy as np
import torch
from torch import Tensor, nn

from truelabel.arrays import Array, Ints
from truelabel.device import resolve
from truelabel.methods.augment import crop_and_flip, widened

if TYPE_CHECKING:
    from truelabel.methods.base import Method

NetworkLike = str | nn.Module | Callable[[], nn.Module]

EVALUATION_BATCH = 512  # rows a forward pass without gradients takes at a time


class Labelled(Protocol):
    """What training needs of a split: `datasets.Split`, or anything like it."""

    @property
    def inputs(self) -> Any: ...
    @property
    def labels(self) -> Any: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def class_names(self) -> Sequence[str] | None: ...


@dataclass
class Batch:
    """A few instances with their noisy labels, and what the networks say about them."""

    rows: Tensor
    inputs: Tensor
    labels: Tensor
    networks: Sequence[nn.Module]

    @cached_property
    def logits(self) -> Tensor:
        """The logits of network 1, computed once."""
        out: Tensor = self.networks[0](self.inputs)
        return out

    @cached_property
    def peer_logits(self) -> Tensor:
        """The logits of network 2, computed once."""
        out: Tensor = self.networks[1](self.inputs)
        return out


class Inputs:
    """The instances of a split: on the device if they are in memory, else read as they are needed."""

    def __init__(self, source: Any, device: torch.device) -> None:
        self._source, self._device = source, device
        self._tensor: Tensor | None = None
        self.marks = np.zeros(len(source), dtype=np.int64)  # a checksum of each instance read so far
        if isinstance(source, np.ndarray | Tensor) and not isinstance(source, np.memmap):
            rows = as_tensor(source)
            self.marks[:] = checksums(rows.numpy())
            self._tensor = rows.to(device)

    def __len__(self) -> int:
        return len(self._source)

    def __getitem__(self, rows: Tensor) -> Tensor:
        if self._tensor is not None:
            return self._tensor.index_select(0, rows)
        index = rows.cpu().numpy()
        part = as_tensor(self._source[index])
        self._mark(index, part)
        return part.to(self._device)

    def augmented(self, rows: Tensor) -> Tensor:
        """Return images cropped and flipped at random.

        Crops are taken from what the source has around the images (`uncropped`), or from a margin of zeros.
        """
        if not hasattr(self._source, "uncropped"):
            images = self[rows]
            return crop_and_flip(widened(images), *images.shape[2:])
        index = rows.cpu().numpy()
        whole, (height, width) = as_tensor(self._source.uncropped(index)), self._source.shape[2:]
        top, left = (whole.shape[2] - height) // 2, (whole.shape[3] - width) // 2
        self._mark(index, whole[:, :, top : top + height, left : left + width].contiguous())
        return crop_and_flip(whole, height, width).to(self._device)

    def _mark(self, index: Ints, part: Tensor) -> None:
        if not self.marks[index].all():
            self.marks[index] = checksums(part.numpy())


class Trusted:
    """Instances whose labels are known to be right.

    Attributes
    ----------
    inputs : Inputs
        The instances.
    labels : (m,) Tensor
        Their true labels.
    """

    def __init__(self, split: Labelled, labels: Ints, device: torch.device) -> None:
        self.inputs = Inputs(split.inputs, device)
        self.labels = torch.from_numpy(labels).to(device)

    def draw(self, size: int) -> tuple[Tensor, Tensor]:
        """Return `size` instances, drawn with replacement, and their labels."""
        rows = torch.randint(len(self.labels), (size,)).to(self.labels.device)
        return self.inputs[rows], self.labels[rows]


class Run:
    """One training in progress: what a method may read and change.

    Attributes
    ----------
    inputs : Inputs
        The instances; ``inputs[rows]`` is a float32 tensor on the device.
    labels : (n,) Tensor
        The noisy labels.
    n_classes : int
        Number of classes c.
    trusted : Trusted or None
        Instances with clean labels, for a method that uses them.
    modules : torch.nn.ModuleDict
        Everything that is trained; "network" is network 1, which makes the predictions, "peer" network 2.
    optimizer : torch.optim.Optimizer
        Over all modules.
    state : dict of str to Tensor
        What the method remembers from epoch to epoch. It is in the checkpoint.
    epoch : int
        The epoch under way, counted from 0 over all stages.
    history : list of dict
        One record a finished epoch.
    stopped : bool
        Set by a method to make the epoch under way the last.
    """

    def __init__(
        self,
        method: Method,
        split: Labelled,
        labels: Ints,
        network: NetworkLike,
        device: str,
        trusted: tuple[Labelled, Ints] | None = None,
    ) -> None:
        self.method = method
        self.device = resolve(device)
        self.inputs = Inputs(split.inputs, self.device)
        self.labels = torch.from_numpy(labels).to(self.device)
        self.n_classes = int(split.n_classes)
        self.trusted = None if trusted is None else Trusted(*trusted, self.device)
        self.in_shape = tuple(int(size) for size in as_tensor(split.inputs[:1]).shape[1:])
        if method.augment == "crop-flip" and len(self.in_shape) != 3:
            raise ValueError(
                f'augment="crop-flip" is for images (channels, height, width), but the inputs have shape '
                f'{self.in_shape}; use "none".'
            )
        self.network_like = network
        self.state: dict[str, Tensor] = {}
        self.epoch = 0
        self.history: list[dict[str, float]] = []
        self.stopped = False
        self.restart()

    def fresh_network(self) -> nn.Module:
        """Return a new network of the kind asked for, its random weights drawn from torch's state."""
        return fresh_network(self.network_like, self.in_shape, self.n_classes).to(self.device)

    def restart(self) -> None:
        """Begin anew with fresh modules and a fresh optimiser."""
        self.modules = nn.ModuleDict(self.method.modules(self)).to(self.device)
        self.optimizer = self.method.make_optimizer(self.modules)
        for group in self.optimizer.param_groups:
            group["initial_lr"] = group["lr"]

    @property
    def network(self) -> nn.Module:
        """Network 1, which makes the predictions."""
        return self.modules["network"]

    @property
    def rows(self) -> Tensor:
        """The rows that are trained on: all of them, unless ``state["rows"]`` says otherwise."""
        return self.state.get("rows", torch.arange(len(self.labels), device=self.device))

    @property
    def marks(self) -> Ints:
        """A checksum of each instance that training has read, the trusted ones too."""
        parts = [self.inputs] if self.trusted is None else [self.inputs, self.trusted.inputs]
        return np.concatenate([part.marks for part in parts])

    def batches(self, rows: Tensor, networks: Sequence[nn.Module] | None = None) -> Iterator[Batch]:
        """Yield the given rows in a random order, a batch at a time, none of them of a single row.

        Their inputs are augmented where the method says so.
        """
        order = rows[torch.randperm(len(rows)).to(self.device)]
        if networks is None:
            networks = [self.modules[name] for name in ("network", "peer") if name in self.modules]
        read = self.inputs.augmented if self.method.augment == "crop-flip" else self.inputs.__getitem__
        for part in _batches(order, self.method.batch_size):
            yield Batch(part, read(part), self.labels[part], networks)

    def probabilities(self, rows: Tensor | None = None, network: nn.Module | None = None) -> Tensor:
        """Return softmax of network 1 or another, in evaluation mode, for the given rows or all."""
        rows = torch.arange(len(self.labels), device=self.device) if rows is None else rows
        network = self.network if network is None else network
        network.eval()
        with torch.no_grad():
            parts = [network(self.inputs[part]).softmax(dim=1) for part in pieces(rows, EVALUATION_BATCH)]
        network.train()
        return torch.cat(parts)

    def noisy_accuracy(self, rows: Tensor) -> float:
        """Return the share of the given rows whose noisy label network 1 predicts."""
        hits = self.probabilities(rows).argmax(dim=1) == self.labels[rows]
        return hits.float().mean().item()

    def descend(self, loss: Tensor) -> None:
        """Take one step of the optimiser down `loss`."""
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()


def fresh_network(network: NetworkLike, in_shape: Sequence[int], n_classes: int) -> nn.Module:
    """Return a new network from a name, a function that makes one, or a network to start from.

    A network is copied with its weights, so that a pretrained one stays pretrained; only its last layer is
    drawn anew, because two networks must not start equal and a restart must forget.
    """
    if isinstance(network, str):
        from truelabel import networks

        return networks.build(network, in_shape, n_classes)
    if not isinstance(network, nn.Module):
        made = network()
    else:
        made = copy.deepcopy(network)
        linear = [module for module in made.modules() if isinstance(module, nn.Linear)]
        head = getattr(made, "head", linear[-1] if linear else None)
        if not isinstance(head, nn.Linear):
            raise ValueError("network has no linear layer to draw anew; pass a function that makes one instead.")
        head.reset_parameters()
    made.eval()
    with torch.no_grad():
        shape = tuple(made(torch.zeros(1, *in_shape, device=next(made.parameters()).device)).shape)
    if shape != (1, n_classes):
        raise ValueError(
            f"network turns one instance into an output of shape {shape}, but there are {n_classes} classes; "
            "give it one logit a class."
        )
    return made.train()


def as_tensor(source: Any) -> Tensor:
    """Return an array as a float32 tensor in main memory, sharing the array's memory where possible."""
    if isinstance(source, Tensor):
        return source.detach().cpu().float()
    array = np.ascontiguousarray(source, dtype=np.float32)
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def checksums(rows: Array) -> Ints:
    """Return a non-zero checksum of each row, by which an instance is known again."""
    return np.fromiter((crc32(row.tobytes()) + 1 for row in rows), dtype=np.int64, count=len(rows))


def pieces(rows: Tensor, size: int) -> list[Tensor]:
    """Cut rows into pieces of `size`."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _batches(order: Tensor, size: int) -> list[Tensor]:
    parts = pieces(order, size)
    if len(parts) > 1 and len(parts[-1]) == 1:  # BatchNorm cannot train on one row
        last = parts.pop()
        parts[-1] = torch.cat([parts[-1], last])
    return parts
