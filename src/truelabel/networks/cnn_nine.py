"""The paper's network for CIFAR-10."""

from __future__ import annotations

from torch import Tensor, nn

from truelabel.networks.base import Network, Shape, image_shape

SLOPE = 0.01  # of LeakyReLU on the negative side


class CNN9(Network):
    """Nine convolutions: the right column of the paper's table of networks.

    The network of Co-teaching (Han et al., 2018). Each convolution is followed by BatchNorm, which gives
    4,434,570 parameters for 10 classes. As in Co-teaching, the last three convolutions are not padded; on
    images below 28 pixels, where that would leave nothing to average, they are.

    Parameters
    ----------
    in_shape : (channels, height, width), default (3, 32, 32)
        Shape of one image, of at least 4×4 pixels.
    n_classes : int, default 10
        Number of classes.
    dropout : float, default 0.25
        Dropout after the first and the second group of convolutions (0.25 in the paper; 0.3 in the released
        experiments, "cnn-9-released").
    """

    def __init__(self, in_shape: Shape = (3, 32, 32), n_classes: int = 10, dropout: float = 0.25) -> None:
        super().__init__()
        channels, height, width = image_shape(in_shape, "cnn-9")
        if min(height, width) < 4:
            raise ValueError(f"cnn-9 needs images of at least 4×4 pixels, not {height}×{width}; use cnn-tiny.")
        last_padding = 0 if min(height, width) >= 28 else 1
        self.trunk = nn.Sequential(
            *_group(channels, (128, 128, 128), padding=1),
            nn.MaxPool2d(2, stride=2),
            nn.Dropout2d(dropout),
            *_group(128, (256, 256, 256), padding=1),
            nn.MaxPool2d(2, stride=2),
            nn.Dropout2d(dropout),
            *_group(256, (512, 256, 128), padding=last_padding),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.feature_dim = 128
        self.head = nn.Linear(128, n_classes)

    def features(self, x: Tensor) -> Tensor:
        """Return the last hidden layer, (n, 128)."""
        out: Tensor = self.trunk(x)
        return out


def _group(before: int, widths: tuple[int, ...], padding: int) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for width in widths:
        layers += [nn.Conv2d(before, width, 3, padding=padding), nn.BatchNorm2d(width), nn.LeakyReLU(SLOPE)]
        before = width
    return layers
