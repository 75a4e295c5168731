"""Labels swapped near a class boundary: noise that depends on how close the two likeliest classes are.

A transition matrix is the same for all instances and says nothing of this kind of noise, and no part of it shows on
the instances whose class is sure. But a network that is made to predict the labels through swaps needs a simpler
boundary than one that has to bend around every swapped label, so that both can be learned from the noisy labels alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.arrays import Array, Floats, Ints, row_blocks

START = (-0.5, 0.0, -1.0)  # at first a third of the labels at the boundary are swapped, and none far from it
WIDEST = 20.0  # log-odds from which all margins are alike
TINY = 1e-12
BLOCK = 16_384


class Swaps(nn.Module):
    """The chance that a label is swapped between the two likeliest classes, as a function of their log-odds.

    A logistic function of a polynomial of degree two that falls in the end: labels far from a boundary stay.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor(START))

    def chance(self, margin: Tensor) -> Tensor:
        """Return the chance of a swap at these log-odds of the likeliest class against the next."""
        at_zero, slope, bend = self.weights
        margin = margin.clamp(max=WIDEST)
        return torch.sigmoid(at_zero + margin * (slope - functional.softplus(bend) * margin))

    def forward(self, log_probs: Tensor) -> Tensor:
        """Return log p(ỹ | x) from log p before labels are swapped."""
        best, pair = log_probs.topk(2, dim=-1)
        probs = best.exp()
        gap = probs[..., :1] - probs[..., 1:]
        moved = self.chance(best[..., :1] - best[..., 1:]) * gap
        swapped = probs + torch.cat([-moved, moved], dim=-1)
        return log_probs.scatter(-1, pair, swapped.clamp_min(TINY).log())

    def fit(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """Choose the chances under which labels are likeliest; return p before swaps, at its best temperature."""
        sharpness = nn.Parameter(torch.zeros((), device=log_probs.device))
        optimizer = torch.optim.LBFGS([*self.parameters(), sharpness], max_iter=60, line_search_fn="strong_wolfe")

        def loss() -> Tensor:
            optimizer.zero_grad()
            said = torch.log_softmax(log_probs * sharpness.exp(), dim=-1)
            value = functional.nll_loss(self(said), labels)
            value.backward()  # type: ignore[no-untyped-call]
            return value

        optimizer.step(loss)  # type: ignore[no-untyped-call]
        return torch.softmax(log_probs * sharpness.detach().exp(), dim=-1)

    @torch.inference_mode()
    def at(self, probs: Floats) -> Swapped:
        """Return which labels are swapped, and with what chance, where p before swaps is `probs`."""
        pair = np.empty((len(probs), 2), dtype=np.int64)
        chance = np.empty(len(probs), dtype=np.float32)
        self.to("cpu")
        for rows in row_blocks(len(probs), BLOCK):
            best, found = torch.from_numpy(probs[rows]).clamp_min(TINY).log().topk(2, dim=1)
            pair[rows] = found.numpy()
            chance[rows] = self.chance(best[:, 0] - best[:, 1]).numpy()
        return Swapped(pair, chance)


@dataclass(frozen=True)
class Swapped:
    """The two classes whose labels may be swapped for each of n instances, and the chance that they are.

    Attributes
    ----------
    pair : (n, 2) array
        Class indices.
    chance : (n,) array
        In [0, 1].
    """

    pair: Ints
    chance: Floats

    def __getitem__(self, rows: slice | Ints) -> Swapped:
        return Swapped(self.pair[rows], self.chance[rows])

    def exchange(self, probs: Floats) -> Floats:
        """Return probabilities with the pair's exchanged as far as labels are.

        This leads from p before swaps to p(ỹ | x), and back from what somebody says who learned from swapped labels:
        at even chances nothing is known of the two, above them the opposite of what was said.
        """
        out = np.array(probs, dtype=np.float32)
        at = np.arange(len(out))
        one, other = out[at, self.pair[:, 0]], out[at, self.pair[:, 1]]
        moved = self.chance * (one - other)
        out[at, self.pair[:, 0]] -= moved
        out[at, self.pair[:, 1]] += moved
        return out

    def before(self, labels: Ints) -> tuple[Ints, Floats]:
        """Return what each label is if it was swapped, and the chance of that, 0 for labels outside the pair."""
        first, second = self.pair.T
        other = np.where(labels == first, second, np.where(labels == second, first, labels))
        return other, np.where(other == labels, np.float32(0), self.chance)

    def share(self, probs: Floats) -> float:
        """Return the share of all labels that are swapped, where p before is `probs`."""
        at = np.arange(len(probs))
        return float(np.mean(self.chance * (probs[at, self.pair[:, 0]] + probs[at, self.pair[:, 1]])))

    def matrix(self, probs: Floats) -> Array:
        """Return p(label after swaps | label before) over all instances, where p before is `probs`."""
        c = probs.shape[1]
        at = np.arange(len(probs))
        moved = np.zeros((c, c))
        for one, other in (self.pair.T, self.pair.T[::-1]):
            np.add.at(moved, (one, other), self.chance * probs[at, one])
        moved /= np.maximum(probs.sum(axis=0, dtype=np.float64), TINY)[:, None]
        return moved + np.diag(1 - moved.sum(axis=1))
