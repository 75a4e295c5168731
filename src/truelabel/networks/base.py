"""What every network here has: features and logits apart."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

Shape = tuple[int, ...]


class Network(nn.Module, ABC):
    """A classifier whose last hidden layer can be read: ``forward(x) = logits(features(x))``.

    Attributes
    ----------
    head : torch.nn.Linear
        The last layer, from features to logits.
    feature_dim : int
        Width h of the last hidden layer.
    """

    head: nn.Linear
    feature_dim: int

    @abstractmethod
    def features(self, x: Tensor) -> Tensor:
        """Return the last hidden layer, (n, h)."""

    def logits(self, features: Tensor) -> Tensor:
        """Return the logits of the classes, (n, c), from the last hidden layer."""
        out: Tensor = self.head(features)
        return out

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of the classes, (n, c)."""
        return self.logits(self.features(x))


def image_shape(in_shape: Shape, name: str) -> tuple[int, int, int]:
    """Return `in_shape` as (channels, height, width), or say that `name` takes images only."""
    if len(in_shape) != 3:
        raise ValueError(
            f'{name} takes images (channels, height, width), but the inputs have shape {in_shape}; use "mlp".'
        )
    channels, height, width = in_shape
    return channels, height, width
