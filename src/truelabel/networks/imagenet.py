"""ImageNet weights from a local file, under the names of torchvision or of Hugging Face's transformers."""

from __future__ import annotations

import os
import re

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from truelabel.networks.resnet import ResNet

# From the names of transformers to ours; `classifier.0` there flattens and has no weights.
_TRANSFORMERS = (
    (r"^embedder\.embedder\.convolution\.", "conv1."),
    (r"^embedder\.embedder\.normalization\.", "bn1."),
    (r"\.shortcut\.convolution\.", ".downsample.0."),
    (r"\.shortcut\.normalization\.", ".downsample.1."),
    (r"^classifier\.1\.", "head."),
)


def load_imagenet_weights(network: ResNet, path: str | os.PathLike[str]) -> ResNet:
    """Load pretrained weights into a ResNet, in place.

    The last layer is loaded only where the file has as many classes as the network.

    Parameters
    ----------
    network : ResNet34 or ResNet50
        The network to load into.
    path : path
        A ``.safetensors`` file with the names of torchvision (``layer1.0.conv1.weight``) or of transformers
        (``resnet.encoder.stages.0.layers.0.layer.0.convolution.weight``).

    Returns
    -------
    ResNet
        The same network.
    """
    if not isinstance(network, ResNet):
        raise ValueError(f"ImageNet weights are for ResNet34 and ResNet50, not {type(network).__name__}.")
    weights = {_our_name(name): tensor for name, tensor in _read(path).items()}
    wanted = network.state_dict()
    for name in ("head.weight", "head.bias"):
        if name in weights and weights[name].shape != wanted[name].shape:
            del weights[name]
    _check(weights, wanted, path)
    network.load_state_dict(weights, strict=False)
    return network


def _read(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    try:
        tensors: dict[str, Tensor] = load_file(path)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"There are no weights at {os.fspath(path)}; download model.safetensors of a ResNet, for "
            "example from huggingface.co/microsoft/resnet-50, and pass its path."
        ) from None
    except SafetensorError as error:
        raise ValueError(f"{os.fspath(path)} is not a safetensors file ({error}); convert it first.") from None
    return tensors


def _our_name(name: str) -> str:
    name = re.sub(r"^fc\.", "head.", name.removeprefix("resnet."))
    for pattern, replacement in _TRANSFORMERS:
        name = re.sub(pattern, replacement, name)
    stage = re.match(r"encoder\.stages\.(\d+)\.layers\.(\d+)\.(.*)", name)
    if stage is None:
        return name
    number, block, rest = int(stage[1]) + 1, stage[2], stage[3]
    rest = re.sub(r"^layer\.(\d+)\.convolution\.", lambda m: f"conv{int(m[1]) + 1}.", rest)
    rest = re.sub(r"^layer\.(\d+)\.normalization\.", lambda m: f"bn{int(m[1]) + 1}.", rest)
    return f"layer{number}.{block}.{rest}"


def _check(weights: dict[str, Tensor], wanted: dict[str, Tensor], path: str | os.PathLike[str]) -> None:
    optional = ("head.", "num_batches_tracked")
    missing = [name for name in wanted if name not in weights and not any(part in name for part in optional)]
    unknown = [name for name in weights if name not in wanted]
    if missing or unknown:
        example = f"{missing[0]} is missing" if missing else f"{unknown[0]} has no place"
        raise ValueError(
            f"{os.fspath(path)} holds weights of another network ({example}); "
            "pass a file for a ResNet of the same depth."
        )
    for name, tensor in weights.items():
        if tensor.shape != wanted[name].shape:
            raise ValueError(
                f"{name} has shape {tuple(tensor.shape)} in {os.fspath(path)}, but "
                f"{tuple(wanted[name].shape)} here; build the network for images of 3 channels "
                "and at least 64 pixels."
            )
