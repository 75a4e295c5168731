"""Grad-CAM: which part of an image a class probability rests on, for a classifier and for a calibrator on top of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.arrays import Array, Floats, Ints, as_array, as_numbers
from truelabel.pictures import pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from truelabel.calibrators import NPC


class LogProbabilities(nn.Module):
    """log p(ŷ | x) of a classifier; its layers keep their names, after "network.".

    Parameters
    ----------
    network : torch.nn.Module
        The classifier; it returns logits.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        """Return the log-probabilities, (n, c)."""
        logits: Tensor = self.network(x)
        return logits.log_softmax(dim=1)


class CalibratedLogProbabilities(nn.Module):
    """log p(y | x) of a calibrator on top of its classifier, as one function of the image.

    What the calibrator reads beside p(ŷ | x) is computed from the image where that can be done: the hidden layer
    by the classifier, raw inputs as they are, features by `featurizer`. Without one, features are held constant:
    the map then shows what reaches the calibrated probability through the classifier. Nothing is lost by that at a
    layer of the classifier, because features that never saw a label do not pass through it.

    Parameters
    ----------
    network : torch.nn.Module
        The classifier; it returns logits. Its layers are named "network.…".
    npc : NPC
        A fitted calibrator. A trunk network's layers are named "calibrator.trunk.…".
    features : (n, d) array, optional
        Constant features of the very images that are passed, views side by side in the order of ``npc.reads_``.
    featurizer : torch.nn.Module, optional
        Computes the features from images, differentiably. Its layers are named "featurizer.…".
    """

    constant: Tensor | None

    def __init__(
        self, network: nn.Module, npc: NPC, *, features: Any = None, featurizer: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.network, self.calibrator, self.featurizer = network, npc.network_, featurizer
        self.reads = list(npc.reads_)
        constant = None
        if self.reads == ["hidden"]:
            if not hasattr(network, "features"):
                raise ValueError(
                    "the calibrator reads the hidden layer; pass a network with features(x) and logits(features)."
                )
        elif self.reads != ["inputs"]:
            if (features is None) == (featurizer is None):
                raise ValueError(
                    f"the calibrator reads {', '.join(self.reads)}; pass either features (held constant), or a "
                    "featurizer that computes them from the image."
                )
            if features is not None:
                array = as_numbers(features, "features").astype(np.float32)
                constant = torch.from_numpy(array.reshape(len(array), -1))
        self.register_buffer("constant", constant, persistent=False)

    def _features(self, x: Tensor) -> Tensor:
        if self.featurizer is not None:
            out: Tensor = self.featurizer(x).flatten(1)
            return out
        assert self.constant is not None
        if len(x) != len(self.constant):
            raise ValueError(
                f"there are features of {len(self.constant)} images, but {len(x)} images; pass those of these images."
            )
        return self.constant

    def forward(self, x: Tensor) -> Tensor:
        """Return the log-probabilities, (n, c)."""
        network: Any = self.network
        if self.reads == ["hidden"]:
            read: Tensor = network.features(x)
            logits: Tensor = network.logits(read)
        else:
            read = x if self.reads == ["inputs"] else self._features(x)
            logits = network(x)
        probs: Tensor = self.calibrator.calibrate(read, logits.softmax(dim=1))
        probs = probs / probs.sum(dim=1, keepdim=True)
        return probs.clamp_min(torch.finfo(probs.dtype).tiny).log()


def last_maps(module: nn.Module, images: Any) -> str:
    """Return the name of the last layer that still gives maps of the last convolution's size, after its activation."""
    calls: list[tuple[str, torch.Size, bool]] = []
    handles = []
    for name, part in module.named_modules():
        if not list(part.children()):
            handles.append(part.register_forward_hook(_recorder(calls, name)))
    try:
        with _evaluating(module), torch.no_grad():
            module(_tensor(images, module))
    finally:
        for handle in handles:
            handle.remove()
    found = [number for number, (_, _, convolution) in enumerate(calls) if convolution]
    if not found:
        raise ValueError("the network has no convolution on these inputs; Grad-CAM needs maps, name such a layer.")
    size = calls[found[-1]][1][2:]
    same = [name for name, shape, _ in calls[found[-1] :] if len(shape) == 4 and shape[2:] == size]
    return same[-1]


def _recorder(calls: list[tuple[str, torch.Size, bool]], name: str) -> Any:
    def record(part: nn.Module, _inputs: Any, output: Any) -> None:
        if isinstance(output, Tensor):
            calls.append((name, output.shape, isinstance(part, nn.Conv2d)))

    return record


def grad_cam(module: nn.Module, layer: str, images: Any, classes: Any) -> Floats:
    """Return a map for each image: how far each place, as `layer` sees it, speaks for the class.

    Selvaraju et al., "Grad-CAM: Visual Explanations from Deep Networks via Gradient-based Localization", ICCV 2017:
    the maps of a layer, each weighted with the mean gradient of the class score over its places, summed, cut at 0
    and brought to the size of the image. The score is the module's output for the class. Log-probabilities give the
    same maps as probabilities, because those are scaled to a maximum of 1.

    Parameters
    ----------
    module : torch.nn.Module
        A classifier, `LogProbabilities` of one, or `CalibratedLogProbabilities`. Run in evaluation mode, left as is.
    layer : str
        Name of a layer whose output is maps (n, channels, h, w), as in ``module.named_modules()``; see `last_maps`.
    images : (n, channels, height, width) array
        The images as the module takes them; all go through it at once.
    classes : (n,) array or int
        The class to explain, of each image.

    Returns
    -------
    (n, height, width) array
        Maps in [0, 1]; all 0 where nothing in the layer speaks for the class.
    """
    named: dict[str, nn.Module] = dict(module.named_modules())
    if layer not in named or not layer:
        raise ValueError(f"there is no layer named {layer!r}; there are {', '.join(filter(None, named))}.")
    wanted: Ints = np.broadcast_to(as_array(classes, "classes"), (len(images),))
    with _evaluating(module):
        return _grad_cam(module, named[layer], layer, _tensor(images, module), torch.from_numpy(wanted.copy()))


def _grad_cam(module: nn.Module, part: nn.Module, layer: str, x: Tensor, classes: Tensor) -> Floats:
    kept: list[Tensor] = []

    def keep(_part: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
        kept.append(output)
        return output.clone()  # a later in-place activation must not change what is kept

    handle = part.register_forward_hook(keep)
    try:
        with torch.enable_grad():
            # Gradients must reach the layer even where nothing before it has parameters that need them.
            scores: Tensor = module(x.requires_grad_())
    finally:
        handle.remove()
    if not kept or kept[-1].ndim != 4:
        what = "is not run" if not kept else f"gives an output of shape {tuple(kept[-1].shape)}"
        raise ValueError(f"layer {layer!r} {what}; name one that gives maps (n, channels, height, width).")
    if not 0 <= int(classes.min()) <= int(classes.max()) < scores.shape[1]:
        raise ValueError(f"classes must lie from 0 to {scores.shape[1] - 1}, the classes of the module.")
    chosen = scores.gather(1, classes.to(scores.device)[:, None]).sum()
    (gradient,) = torch.autograd.grad(chosen, kept[-1], allow_unused=True)
    if gradient is None:
        raise ValueError(f"the class scores do not depend on layer {layer!r}; name a layer that they pass through.")
    weights = gradient.mean(dim=(2, 3), keepdim=True)
    found = functional.relu((weights * kept[-1]).sum(dim=1, keepdim=True)).detach()
    found = functional.interpolate(found, size=x.shape[2:], mode="bilinear", align_corners=False)[:, 0]
    highest = found.amax(dim=(1, 2), keepdim=True)
    return torch.where(highest > 0, found / highest, found).cpu().numpy().astype(np.float32)


def _tensor(images: Any, module: nn.Module) -> Tensor:
    array = as_numbers(images, "images").astype(np.float32)
    if array.ndim != 4:
        raise ValueError(f"images must have shape (n, channels, height, width), not {array.shape}; reshape them first.")
    device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
    return torch.from_numpy(array).to(device)


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def spread(maps: Array) -> Floats:
    """Return for each map the share of its places above half its maximum: small where the network looks at one spot."""
    array = as_numbers(maps, "maps")
    highest = array.max(axis=(1, 2), keepdims=True)
    return np.asarray(((array > highest / 2) & (highest > 0)).mean(axis=(1, 2)), dtype=np.float32)


def draw_grad_cams(
    images: Any, maps: Mapping[str, Array], captions: Sequence[str] | None = None, title: str | None = None
) -> Figure:
    """Draw images in a row, and below them their maps as overlays, a row a model.

    Parameters
    ----------
    images : (n, …) array
        The images.
    maps : mapping of str to (n, h, w) array
        Maps in [0, 1] by the name of the model.
    captions : sequence of str, optional
        Stand above the images.
    title : str, optional
        Stands above all.
    """
    from matplotlib.figure import Figure

    shown = pictures(images)
    for name, found in maps.items():
        if np.shape(found) != shown.shape[:3]:
            raise ValueError(f"the maps of {name} have shape {np.shape(found)}, but the images {shown.shape[:3]}.")
    figure = Figure(figsize=(1.15 * len(shown) + 1.6, 1.2 * (len(maps) + 1) + 0.5), layout="compressed")
    axes = figure.subplots(len(maps) + 1, len(shown), squeeze=False)
    overlay: Any = None
    for column, image in enumerate(shown):
        for axis in axes[:, column]:
            axis.imshow(image, cmap="gray", vmin=0, vmax=1)
            axis.set_xticks([])
            axis.set_yticks([])
            for spine in axis.spines.values():
                spine.set_visible(False)
        for axis, found in zip(axes[1:, column], maps.values(), strict=True):
            overlay = axis.imshow(found[column], cmap="inferno", vmin=0, vmax=1, alpha=0.6)
        if captions is not None:
            axes[0, column].set_title(captions[column], fontsize=9)
    for axis, name in zip(axes[:, 0], ("image", *maps), strict=True):
        axis.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=10)
    figure.colorbar(overlay, ax=axes[1:], label="speaks for the class", shrink=0.8, aspect=30, ticks=[0, 0.5, 1])
    if title:
        figure.suptitle(title, fontsize=11)
    return figure
