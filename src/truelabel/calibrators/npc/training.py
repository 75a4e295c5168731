"""Training the autoencoder: the paper's evidence lower bound, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from truelabel.arrays import Floats
from truelabel.calibrators.npc.dirichlet import SAMPLERS, Sampler, multi_gamma_kl
from truelabel.calibrators.npc.model import DirichletVAE
from truelabel.calibrators.npc.trunk import Source
from truelabel.predictions import Predictions
from truelabel.progress import Progress

RELIANCE_RATE = 4.0  # one number may learn faster than many
Shape = Literal["one-hot", "top-k", "shares"]


@dataclass(frozen=True)
class Concentrations:
    """α_x = base + ρ·shape(p̄): how a belief becomes the prior's concentrations (paper, Eq. 7 and appendix).

    "one-hot" puts ρ on the class with most votes, "top-k" gives the `top_k` first classes ρ times their share, and
    "shares" does so for all classes. `base` is δ, and 1/c more in the paper's recipe.
    """

    shape: Shape
    top_k: int
    rho: float
    base: float

    def __call__(self, shares: Tensor) -> Tensor:
        if self.shape == "one-hot":
            shares = functional.one_hot(shares.argmax(1), shares.shape[1]).to(shares.dtype)
        elif self.shape == "top-k":
            top = shares.topk(min(self.top_k, shares.shape[1]), dim=1)
            shares = torch.zeros_like(shares).scatter(1, top.indices, top.values)
        return self.base + self.rho * shares


def negative_elbo(
    vae: DirichletVAE,
    x: Tensor,
    probs: Tensor,
    predicted: Tensor,
    prior: Tensor,
    *,
    beta: float,
    sampler: Sampler,
) -> Tensor:
    """−ELBO (paper, Eq. 6), a mean over the batch: Bernoulli likelihood of each class of ŷ, and β times the KL."""
    posterior, logits = vae(x, probs, predicted, sampler)
    target = functional.one_hot(predicted, logits.shape[1]).to(logits.dtype)
    reconstruction = functional.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(1)
    return (reconstruction + beta * multi_gamma_kl(posterior, prior)).mean()


def train(
    vae: DirichletVAE,
    source: Source,
    predictions: Predictions,
    shares: Floats,
    concentrations: Concentrations,
    *,
    beta: float,
    sampler: str,
    draw_predictions: bool,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    decay: bool,
    own_word: float,
    device: torch.device,
    progress: Progress,
) -> list[float]:
    """Train `vae` in place with Adam; return the mean loss of each epoch.

    ŷ is the class the classifier predicts, or drawn anew from p(ŷ | x) at each step (`draw_predictions`), so that
    what is trained is what the sum over ŷ asks for. With `decay` the learning rate falls to 0 in a straight line, so
    that the network ends at rest and not wherever the last draws of y and ŷ have pushed it. `own_word` is a factor of
    the rate at which the weight of the classifier is learned.
    """
    draw = SAMPLERS[sampler]
    others = [parameter for parameter in vae.parameters() if parameter is not vae.reliance]
    rates = learning_rate, RELIANCE_RATE * own_word * learning_rate
    groups = [{"params": part, "lr": rate} for part, rate in zip((others, [vae.reliance]), rates, strict=True)]
    optimizer = torch.optim.Adam(groups, fused=device.type != "mps")
    n = len(predictions)
    batches = max(1, round(n / batch_size))
    step = 0
    vae.train()
    history = []
    for _ in progress.track(range(epochs), "autoencoder"):
        order = torch.randperm(n).numpy()
        total = 0.0
        for rows in np.array_split(order, batches):
            prior = concentrations(torch.from_numpy(shares[rows]).to(device))
            probs = torch.from_numpy(predictions.block(rows)).to(device)
            predicted = probs.multinomial(1)[:, 0] if draw_predictions else probs.argmax(1)
            loss = negative_elbo(vae, source(rows, device), probs, predicted, prior, beta=beta, sampler=draw)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            step += 1
            if decay:
                for group, rate in zip(optimizer.param_groups, rates, strict=True):
                    group["lr"] = rate * (1 - step / (epochs * batches))
            total += float(loss.detach()) * len(rows)
        history.append(total / n)
    vae.eval()
    return history
