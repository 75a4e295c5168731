"""Out-of-fold heads: small networks on label-free features, each asked only about what it has not seen.

The heads of all folds train side by side as one batched network, so that five cost little more than one.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.arrays import Array, Floats, Ints, float32, row_blocks
from truelabel.copies import Copies, folds_of
from truelabel.label_noise.swap_tests import proven, suspected
from truelabel.label_noise.swaps import Swaps
from truelabel.pool import clearly_above
from truelabel.progress import Progress
from truelabel.scale import Scale

FOLDS = 5
PATIENT_STEPS = 100  # an epoch of small data is too short to lose patience by
SIMPLE_STEPS = 100  # after which heads know the simplest boundary
FAINT = 0.2  # chance of a swap on the boundary below which heads go on without swaps
BEYOND_DOUBT = 15.0  # standard errors by which heads that learn through swaps are ahead, for the others to be given up


class FoldHeads(nn.Module):
    """One hidden layer and one output layer for each fold, all in one batched product."""

    def __init__(self, folds: int, width: int, hidden: int, n_classes: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.empty(folds, width, hidden).uniform_(-1, 1) / math.sqrt(width))
        self.first_bias = nn.Parameter(torch.zeros(folds, 1, hidden))
        self.last = nn.Parameter(torch.empty(folds, hidden, n_classes).uniform_(-1, 1) / math.sqrt(hidden))
        self.last_bias = nn.Parameter(torch.zeros(folds, 1, n_classes))

    def forward(self, x: Tensor, dropout: tuple[float, float] = (0.0, 0.0)) -> Tensor:
        """Logits (folds, n, c) of x (folds, n, d), or of one x (n, d) for all folds.

        `dropout` is the share of the inputs and of the hidden units that is left out, at random.
        """
        if x.ndim == 2:
            x = x.expand(len(self.first), *x.shape)
        inputs, units = dropout
        hidden = torch.relu(torch.baddbmm(self.first_bias, functional.dropout(x, inputs), self.first))
        return torch.baddbmm(self.last_bias, functional.dropout(hidden, units), self.last)


@dataclass(frozen=True)
class HeadSettings:
    """How the heads are trained.

    Attributes
    ----------
    hidden : int
        Hidden units of a head.
    dropout : (float, float)
        Share of the inputs and of the hidden units that a step leaves out, where a head has more weights on its inputs
        than instances to learn from, so that it could learn these by heart. It then has more units, so that as many as
        `hidden` are left. The usual shares (Srivastava et al., 2014).
    epochs, batch_size, learning_rate, weight_decay, least_steps
        Of Adam.
    patience : int
        Epochs without a better likelihood out of fold after which a head stops.
    swaps_rate : float
        Learning rate of the chances that labels are swapped.
    """

    hidden: int = 128
    dropout: tuple[float, float] = (0.2, 0.5)
    epochs: int = 15
    batch_size: int = 128
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    least_steps: int = 300
    patience: int = 3
    swaps_rate: float = 2e-2

    def for_data(self, instances: int, width: int) -> HeadSettings:
        """Return the settings for so many instances and inputs: with dropout and more units, or without."""
        if self.hidden * width <= instances:
            return replace(self, dropout=(0.0, 0.0))
        return replace(self, hidden=round(self.hidden / (1 - self.dropout[1])))


class Foretold(NamedTuple):
    """What heads say, and what they are made of.

    Attributes
    ----------
    said : (n, c) array
        p(label | x), or p before labels are swapped.
    heads : FoldHeads
        The heads.
    swaps : Swaps, optional
        What the heads learned to predict the labels through, where labels prove to be swapped near a boundary.
    """

    said: Floats
    heads: FoldHeads
    swaps: Swaps | None


def out_of_fold(
    view: Array,
    scale: Scale,
    labels: Ints,
    reference: Ints,
    n_classes: int,
    *,
    device: torch.device,
    seed: int,
    progress: Progress,
    settings: HeadSettings | None = None,
    swaps: bool = False,
    copies: Copies | None = None,
) -> Foretold:
    """Foretell the label of every row of `view` by heads that have not seen it.

    The heads train on the `reference` rows, cut into folds. A reference row is predicted by the head of its fold,
    any other by the mean of all heads. Of the states after each epoch the one with the best likelihood of the
    (noisy) labels out of fold is kept. Copies are in one fold, and predicted by the head of that fold, also where they
    are not in the reference.

    With `swaps`, heads that know the simplest boundary only are asked whether labels are swapped near it. If so, a
    copy of them learns to predict the labels through swaps, which learn along, beside those that go on without. The
    copy has to prove better; it is given up where hardly any swaps are left, and the others where nothing else is
    possible any more.
    """
    settings = settings or HeadSettings()
    rng = np.random.default_rng(seed)
    fold_of = folds_of(copies, reference, FOLDS, rng)
    folds = int(fold_of.max()) + 1
    x = torch.from_numpy(scale(float32(view, reference))).to(device)
    y = torch.from_numpy(labels[reference]).to(device)
    seen = [torch.from_numpy(np.flatnonzero(fold_of != f)) for f in range(folds)]
    fold = torch.from_numpy(fold_of).to(device)
    shortest = min(len(rows) for rows in seen)
    batch = min(max(8, min(settings.batch_size, shortest // 4)), shortest)
    per_epoch = max(1, shortest // batch)
    epochs = max(settings.epochs, math.ceil(settings.least_steps / per_epoch))
    patience = max(settings.patience, math.ceil(PATIENT_STEPS / per_epoch))
    settings = settings.for_data(shortest, x.shape[1])
    plain = _Learning(FoldHeads(folds, x.shape[1], settings.hidden, n_classes).to(device), settings)
    through: _Learning | None = None
    learning, certain = [plain], False
    for epoch in progress.track(range(1, epochs + 1), "out-of-fold heads"):
        orders = torch.stack([rows[torch.randperm(len(rows))[: per_epoch * batch]] for rows in seen]).to(device)
        for one in learning:
            one.learn(x, y, orders, batch)
            one.judge(x, y, fold)
        if swaps and epoch == math.ceil(SIMPLE_STEPS / per_epoch) and suspected(plain.said, y):
            through = plain.through_swaps()
            through.judge(x, y, fold)
            learning.append(through)
        if through in learning and through.on_boundary() < FAINT:
            learning.remove(through)
            through = None
        elif through in learning and plain in learning:
            certain = clearly_above(through.likelihood, plain.likelihood, BEYOND_DOUBT)
            learning = [through] if certain else learning
        learning = [one for one in learning if one.since < patience]
        if not learning:
            break
    best = through if through is not None and (certain or _better(through, plain, labels[reference])) else plain
    unseen_by = None if copies is None else copies.folds_elsewhere(reference, fold_of)
    said = everywhere(best.heads, view, scale, reference, best.keep(), device, unseen_by)
    return Foretold(said, best.heads, best.swaps)


def _better(through: _Learning, plain: _Learning, labels: Ints) -> bool:
    """Return whether heads that learned through swaps prove better than others, each at its best."""
    assert through.swaps is not None
    said, said_plainly = (one.keep().exp().cpu().numpy() for one in (through, plain))
    return proven(through.swaps, said, said_plainly, labels)


class _Learning:
    """Heads that learn, and the swaps that they learn through, if any."""

    def __init__(self, heads: FoldHeads, settings: HeadSettings) -> None:
        self.heads, self.settings = heads, settings
        self.swaps: Swaps | None = None
        self.optimizer = torch.optim.Adam(
            heads.parameters(),
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=heads.first.device.type != "mps",
        )
        self.best, self.since = math.inf, 0
        self.kept: tuple[dict[str, Tensor], dict[str, Tensor], Tensor] | None = None

    def through_swaps(self) -> _Learning:
        """Return a copy that learns through swaps."""
        other = copy.deepcopy(self)
        other.swaps = Swaps().to(self.heads.first.device)
        other.optimizer.add_param_group(
            {"params": other.swaps.parameters(), "lr": self.settings.swaps_rate, "weight_decay": 0}
        )
        other.best = math.inf
        return other

    def learn(self, x: Tensor, y: Tensor, orders: Tensor, batch: int) -> None:
        """Learn for an epoch: the rows of each fold, in their order."""
        for start in range(0, orders.shape[1], batch):
            picked = orders[:, start : start + batch]
            said = torch.log_softmax(self.heads(x[picked], self.settings.dropout), dim=-1).flatten(0, 1)
            loss = functional.nll_loss(said if self.swaps is None else self.swaps(said), y[picked].flatten())
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()

    @torch.inference_mode()
    def judge(self, x: Tensor, y: Tensor, fold: Tensor) -> None:
        """Ask each head about what it has not seen; keep this state if none was better."""
        self.said = _own_fold(self.heads, x, fold)
        through = self.said if self.swaps is None else self.swaps(self.said)
        self.likelihood = through.gather(1, y[:, None])[:, 0].cpu().numpy()
        loss = float(functional.nll_loss(through, y))
        self.since += 1
        if loss < self.best:
            self.best, self.since = loss, 0
            self.kept = _state(self.heads), _state(self.swaps), self.said

    def keep(self) -> Tensor:
        """Go back to the best state; return what it said out of fold."""
        assert self.kept is not None
        heads, swaps, said = self.kept
        self.heads.load_state_dict(heads)
        if self.swaps is not None:
            self.swaps.load_state_dict(swaps)
        return said

    @torch.inference_mode()
    def on_boundary(self) -> float:
        """Return the chance of a swap on the boundary."""
        assert self.swaps is not None
        return float(self.swaps.chance(torch.zeros((), device=self.heads.first.device)))


def _state(part: nn.Module | None) -> dict[str, Tensor]:
    return {} if part is None else {k: v.detach().clone() for k, v in part.state_dict().items()}


@torch.inference_mode()
def _own_fold(heads: FoldHeads, x: Tensor, fold: Tensor) -> Tensor:
    out = torch.empty(len(x), heads.last.shape[2], device=x.device)
    for f in range(len(heads.first)):
        rows = fold == f
        hidden = torch.relu(x[rows] @ heads.first[f] + heads.first_bias[f])
        out[rows] = torch.log_softmax(hidden @ heads.last[f] + heads.last_bias[f], dim=1)
    return out


@torch.inference_mode()
def everywhere(
    heads: FoldHeads,
    view: Array,
    scale: Scale,
    reference: Ints,
    own: Tensor,
    device: torch.device,
    unseen_by: Ints | None = None,
) -> Floats:
    """Return what the heads say of every row of `view`: of the reference `own`, and of others what all say on average.

    `unseen_by` (n,) names a fold for rows that only the head of that fold has not seen, in a copy; −1 for the others.
    """
    out = np.empty((len(view), heads.last.shape[2]), dtype=np.float32)
    out[reference] = own.exp().cpu().numpy()
    others = np.delete(np.arange(len(view)), reference)
    for block in row_blocks(len(others), 16_384):
        rows = others[block]
        x = torch.from_numpy(scale(float32(view, rows))).to(device)
        said = torch.softmax(heads(x), dim=2)
        out[rows] = said.mean(0).cpu().numpy()
        if unseen_by is not None:
            copied = np.flatnonzero(unseen_by[rows] >= 0)
            out[rows[copied]] = said[unseen_by[rows[copied]], copied].cpu().numpy()
    return out
