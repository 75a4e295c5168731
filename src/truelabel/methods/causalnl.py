"""CausalNL (Yao et al.): two classifiers that co-teach, each inside a model of how x and ỹ came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import softmax

from truelabel.methods.causal_vae import CausalVAE, causal_loss
from truelabel.methods.coteaching import CoTeaching
from truelabel.methods.run import EVALUATION_BATCH, Batch, Run, pieces


@dataclass(kw_only=True)
class CausalNL(CoTeaching):
    """Co-teaching plus the evidence lower bound of (x, ỹ) under a structural causal model, for each network.

    Yao, Liu, Gong, Han, Niu and Zhang, "Instance-dependent Label-noise Learning under a Structural Causal
    Model", NeurIPS 2021, its evidence lower bound and algorithm 1: y and z cause x, x and y cause ỹ, and the
    classifier is the encoder q(y | x). Network 1 makes the predictions; `transition` is the mean of p(ỹ | x̂,
    y) over the reconstructions x̂ of the training set, in which an instance counts for class y with q(y | x).

    Parameters
    ----------
    epochs : int, default 150
        The NPC paper's experiments.
    z_dim : int, default 25
        Width of z (theirs; 100 for the real-world sets in the NPC paper's experiments).
    reconstruction, noisy_label, class_prior, z_prior : float, default 0.1, 0.1, 1e-5 and 0.01
        Weights of the bound's terms (their release): squared error of x, cross entropy of ỹ, KL of q(y | x)
        to the uniform distribution (a constant in the release, where it is taken of the wrong argument) and
        of z.
    convolutions : bool, default True
        Whether the model of x looks at images by convolutions. Without them it takes a quarter of the time,
        which suits a classifier that has none either.
    noise_rate : float, optional
        τ; estimated by default.
    gradual : float, default 1/15
        Share of `epochs` over which the forget rate grows to τ (their 10 of 150).
    decay_from : float, default 1
        The learning rate does not fall (their release).
    **parameters
        As in `Method`.
    """

    epochs: int = 150
    z_dim: int = 25
    reconstruction: float = 0.1
    noisy_label: float = 0.1
    class_prior: float = 1e-5
    z_prior: float = 0.01
    convolutions: bool = True
    gradual: float = 1 / 15
    decay_from: float = 1.0

    name = "causalnl"
    summary = "two co-teaching classifiers inside variational models of x and the noisy label"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.z_dim >= 1, "z_dim", "at least 1")
        for weight in ("reconstruction", "noisy_label", "class_prior", "z_prior"):
            self._require(getattr(self, weight) >= 0, weight, "at least 0")

    def modules(self, run: Run) -> dict[str, nn.Module]:
        """Make two classifiers and a generative model for each."""
        made = super().modules(run)
        for name in ("vae", "peer_vae"):
            made[name] = CausalVAE(run.in_shape, run.n_classes, self.z_dim, convolutions=self.convolutions)
        return made

    def loss(self, run: Run, batch: Batch) -> Tensor:
        """Return the co-teaching loss plus both bounds."""
        weights = (self.reconstruction, self.noisy_label, self.class_prior, self.z_prior)
        loss = super().loss(run, batch)
        for name, logits in (("vae", batch.logits), ("peer_vae", batch.peer_logits)):
            loss = loss + causal_loss(cast(CausalVAE, run.modules[name]), batch.inputs, logits, batch.labels, weights)
        return loss

    def transition(self, run: Run) -> Tensor:
        """Return the mean of p(ỹ | x̂, y = k) over the training set, weighted by q(y = k | x), for each class k.

        x̂ is the reconstruction of x as an instance of class k: the decoder of ỹ has seen nothing else, and on x
        itself its answer means little.
        """
        vae = cast(CausalVAE, run.modules["vae"]).eval()
        total = torch.zeros(run.n_classes, run.n_classes, device=run.device)
        classes = torch.eye(run.n_classes, device=run.device)
        with torch.no_grad():
            for rows in pieces(run.rows, EVALUATION_BATCH):
                inputs = run.inputs[rows]
                weights = run.probabilities(rows).clamp_min(1e-12)
                for k, y in enumerate(classes):
                    _, logits, _, _ = vae(inputs, y.expand(len(rows), -1))
                    total[k] += weights[:, k] @ softmax(logits, dim=1)
        return total / total.sum(dim=1, keepdim=True)
