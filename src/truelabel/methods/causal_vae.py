"""The generative half of CausalNL: how an instance and its noisy label come about."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, prod

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gumbel_softmax, mse_loss

from truelabel import networks


class CausalVAE(nn.Module):
    """q(z | x, y), p(x | y, z) and p(ỹ | x, y) of CausalNL; q(y | x) is the classifier.

    Images go through convolutions (the trunk of `networks.CNNTiny`, upsampling in the decoder) unless told
    otherwise, other inputs through fully connected layers.

    Parameters
    ----------
    in_shape : sequence of int
        Shape of one instance.
    n_classes : int
        Number of classes.
    z_dim : int
        Width of z.
    convolutions : bool, default True
        Whether images go through convolutions.
    """

    def __init__(self, in_shape: Sequence[int], n_classes: int, z_dim: int, *, convolutions: bool = True) -> None:
        super().__init__()
        convolutions = convolutions and len(in_shape) == 3
        trunk = "cnn-tiny" if convolutions else "mlp"
        self.z_trunk, self.label_trunk = (networks.build(trunk, in_shape, n_classes) for _ in range(2))
        width = self.z_trunk.feature_dim
        self.z_head = nn.Linear(width + n_classes, 2 * z_dim)
        self.label_head = nn.Linear(width + n_classes, n_classes)
        self.decoder = _decoder(z_dim + n_classes, in_shape, convolutions)

    def noise_logits(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logits of p(ỹ | x, y)."""
        out: Tensor = self.label_head(torch.cat([self.label_trunk.features(x), y], dim=1))
        return out

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the reconstruction x̂, the logits of ỹ, and mean and log-variance of z."""
        mean, log_variance = self.z_head(torch.cat([self.z_trunk.features(x), y], dim=1)).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        rebuilt = self.decoder(torch.cat([z, y], dim=1))
        return rebuilt, self.noise_logits(rebuilt, y), mean, log_variance


def causal_loss(
    vae: CausalVAE, x: Tensor, logits: Tensor, labels: Tensor, weights: tuple[float, float, float, float]
) -> Tensor:
    """Return the negative evidence lower bound of (x, ỹ), its four terms weighted.

    The terms are the squared error of x̂, -log p(ỹ | x̂, y), KL(q(y|x)‖uniform) and KL(q(z|x,y)‖N(0, I)).
    Classes are drawn from q(y | x) by the Gumbel softmax.
    """
    y = gumbel_softmax(logits)
    rebuilt, noisy, mean, log_variance = vae(x, y)
    log_q = logits.log_softmax(dim=1)
    class_kl = (log_q.exp() * (log_q + log(logits.shape[1]))).sum(dim=1).mean()
    # Summed over the batch and without the factor ½, as in the release, whose weight this is.
    z_kl = (mean.square() + log_variance.exp() - 1 - log_variance).sum()
    terms = (mse_loss(rebuilt, x), cross_entropy(noisy, labels), class_kl, z_kl)
    return torch.stack([weight * term for weight, term in zip(weights, terms, strict=True)]).sum()


def _decoder(width: int, in_shape: Sequence[int], convolutions: bool) -> nn.Module:
    if not convolutions:
        return nn.Sequential(
            nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, prod(in_shape)), nn.Unflatten(1, tuple(in_shape))
        )
    channels, height, rows = in_shape
    half = max(1, height // 2), max(1, rows // 2)
    return nn.Sequential(
        nn.Linear(width, 32 * 4 * 4),
        nn.Unflatten(1, (32, 4, 4)),
        nn.ReLU(),
        nn.Upsample(size=half),
        nn.Conv2d(32, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Upsample(size=(height, rows)),
        nn.Conv2d(16, channels, 3, padding=1),
    )
