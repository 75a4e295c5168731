"""A small convolutional network for laptops."""

from __future__ import annotations

from torch import Tensor, nn

from truelabel.networks.base import Network, Shape, image_shape


class CNNTiny(Network):
    """Two convolutions and one dense layer: about a twentieth of the time of `CNNSmall`, not in the paper.

    Parameters
    ----------
    in_shape : (channels, height, width), default (1, 28, 28)
        Shape of one image, of at least 2×2 pixels.
    n_classes : int, default 10
        Number of classes.
    """

    def __init__(self, in_shape: Shape = (1, 28, 28), n_classes: int = 10) -> None:
        super().__init__()
        channels, height, width = image_shape(in_shape, "cnn-tiny")
        if min(height, width) < 2:
            raise ValueError(f'cnn-tiny needs images of at least 2×2 pixels, not {height}×{width}; use "mlp".')
        # Strides instead of pooling: most of the time of a small network on a CPU goes into its first, large
        # activations. A second stride would leave too little of images like the 8×8 digits.
        second = 2 if min(height, width) >= 16 else 1
        rows, columns = (_halved(_halved(side), second) for side in (height, width))
        grid = min(4, rows), min(4, columns)
        self.trunk = nn.Sequential(
            nn.Conv2d(channels, 16, 3, stride=2, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=second, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(grid),
            nn.Flatten(),
            nn.Linear(32 * grid[0] * grid[1], 64),
            nn.ReLU(),
        )
        self.feature_dim = 64
        self.head = nn.Linear(64, n_classes)

    def features(self, x: Tensor) -> Tensor:
        """Return the last hidden layer, (n, 64)."""
        out: Tensor = self.trunk(x)
        return out


def _halved(side: int, stride: int = 2) -> int:
    """Return the side of an image after a padded 3×3 convolution with a stride."""
    return (side + stride - 1) // stride
