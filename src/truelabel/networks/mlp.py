"""A multilayer perceptron, for features and tables."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from truelabel.networks.base import Network


class MLP(Network):
    """Fully connected layers with ReLU. Inputs of any shape are flattened.

    Parameters
    ----------
    d : int
        Number of input values.
    n_classes : int
        Number of classes.
    hidden : sequence of int, default (256, 256)
        Width of each hidden layer; at least one.
    """

    def __init__(self, d: int, n_classes: int = 10, hidden: Sequence[int] = (256, 256)) -> None:
        super().__init__()
        if not hidden:
            raise ValueError("hidden is empty; give an MLP at least one hidden layer, as in hidden=(256,).")
        layers: list[nn.Module] = [nn.Flatten()]
        for before, after in zip((d, *hidden), hidden, strict=False):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.trunk = nn.Sequential(*layers)
        self.feature_dim = hidden[-1]
        self.head = nn.Linear(self.feature_dim, n_classes)

    def features(self, x: Tensor) -> Tensor:
        """Return the last hidden layer, (n, h)."""
        out: Tensor = self.trunk(x)
        return out
