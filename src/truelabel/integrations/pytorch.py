"""From a torch module and a DataLoader to Predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from truelabel import device as devices
from truelabel.arrays import Floats, Ints, row_blocks
from truelabel.predictions import Predictions
from truelabel.progress import Progress


def predict(
    module: nn.Module,
    loader: Iterable[Any],
    *,
    layer: str | None = None,
    encoder: nn.Module | Mapping[str, nn.Module] | None = None,
    keep_inputs: bool = False,
    class_names: Sequence[str] | None = None,
    out_of_sample: bool = False,
    device: str = "auto",
    progress: bool | str = "auto",
) -> Predictions:
    """Run a classifier over a DataLoader and return what it said.

    Parameters
    ----------
    module : torch.nn.Module
        The classifier; it returns logits. It is run in evaluation mode and left as it was.
    loader : iterable
        Batches of inputs, or of (inputs, labels). It must not shuffle between uses if rows are to be compared.
    layer : str, optional
        Name of the submodule (as in ``module.named_modules()``) whose output, flattened, becomes `hidden`.
    encoder : torch.nn.Module or mapping of names to modules, optional
        A second network that never saw the noisy labels; its output on the same inputs, flattened, becomes
        `features` (a mapping: one view each). Without it there are no features: a layer of the classifier has seen
        the labels, and is `hidden` alone.
    keep_inputs : bool, default False
        Keep the raw inputs in memory as `inputs`, for a calibrator with a trunk network.
    class_names : sequence of str, optional
        Passed on.
    out_of_sample : bool, default False
        Passed on: whether the classifier had not trained on these instances.
    device : str, default "auto"
        Where to run.
    progress : bool or "auto"
        A bar on standard error; "auto" shows it on a terminal.

    Examples
    --------
    >>> import torch, truelabel as tl
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    >>> data = torch.utils.data.TensorDataset(torch.randn(10, 4), torch.randint(3, (10,)))
    >>> tl.predict(net, torch.utils.data.DataLoader(data, batch_size=5), layer="1", encoder=torch.nn.Identity())
    Predictions(n=10, classes=3, features=4, hidden=8, labels)
    """
    where = devices.resolve(device)
    views = encoder if isinstance(encoder, Mapping) else {} if encoder is None else {"features": encoder}
    networks = [module, *views.values()]
    kept: dict[str, list[Any]] = {name: [] for name in ("logits", "labels", "inputs", "hidden")}
    seen: dict[str, list[Floats]] = {name: [] for name in views}
    hooked = None if layer is None else _submodule(module, layer)
    with (
        _evaluating(networks, where),
        _outputs(hooked, kept["hidden"]),
        torch.inference_mode(),
        Progress(progress) as bars,
    ):
        for batch in bars.track(loader, "classifier"):
            x, y = _inputs_and_labels(batch)
            on_device = x.to(where)
            logits = module(on_device)
            if not isinstance(logits, Tensor) or logits.ndim != 2:
                raise ValueError(
                    "module must return one row of logits an instance; wrap it so that it returns that tensor alone."
                )
            kept["logits"].append(logits.float().cpu().numpy())
            for name, view in views.items():
                seen[name].append(_flat(view(on_device)))
            if y is not None:
                kept["labels"].append(np.asarray(y))
            if keep_inputs:
                kept["inputs"].append(x.cpu().numpy())
    if not kept["logits"]:
        raise ValueError("loader gave no batch; pass one with at least one instance.")
    arrays = {name: np.concatenate(parts) if parts else None for name, parts in kept.items()}
    features: Any = {name: np.concatenate(parts) for name, parts in seen.items()}
    return Predictions(
        arrays["logits"],
        features or None,
        hidden=arrays["hidden"],
        inputs=arrays["inputs"],
        labels=arrays["labels"],
        class_names=class_names,
        out_of_sample=out_of_sample,
        input="logits",
    )


def layer_inputs(
    network: nn.Module,
    layer: nn.Module,
    source: Callable[[slice | Ints, torch.device], Tensor],
    n: int,
    device: torch.device,
) -> Floats:
    """Run `network` over n rows of `source` and return what enters `layer`, flattened."""
    parts: list[Floats] = []
    handle = layer.register_forward_pre_hook(lambda _, entering: parts.append(_flat(entering[0])))
    try:
        with _evaluating([network], device), torch.inference_mode():
            for rows in row_blocks(n, 512):
                network(source(rows, device))
    finally:
        handle.remove()
    return np.concatenate(parts)


def _flat(output: Tensor) -> Floats:
    return output.float().flatten(1).cpu().numpy()


def _submodule(module: nn.Module, name: str) -> nn.Module:
    named: dict[str, nn.Module] = dict(module.named_modules())
    if name not in named:
        raise ValueError(f"module has no layer named {name!r}; it has {', '.join(filter(None, named))}.")
    return named[name]


def _inputs_and_labels(batch: Any) -> tuple[Tensor, Any]:
    if isinstance(batch, Tensor):
        return batch, None
    if isinstance(batch, (tuple, list)) and 1 <= len(batch) <= 2 and isinstance(batch[0], Tensor):
        return batch[0], batch[1] if len(batch) == 2 else None
    raise ValueError("loader must give tensors of inputs, or pairs of (inputs, labels); write a collate_fn that does.")


@contextmanager
def _outputs(layer: nn.Module | None, into: list[Any]) -> Iterator[None]:
    """Collect the output of `layer` at every pass."""
    if layer is None:
        yield
        return
    handle = layer.register_forward_hook(lambda _module, _inputs, output: into.append(_flat(output)))
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _evaluating(networks: Sequence[nn.Module], device: torch.device) -> Iterator[None]:
    """Put networks on the device in evaluation mode, and put them back afterwards."""
    modes = [(part, part.training) for network in networks for part in network.modules()]
    firsts = [next(network.parameters(), None) for network in networks]
    homes = [None if first is None else first.device for first in firsts]
    try:
        for network in networks:
            network.to(device).eval()
        yield
    finally:
        for part, training in modes:
            part.training = training
        for network, home in zip(networks, homes, strict=True):
            if home is not None:
                network.to(home)
