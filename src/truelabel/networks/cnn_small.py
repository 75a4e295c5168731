"""The paper's network for MNIST and Fashion-MNIST."""

from __future__ import annotations

from torch import Tensor, nn

from truelabel.networks.base import Network, Shape, image_shape


class CNNSmall(Network):
    """Two convolutions and two dense layers: the left column of the paper's table of networks.

    3×3 conv, 8, ReLU; 3×3 conv, 16, Tanh; dense 16·h·w → h·w; dense h·w → 256; dense 256 → c. The table names
    no activation for the dense layers: they are ReLU here. The one BatchNorm stands after the first
    convolution, which gives the 10,040,074 parameters of the released experiments for 28×28 pixels and 10
    classes. How these put the layers together is `CNNReleased`.

    Parameters
    ----------
    in_shape : (channels, height, width), default (1, 28, 28)
        Shape of one image. The first dense layer has 16·(h·w)² weights, so images should be small.
    n_classes : int, default 10
        Number of classes.
    """

    def __init__(self, in_shape: Shape = (1, 28, 28), n_classes: int = 10) -> None:
        super().__init__()
        channels, height, width = image_shape(in_shape, "cnn-small")
        pixels = height * width
        self.trunk = nn.Sequential(
            nn.Conv2d(channels, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.Tanh(),
            nn.Flatten(),
            nn.Linear(16 * pixels, pixels),
            nn.ReLU(),
            nn.Linear(pixels, 256),
            nn.ReLU(),
        )
        self.feature_dim = 256
        self.head = nn.Linear(256, n_classes)

    def features(self, x: Tensor) -> Tensor:
        """Return the last hidden layer, (n, 256)."""
        out: Tensor = self.trunk(x)
        return out
