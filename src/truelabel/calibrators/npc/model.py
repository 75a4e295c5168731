"""The Dirichlet variational autoencoder of NPC and the calibrated prediction it gives."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.calibrators.npc.dirichlet import Sampler, dirichlet_mode
from truelabel.scale import TINY

Link = Literal["softplus", "exp"]

FLOOR = 1e-6  # least p(ŷ | x) whose logarithm is taken


class Standardise(nn.Module):
    """(x − mean) / scale with constants that are saved and exported with the network.

    Parameters
    ----------
    mean, scale : (d,) tensors
        The constants.
    unit : (views, d) tensor, optional
        Which columns belong to each view whose rows are then brought to the same length (a mean square of 1).
    """

    mean: Tensor
    scale: Tensor
    unit: Tensor | None

    def __init__(self, mean: Tensor, scale: Tensor, unit: Tensor | None = None) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)
        self.register_buffer("unit", unit)

    def forward(self, x: Tensor) -> Tensor:
        scaled = (x - self.mean) / self.scale
        if self.unit is None:
            return scaled
        square = scaled.square() @ self.unit.T / self.unit.sum(dim=1)
        return scaled * (square.clamp_min(TINY).rsqrt() @ self.unit + (1 - self.unit.sum(dim=0)))


class DirichletVAE(nn.Module):
    """q(y | ŷ, x) = Dir(α̂(x, ŷ)) and p(ŷ | y, x), on a trunk f(x).

    The encoder is additive in [f(x); ŷ]: its activations for ŷ = k are a(x) + U_k, so one pass over x gives all c
    rows of H. Two links turn activations into concentrations, and their mode into H:

    - ``softplus`` (the paper): α̂ = softplus(a + U_k) + 1 + 1/c;
    - ``exp``: α̂ = ρ·softmax(a + U_k) + 1, so that H_k = softmax(a + U_k) is Bayes' rule, and the sum over k is two
      matrix products, whatever the number of classes. α̂ − 1 sums to the prior's weight ρ, since it is the mean of the
      prior's ρ·p̄ wherever the bound is tight.

    Parameters
    ----------
    trunk : module
        f(x).
    width : int
        Dimension of f(x).
    n_classes : int
        c.
    link : {"softplus", "exp"}
        See above.
    reliance : float
        With the exp link, a(x) holds `reliance` times log p(ŷ | x), and reliance is learned unless it is 0. The rest
        starts at (almost) zero, or where `start_from` sets it. At 1 the untrained network is the classifier itself.
    named : (c, c) tensor, optional
        Evidence of the class that the classifier names, in row k if that is k. Where given, `reliance` is its weight
        instead of that of log p(ŷ | x), until `settle` makes it part of U.
    strength : float
        ρ: Σ(α̂ − 1) with the exp link.
    """

    def __init__(
        self,
        trunk: nn.Module,
        width: int,
        n_classes: int,
        *,
        link: Link = "softplus",
        reliance: float = 0.0,
        named: Tensor | None = None,
        strength: float = 5.0,
    ) -> None:
        super().__init__()
        self.trunk = trunk
        self.link = link
        self.encoder = nn.Linear(width + n_classes, n_classes)
        self.decoder = nn.Linear(width + n_classes, n_classes)
        self.reliance = nn.Parameter(torch.tensor(float(reliance)), requires_grad=reliance > 0)
        self.named = named
        self.log_strength = math.log(strength)
        if link == "exp":
            with torch.no_grad():
                self.encoder.weight[:, :width] *= 0.01
                self.encoder.weight[:, width:] = 0
                self.encoder.bias.zero_()

    @torch.no_grad()
    def start_from(self, weight: Tensor, bias: Tensor) -> None:
        """Set the encoder's weights on f(x), (c, width), and its bias."""
        self.encoder.weight[:, : weight.shape[1]] = weight
        self.encoder.bias[:] = bias

    @property
    def offset(self) -> float:
        """What concentrations have at least; the paper's link adds 1/c, as its released experiments do."""
        return 1 + 1 / self.encoder.out_features if self.link == "softplus" else 1.0

    @torch.no_grad()
    def settle(self) -> None:
        """Make what the named class is evidence of a part of U."""
        if self.named is not None:
            self.encoder.weight[:, -self.encoder.out_features :] += (self.reliance * self.named).T
            self.reliance.zero_()
            self.named = None

    def _per_class(self) -> Tensor:
        """U, of which row k is added to the encoder's activations where the classifier names k."""
        _, per_class = self._split(self.encoder)
        return per_class if self.named is None else per_class + self.reliance * self.named

    def _split(self, layer: nn.Linear) -> tuple[Tensor, Tensor]:
        """Return the layer's weights on f(x) and on the class vector (rows: the class that goes in)."""
        c = layer.out_features
        return layer.weight[:, :-c], layer.weight[:, -c:].T

    def _activations(self, f: Tensor, probs: Tensor) -> Tensor:
        """a(x): the part of the encoder that does not depend on ŷ."""
        on_f, _ = self._split(self.encoder)
        activations = functional.linear(f, on_f, self.encoder.bias)
        if self.link == "exp" and self.named is None:
            activations = activations + self.reliance * probs.clamp_min(FLOOR).log()
        return activations

    def _concentration(self, activations: Tensor) -> Tensor:
        """α̂ from the encoder's activations a(x) + U_k."""
        if self.link == "softplus":
            return functional.softplus(activations) + self.offset
        return (activations.log_softmax(1) + self.log_strength).exp() + self.offset

    def forward(self, x: Tensor, probs: Tensor, predicted: Tensor, sampler: Sampler) -> tuple[Tensor, Tensor]:
        """Return α̂(x, ŷ) and the decoder's logits of ŷ for one draw of y."""
        f = self.trunk(x)
        per_class = self._per_class()
        on_f, on_y = self._split(self.decoder)
        alpha = self._concentration(self._activations(f, probs) + per_class[predicted])
        return alpha, functional.linear(f, on_f, self.decoder.bias) + sampler(alpha) @ on_y

    def posterior(self, x: Tensor, probs: Tensor, predicted: Tensor) -> tuple[Tensor, Tensor]:
        """α̂(x, ŷ), the concentrations of q(y | ŷ, x), and their mode, the row of H.

        With the exp link the mode is taken from the activations: α̂ − 1 has few digits where it is small.
        """
        per_class = self._per_class()
        activations, chosen = self._activations(self.trunk(x), probs), per_class[predicted]
        return self._concentration(activations + chosen), self._rows(activations, chosen.unsqueeze(1))[:, 0]

    def transition(self, x: Tensor, probs: Tensor) -> Tensor:
        """H(x) of shape (n, c, c): H[:, k, j] = p(y = j | ŷ = k, x)."""
        return self._rows(self._activations(self.trunk(x), probs), self._per_class())

    def _rows(self, activations: Tensor, per_class: Tensor) -> Tensor:
        """Rows of H for the ŷ whose U_k are given."""
        summed = activations.unsqueeze(1) + per_class
        if self.link == "exp":
            return summed.softmax(-1)
        return dirichlet_mode(self._concentration(summed))

    def calibrate(self, x: Tensor, probs: Tensor, cut: float = 0.0) -> Tensor:
        """p(y | x) = Σ_k H_k(x) p(ŷ = k | x).

        With the softplus link the sum runs over the k with p(ŷ = k | x) > cut / c only, if `cut` is given: what is
        left out has a probability of at most `cut` in all, so no entry is off by more than 2·cut.
        """
        activations = self._activations(self.trunk(x), probs)
        per_class = self._per_class()
        if self.link == "exp":
            # H_kj = e^{a_j} e^{U_kj} / Z_k; each factor is scaled by its maximum so that neither overflows.
            on_x = (activations - activations.amax(1, keepdim=True)).exp()
            on_y = (per_class - per_class.amax(1, keepdim=True)).exp()
            totals = (on_x @ on_y.T).clamp_min(torch.finfo(on_x.dtype).tiny)
            return on_x * ((probs / totals) @ on_y)
        kept = int((probs > cut / probs.shape[1]).sum(1).amax()) if cut else probs.shape[1]
        if kept < probs.shape[1]:
            probs, chosen = probs.topk(kept, dim=1)
            probs, per_class = probs / probs.sum(1, keepdim=True), per_class[chosen]
        return torch.einsum("nk,nkj->nj", probs, self._rows(activations, per_class))
