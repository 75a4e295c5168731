"""The network that the released experiments train on MNIST and Fashion-MNIST."""

from __future__ import annotations

from torch import Tensor, nn

from truelabel.networks.base import Network, Shape, image_shape


class CNNReleased(Network):
    """What the authors' released experiments train in place of `CNNSmall`, with the same 10,040,074 parameters.

    3×3 conv, 8, ReLU, BatchNorm; 3×3 conv, 16, Tanh; dense 16·h·w → h·w, dropout; dense h·w → 256; dense 256 → c. The
    dense layers have no activation, so that from the second convolution on the network is linear; BatchNorm stands
    behind the ReLU. The paper's table of networks shows neither that nor the dropout.

    Parameters
    ----------
    in_shape : (channels, height, width), default (1, 28, 28)
        Shape of one image. The first dense layer has 16·(h·w)² weights, so images should be small.
    n_classes : int, default 10
        Number of classes.
    dropout : float, default 0.3
        Dropout after the first dense layer (theirs; 0 for CausalNL).
    """

    def __init__(self, in_shape: Shape = (1, 28, 28), n_classes: int = 10, dropout: float = 0.3) -> None:
        super().__init__()
        channels, height, width = image_shape(in_shape, "cnn-released")
        pixels = height * width
        self.trunk = nn.Sequential(
            nn.Conv2d(channels, 8, 3, padding=1),
            nn.ReLU(),
            nn.BatchNorm2d(8),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.Tanh(),
            nn.Flatten(),
            nn.Linear(16 * pixels, pixels),
            nn.Dropout(dropout),
            nn.Linear(pixels, 256),
        )
        self.feature_dim = 256
        self.head = nn.Linear(256, n_classes)

    def features(self, x: Tensor) -> Tensor:
        """Return the last hidden layer, (n, 256)."""
        out: Tensor = self.trunk(x)
        return out
