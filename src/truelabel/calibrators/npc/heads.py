"""Out-of-fold heads: small networks on label-free features, each asked only about what it has not seen.

The heads of all folds train side by side as one batched network, so that five cost little more than one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.arrays import Array, Floats, Ints, float32, row_blocks
from truelabel.calibrators.npc.label_noise import suspected
from truelabel.calibrators.npc.swaps import Swaps
from truelabel.progress import Progress
from truelabel.scale import Scale

FOLDS = 5
PATIENT_STEPS = 100  # an epoch of small data is too short to lose patience by
SIMPLE_STEPS = 100  # after which heads know the simplest boundary


class FoldHeads(nn.Module):
    """One hidden layer and one output layer for each fold, all in one batched product."""

    def __init__(self, folds: int, width: int, hidden: int, n_classes: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.empty(folds, width, hidden).uniform_(-1, 1) / math.sqrt(width))
        self.first_bias = nn.Parameter(torch.zeros(folds, 1, hidden))
        self.last = nn.Parameter(torch.empty(folds, hidden, n_classes).uniform_(-1, 1) / math.sqrt(hidden))
        self.last_bias = nn.Parameter(torch.zeros(folds, 1, n_classes))

    def forward(self, x: Tensor) -> Tensor:
        """Logits (folds, n, c) of x (folds, n, d), or of one x (n, d) for all folds."""
        if x.ndim == 2:
            x = x.expand(len(self.first), *x.shape)
        hidden = torch.relu(torch.baddbmm(self.first_bias, x, self.first))
        return torch.baddbmm(self.last_bias, hidden, self.last)


@dataclass(frozen=True)
class HeadSettings:
    """How the heads are trained."""

    hidden: int = 128
    epochs: int = 15
    batch_size: int = 128
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    least_steps: int = 300
    patience: int = 3  # epochs without a better likelihood out of fold
    swaps_rate: float = 2e-2  # learning rate of the chances that labels are swapped


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
    swaps: Swaps | None = None,
) -> tuple[Floats, FoldHeads]:
    """p(label | x) for every row of `view` by heads that have not seen it, and the heads.

    The heads train on the `reference` rows, cut into folds. A reference row is predicted by the head of its fold,
    any other by the mean of all heads. Of the states after each epoch the one with the best likelihood of the
    (noisy) labels out of fold is kept.

    With `swaps`, heads that know the simplest boundary only are asked whether labels are swapped near it. If so, they
    learn to predict the labels through swaps, which learn along, and what is returned is said of labels before they
    are swapped.
    """
    settings = settings or HeadSettings()
    rng = np.random.default_rng(seed)
    size = len(reference)
    folds = min(FOLDS, size)
    fold_of = rng.permutation(np.arange(size) % folds)
    x = torch.from_numpy(scale(float32(view, reference))).to(device)
    y = torch.from_numpy(labels[reference]).to(device)
    seen = [torch.from_numpy(np.flatnonzero(fold_of != f)) for f in range(folds)]
    fold = torch.from_numpy(fold_of).to(device)
    heads = FoldHeads(folds, x.shape[1], settings.hidden, n_classes).to(device)
    learned = nn.ModuleList([heads])
    optimizer = torch.optim.Adam(
        heads.parameters(),
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        fused=device.type != "mps",
    )
    shortest = min(len(rows) for rows in seen)
    batch = max(8, min(settings.batch_size, shortest // 4))
    per_epoch = max(1, shortest // batch)
    epochs = max(settings.epochs, math.ceil(settings.least_steps / per_epoch))
    best, kept, since = math.inf, None, 0
    through: Swaps | None = None
    for epoch in progress.track(range(1, epochs + 1), "out-of-fold heads"):
        orders = torch.stack([rows[torch.randperm(len(rows))[: per_epoch * batch]] for rows in seen]).to(device)
        for step in range(per_epoch):
            picked = orders[:, step * batch : (step + 1) * batch]
            loss = _loss(torch.log_softmax(heads(x[picked]), dim=-1).flatten(0, 1), y[picked].flatten(), through)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        held_out = _own_fold(heads, x, fold)
        if swaps is not None and epoch == math.ceil(SIMPLE_STEPS / per_epoch):
            swaps.used = suspected(held_out, y)
            if swaps.used:
                through = swaps.to(device)
                learned.append(swaps)
                optimizer.add_param_group({"params": swaps.parameters(), "lr": settings.swaps_rate, "weight_decay": 0})
                best = math.inf
        with torch.inference_mode():
            loss_out = float(_loss(held_out, y, through))
        since += 1
        if loss_out < best:
            since = 0
            best, kept = loss_out, ({k: v.detach().clone() for k, v in learned.state_dict().items()}, held_out)
        if since >= settings.patience and since * per_epoch >= PATIENT_STEPS:
            break
    assert kept is not None
    learned.load_state_dict(kept[0])
    return _everywhere(heads, view, scale, reference, kept[1], n_classes, device), heads


def _loss(said: Tensor, labels: Tensor, swaps: Swaps | None) -> Tensor:
    return functional.nll_loss(said if swaps is None else swaps(said), labels)


@torch.inference_mode()
def _own_fold(heads: FoldHeads, x: Tensor, fold: Tensor) -> Tensor:
    out = torch.empty(len(x), heads.last.shape[2], device=x.device)
    for f in range(len(heads.first)):
        rows = fold == f
        hidden = torch.relu(x[rows] @ heads.first[f] + heads.first_bias[f])
        out[rows] = torch.log_softmax(hidden @ heads.last[f] + heads.last_bias[f], dim=1)
    return out


@torch.inference_mode()
def _everywhere(
    heads: FoldHeads,
    view: Array,
    scale: Scale,
    reference: Ints,
    own: Tensor,
    n_classes: int,
    device: torch.device,
) -> Floats:
    out = np.empty((len(view), n_classes), dtype=np.float32)
    if len(reference) < len(view):
        for rows in row_blocks(len(view), 16_384):
            x = torch.from_numpy(scale(float32(view, rows))).to(device)
            out[rows] = torch.softmax(heads(x), dim=2).mean(0).cpu().numpy()
    out[reference] = own.exp().cpu().numpy()
    return out
