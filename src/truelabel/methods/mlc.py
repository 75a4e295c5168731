"""MLC (Zheng, Awadallah and Dumais): a network that corrects labels, taught by a few clean ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from truelabel.methods.base import Method
from truelabel.methods.run import Batch, Run
from truelabel.networks import Network


class LabelCorrector(nn.Module):
    """p(y | h(x), ỹ): the label correction network, from the classifier's hidden layer and the noisy label.

    Parameters
    ----------
    width : int
        Width of h(x).
    n_classes : int
        Number of classes.
    embedding, hidden : int
        Width of a label's embedding and of the two hidden layers.
    """

    def __init__(self, width: int, n_classes: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_classes, embedding)
        self.layers = nn.Sequential(
            nn.Linear(width + embedding, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, n_classes),
        )

    def forward(self, features: Tensor, labels: Tensor) -> Tensor:
        """Return the corrected labels, one distribution an instance."""
        out: Tensor = self.layers(torch.cat([features, self.embedding(labels)], dim=1))
        return out.softmax(dim=1)


@dataclass(kw_only=True)
class MLC(Method):
    """Train on labels that a second network corrects, so that the classifier gets better on clean ones.

    Zheng, Awadallah and Dumais, "Meta Label Correction for Noisy Label Learning", AAAI 2021: the classifier w
    minimises the cross entropy of the corrected labels q_α(h(x), ỹ), and α minimises the loss of clean instances
    after a step of the classifier, L_clean(w - η ∇_w L(α, w)), whose gradient is taken through the step (k = 1). **It
    uses clean labels**: pass some instances with their true labels to `fit` as `trusted`.

    Parameters
    ----------
    epochs : int, default 120
        The NPC paper's experiments.
    meta_rate : float, default 3e-4
        Learning rate of α (the NPC paper's experiments).
    look_ahead : float, optional
        η; the learning rate by default (their release).
    clean_share : float, default 0.5
        Share of each batch of trusted instances, of the size of a noisy batch, that the classifier trains on beside
        the noisy ones; the rest judges the step (their release: half).
    embedding, hidden : int, default 64 and 128
        Widths in the label correction network (their release).
    **parameters
        As in `Method`.
    """

    epochs: int = 120
    meta_rate: float = 3e-4
    look_ahead: float | None = None
    clean_share: float = 0.5
    embedding: int = 64
    hidden: int = 128

    name = "mlc"
    summary = "a network corrects the labels, taught by a few clean ones (uses clean labels)"
    uses_clean_labels = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.meta_rate > 0, "meta_rate", "positive")
        self._require(self.look_ahead is None or self.look_ahead > 0, "look_ahead", "positive or None")
        self._require(0 <= self.clean_share < 1, "clean_share", "in [0, 1)")
        self._require(self.embedding >= 1, "embedding", "at least 1")
        self._require(self.hidden >= 1, "hidden", "at least 1")

    def modules(self, run: Run) -> dict[str, nn.Module]:
        """Make the classifier and the network that corrects its labels."""
        made = super().modules(run)
        network = made["network"]
        width = network.feature_dim if isinstance(network, Network) else run.n_classes
        return {**made, "corrector": LabelCorrector(width, run.n_classes, self.embedding, self.hidden)}

    def make_optimizer(self, modules: nn.ModuleDict) -> torch.optim.Optimizer:
        """Make an optimiser with a group of its own for the label correction network."""
        optimizer = super().make_optimizer(nn.ModuleDict({"network": modules["network"]}))
        group = {"params": [*modules["corrector"].parameters()], "lr": self.meta_rate, "weight_decay": 0.0}
        optimizer.add_param_group(group)
        return optimizer

    def step(self, run: Run, batch: Batch) -> Tensor:
        """Move the classifier down the loss of corrected labels, and the corrector down the meta-gradient."""
        assert run.trusted is not None
        network, corrector = run.network, cast(LabelCorrector, run.modules["corrector"])
        size = max(4, self.batch_size)
        taught = min(max(2, round(self.clean_share * size)), size - 2) if self.clean_share else 0
        inputs, labels = run.trusted.draw(size)
        loss = corrected_loss(network, corrector, batch, inputs[:taught], labels[:taught])
        weights = {name: weight for name, weight in network.named_parameters() if weight.requires_grad}
        gradient = torch.autograd.grad(loss, [*weights.values()], create_graph=True, materialize_grads=True)
        eta = self.look_ahead or run.optimizer.param_groups[0]["lr"]
        ahead = {name: weight - eta * change for (name, weight), change in zip(weights.items(), gradient, strict=True)}
        directions = clean_gradient(network, ahead, inputs[taught:], labels[taught:])
        meta = [*corrector.parameters()]
        meta_gradient = look_ahead_gradient(meta, gradient, directions, eta)
        for parameter, value in zip([*weights.values(), *meta], [*gradient, *meta_gradient], strict=True):
            parameter.grad = value.detach()
        run.optimizer.step()
        return loss


def corrected_loss(
    network: nn.Module, corrector: LabelCorrector, batch: Batch, inputs: Tensor, labels: Tensor
) -> Tensor:
    """Return the mean cross entropy of the batch's corrected labels and of some clean ones.

    The corrector reads the network's last hidden layer, or its logits where it shows none, but does not teach it.
    """
    features: Tensor = network.features(batch.inputs) if isinstance(network, Network) else network(batch.inputs)
    batch.logits = network.logits(features) if isinstance(network, Network) else features
    corrected: Tensor = corrector(features.detach(), batch.labels)
    total = -(corrected * batch.logits.log_softmax(dim=1)).sum()
    if len(labels):
        total = total + cross_entropy(network(inputs), labels, reduction="sum")
    return total / (len(batch.rows) + len(labels))


def clean_gradient(network: nn.Module, weights: dict[str, Tensor], inputs: Tensor, labels: Tensor) -> list[Tensor]:
    """Return the gradient of the clean loss at other weights than the network's."""
    at = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
    # Copies of the buffers: BatchNorm should not remember a step that is only imagined.
    buffers = {name: value.clone() for name, value in network.named_buffers()}
    loss = cross_entropy(functional_call(network, {**at, **buffers}, (inputs,)), labels)
    return [*torch.autograd.grad(loss, [*at.values()], materialize_grads=True)]


def look_ahead_gradient(
    meta: Sequence[Tensor], gradient: Sequence[Tensor], directions: Sequence[Tensor], eta: float
) -> list[Tensor]:
    """Return the gradient in α of the clean loss after a step, L_clean(w - η g(α)).

    By the chain rule it is -η ∇_α ⟨g(α), v⟩ with v = ∇L_clean(w - η g) held.

    Parameters
    ----------
    meta : tensors
        The parameters α.
    gradient : tensors
        g(α), with its graph.
    directions : tensors
        v.
    eta : float
        η.
    """
    along = torch.stack([(change * way).sum() for change, way in zip(gradient, directions, strict=True)]).sum()
    return [*torch.autograd.grad(-eta * along, meta)]
