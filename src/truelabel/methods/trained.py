"""A trained classifier: predictions, history, and a folder to keep it in."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from safetensors.torch import save as serialised
from torch import Tensor, nn

from truelabel.arrays import Array, Floats, row_blocks
from truelabel.methods.run import (
    EVALUATION_BATCH,
    Labelled,
    NetworkLike,
    Run,
    as_tensor,
    checksums,
    fresh_network,
)
from truelabel.writing import write_bytes, write_json

if TYPE_CHECKING:
    from truelabel.predictions import Predictions

LOOKED_AT = 256  # instances by which a split is recognised as the one trained on


class Trained:
    """A classifier that a method has trained.

    Attributes
    ----------
    network : torch.nn.Module
        The network that makes the predictions (network 1 of a method that trains two), in evaluation mode.
    history : list of dict
        For each epoch its number, loss, noisy accuracy (of the batches as they were trained on) and, where
        the method holds some instances out, ``validation_accuracy``.
    transition : (c, c) array or None
        The transition matrix T[y, ỹ] that the method estimated, if it did.
    method : dict
        Name and parameters of the method.
    """

    def __init__(
        self,
        network: nn.Module,
        history: list[dict[str, float]],
        transition: Array | None,
        record: dict[str, Any],
    ) -> None:
        self.network = network.eval()
        self.history = history
        self.transition = transition
        self.method: dict[str, Any] = record["method"]
        self._record = record
        self._marks = np.asarray(record.pop("marks"), dtype=np.int64)

    @classmethod
    def of(cls, run: Run, class_names: Sequence[str] | None) -> Trained:
        """Take what is worth keeping from a finished run."""
        estimated = run.method.transition(run)
        record = {
            "method": {"name": run.method.name, **run.method.parameters()},
            "network": run.network_like if isinstance(run.network_like, str) else None,
            "in_shape": list(run.in_shape),
            "n_classes": run.n_classes,
            "class_names": None if class_names is None else [str(name) for name in class_names],
            "marks": run.marks,
        }
        transition = None if estimated is None else estimated.detach().cpu().numpy().astype(np.float64)
        return cls(run.network, run.history, transition, record)

    def predict_proba(self, inputs: Any) -> Floats:
        """Return p(ŷ | x) for each instance, n×c."""
        return np.concatenate([probs for probs, _ in self._forward(inputs)])

    def predictions(self, split: Labelled, *, out_of_sample: bool | None = None) -> Predictions:
        """Return what the network says about a split, as `truelabel.Predictions`.

        Parameters
        ----------
        split : datasets.Split
            Instances; their labels come along.
        out_of_sample : bool, optional
            Whether the network had not trained on them. By default that is found out: no more than half of
            (up to 256 of) the instances are among those that training read.
        """
        from truelabel.predictions import Predictions

        parts = list(self._forward(split.inputs))
        hidden = [layer for _, layer in parts if layer is not None]
        return Predictions(
            np.concatenate([probs for probs, _ in parts]),
            hidden=np.concatenate(hidden) if hidden else None,
            inputs=split.inputs,
            labels=split.labels,
            class_names=split.class_names or self._record["class_names"],
            out_of_sample=not self._trained_on(split.inputs) if out_of_sample is None else out_of_sample,
        )

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the classifier to a folder: one file of weights, with the rest in its header; the rest in JSON, too."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors["marks"] = torch.from_numpy(self._marks)
        if self.transition is not None:
            tensors["transition"] = torch.from_numpy(self.transition)
        record = {**self._record, "history": self.history}
        kept = {name: value.cpu().contiguous().clone() for name, value in tensors.items()}
        write_bytes(folder / _WEIGHTS, serialised(kept, metadata={"record": json.dumps(record)}))
        write_json(folder / _RECORD, record)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], network: NetworkLike | None = None) -> Trained:
        """Read what `save` wrote.

        Parameters
        ----------
        folder : path
            The folder.
        network : torch.nn.Module or function, optional
            The network to put the weights into; needed if training was given one of your own.
        """
        folder = Path(folder)
        if not (folder / _WEIGHTS).exists():
            raise FileNotFoundError(f"{folder} holds no trained classifier; pass a folder that Trained.save wrote.")
        with safe_open(folder / _WEIGHTS, framework="pt") as file:
            written = (file.metadata() or {}).get("record")  # of these weights; an older file has none
        record = json.loads((folder / _RECORD).read_text() if written is None else written)
        network = record["network"] if network is None else network
        if network is None:
            raise ValueError("The classifier has a network of your own; pass the same kind as network=.")
        tensors = load_file(folder / _WEIGHTS)
        transition = tensors.pop("transition").numpy() if "transition" in tensors else None
        record["marks"] = tensors.pop("marks").numpy()
        made = fresh_network(network, record["in_shape"], record["n_classes"])
        made.load_state_dict({name.removeprefix("network."): value for name, value in tensors.items()})
        return cls(made, record.pop("history"), transition, record)

    def _forward(self, inputs: Any) -> Iterator[tuple[Floats, Floats | None]]:
        shape, device = tuple(np.shape(inputs[:1])[1:]), next(self.network.parameters()).device
        if shape != tuple(self._record["in_shape"]):
            raise ValueError(f"inputs have shape {shape}, but training saw {tuple(self._record['in_shape'])}.")
        network: Any = self.network
        for rows in row_blocks(len(inputs), EVALUATION_BATCH):
            with torch.inference_mode():
                x = as_tensor(inputs[rows]).to(device)
                hidden: Tensor | None = network.features(x) if hasattr(network, "features") else None
                logits: Tensor = network(x) if hidden is None else network.logits(hidden)
                probs = logits.softmax(dim=1).cpu().numpy()
            yield probs, None if hidden is None else hidden.cpu().numpy()

    def _trained_on(self, inputs: Any) -> bool:
        rows = np.unique(np.linspace(0, len(inputs) - 1, LOOKED_AT).astype(np.int64))
        seen = np.isin(checksums(as_tensor(inputs[rows]).numpy()), self._marks)
        return bool(seen.mean() > 0.5)


_WEIGHTS, _RECORD = "trained.safetensors", "trained.json"
