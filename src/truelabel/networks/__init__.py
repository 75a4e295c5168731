"""Networks: the paper's, and small ones, with features and logits apart."""

from truelabel.networks.base import Network
from truelabel.networks.cnn_nine import CNN9
from truelabel.networks.cnn_released import CNNReleased
from truelabel.networks.cnn_small import CNNSmall
from truelabel.networks.cnn_tiny import CNNTiny
from truelabel.networks.imagenet import load_imagenet_weights
from truelabel.networks.mlp import MLP
from truelabel.networks.registry import NAMES, build, default_for
from truelabel.networks.resnet import ResNet34, ResNet50

__all__ = [
    "CNN9",
    "MLP",
    "NAMES",
    "CNNReleased",
    "CNNSmall",
    "CNNTiny",
    "Network",
    "ResNet34",
    "ResNet50",
    "build",
    "default_for",
    "load_imagenet_weights",
]
