"""Networks by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from truelabel.networks.base import Network, Shape
from truelabel.networks.cnn_nine import CNN9
from truelabel.networks.cnn_released import CNNReleased
from truelabel.networks.cnn_small import CNNSmall
from truelabel.networks.cnn_tiny import CNNTiny
from truelabel.networks.mlp import MLP
from truelabel.networks.resnet import ResNet34, ResNet50


def _mlp(in_shape: Shape, n_classes: int, **options: Any) -> Network:
    return MLP(prod(in_shape), n_classes, **options)


def _cnn9_released(in_shape: Shape, n_classes: int, dropout: float = 0.3) -> Network:
    return CNN9(in_shape, n_classes, dropout)


_BUILDERS: dict[str, Callable[..., Network]] = {
    "cnn-small": CNNSmall,
    "cnn-released": CNNReleased,
    "cnn-9": CNN9,
    "cnn-9-released": _cnn9_released,
    "cnn-tiny": CNNTiny,
    "resnet34": ResNet34,
    "resnet50": ResNet50,
    "mlp": _mlp,
}

NAMES: dict[str, str] = {
    "cnn-small": "two convolutions, two dense layers: the paper's network for MNIST and Fashion-MNIST",
    "cnn-released": "the same layers as the released experiments put them together",
    "cnn-9": "nine convolutions: the paper's network for CIFAR-10",
    "cnn-9-released": "the same with the dropout of the released experiments, 0.3",
    "cnn-tiny": "two convolutions, a twentieth of the time of cnn-small, for laptops",
    "resnet34": "ResNet-34, for the paper's comparison with CausalNL",
    "resnet50": "ResNet-50, the paper's network for Food-101 and Clothing1M",
    "mlp": "two hidden layers of 256, for features and tables",
}


def build(name: str, in_shape: Sequence[int], n_classes: int, **options: Any) -> Network:
    """Return a new network, its weights drawn from torch's current random state.

    Parameters
    ----------
    name : str
        One of `networks.NAMES`.
    in_shape : sequence of int
        Shape of one instance: (channels, height, width) of an image or (d,) of a feature vector.
    n_classes : int
        Number of classes.
    **options
        What else the network takes, such as ``dropout`` of "cnn-9" or ``hidden`` of "mlp".

    Examples
    --------
    >>> from truelabel import networks
    >>> networks.build("mlp", (64,), 10, hidden=(32,)).feature_dim
    32
    """
    if name not in _BUILDERS:
        raise ValueError(f"There is no network named {name!r}; choose one of {', '.join(NAMES)}.")
    return _BUILDERS[name](tuple(in_shape), n_classes=n_classes, **options)


def default_for(in_shape: Sequence[int]) -> str:
    """Return the name of the network that the paper would use for inputs of this shape."""
    if len(in_shape) != 3:
        return "mlp"
    channels, height, width = in_shape
    if channels == 1 and height * width <= 32 * 32:
        return "cnn-small"
    return "cnn-9" if max(height, width) <= 96 else "resnet50"
