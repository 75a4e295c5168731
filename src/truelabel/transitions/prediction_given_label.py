"""p(ŷ | ỹ, x): what the classifier predicts where the noisy label is ỹ, learned by a small network."""

from __future__ import annotations

import math

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from truelabel import device as devices
from truelabel.arrays import Array, Floats, Ints, float32
from truelabel.predictions import Predictions
from truelabel.progress import Progress
from truelabel.scale import Scale, moments
from truelabel.seeding import seeded

HELD_OUT = 0.1  # share of the instances by which the best weights are chosen
LOOK = 50  # steps from one look at them to the next
MEMORY = 0.98  # of the running mean of the weights, which evens out what single batches do


class GivenLabelNetwork(nn.Module):
    """One hidden layer on [x; onehot(label)]; its part W·x is computed once for all labels."""

    def __init__(self, width: int, hidden: int, n_labels: int, n_classes: int) -> None:
        super().__init__()
        self.on_x = nn.Linear(width, hidden)
        self.on_label = nn.Embedding(n_labels, hidden)
        self.out = nn.Linear(hidden, n_classes)
        nn.init.normal_(self.on_label.weight, std=1 / math.sqrt(hidden))

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        """Logits of ŷ, (n, c), for the label of each instance."""
        out: Tensor = self.out(torch.relu(self.on_x(x) + self.on_label(labels)))
        return out

    def everywhere(self, x: Tensor) -> Tensor:
        """Probabilities of ŷ for every label, (n, labels, c)."""
        logits: Tensor = self.out(torch.relu(self.on_x(x).unsqueeze(1) + self.on_label.weight))
        return logits.softmax(dim=2)


class PredictionGivenLabel(BaseEstimator):  # type: ignore[misc]
    """Learns p(ŷ | ỹ, x), and p(ŷ | x) beside it, from a classifier's predictions on its noisy training set.

    The paper's appendix C.2 learns p(ŷ | ỹ, x) with a network of the classifier's kind that has ỹ concatenated to
    its features. Here it reads the label-free `features` (`hidden` where there are none), for what a classifier's
    own layer says of x tells ŷ almost entirely, whatever ỹ. p(ŷ | x) is learned in the same way without ỹ, so that
    both speak of the same x: the softmax of a classifier that memorised knows the label of each instance. The
    targets are the classifier's probabilities. A tenth of the instances is held out, and the weights that predict ŷ
    best there are kept.

    Parameters
    ----------
    hidden : int, default 128
        Width of the hidden layer.
    steps : int, default 1000
        Steps that each network is trained, whatever the number of instances.
    batch_size : int, default 128
        Instances a step.
    learning_rate : float, default 5e-3
        Adam's, at the start; it falls linearly.
    device : str, default "auto"
        The best there is where "auto".
    random_state : int, optional
        Seed.
    progress : bool or "auto"
        Whether to show a bar; "auto" shows it on a terminal.

    Attributes
    ----------
    given_, alone_ : GivenLabelNetwork
        The networks of p(ŷ | ỹ, x) and p(ŷ | x).
    likelihood_ : float
        Mean log-likelihood of ŷ given ỹ and x on the held-out part.
    """

    def __init__(
        self,
        *,
        hidden: int = 128,
        steps: int = 1000,
        batch_size: int = 128,
        learning_rate: float = 5e-3,
        device: str = "auto",
        random_state: int | None = None,
        progress: bool | str = "auto",
    ) -> None:
        self.hidden = hidden
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def fit(self, predictions: Predictions, y: None = None) -> PredictionGivenLabel:
        """Learn from predictions on the training set, which have noisy labels."""
        labels = predictions.labels
        if labels is None:
            raise ValueError("p(ŷ | ỹ, x) is learned from noisy labels; pass Predictions(labels=…).")
        self.reads_ = _reads(predictions)
        self.scales_ = [Scale("columns", *moments(array)) for array in _arrays(predictions, self.reads_)]
        seed = int(np.random.SeedSequence(self.random_state).generate_state(1)[0])
        with seeded(seed), Progress(self.progress) as progress:
            self.given_, self.likelihood_ = self._learned(predictions, labels, predictions.n_classes, progress)
            self.alone_, _ = self._learned(predictions, np.zeros_like(labels), 1, progress)
        return self

    def transition(self, predictions: Predictions, rows: slice) -> tuple[Floats, Floats]:
        """Return p(ŷ | ỹ, x) of some rows, (block, c, c) with entries [i, ỹ, ŷ], and p(ŷ | x), (block, c).

        Labels are not read.
        """
        if not hasattr(self, "alone_"):
            raise NotFittedError("this PredictionGivenLabel is not fitted yet; call fit first.")
        with torch.inference_mode():
            x = self._inputs(predictions, rows)
            return self.given_.everywhere(x).cpu().numpy(), self.alone_.everywhere(x)[:, 0].cpu().numpy()

    def _learned(
        self, predictions: Predictions, labels: Ints, n_labels: int, progress: Progress
    ) -> tuple[GivenLabelNetwork, float]:
        """Return a network that predicts ŷ from x and these labels, and its likelihood on what was held out."""
        width = sum(len(scale.mean) for scale in self.scales_)
        network = GivenLabelNetwork(width, self.hidden, n_labels, predictions.n_classes)
        device = devices.resolve(self.device)
        network.to(device)
        order = torch.randperm(len(labels)).numpy()
        held, seen = np.split(order, [max(1, round(HELD_OUT * len(order)))])
        optimizer = torch.optim.Adam(network.parameters(), lr=self.learning_rate, fused=device.type != "mps")
        decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, self.steps)
        steady = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(MEMORY))  # type: ignore[no-untyped-call]
        best, kept = -math.inf, network.state_dict()
        for step in progress.track(range(self.steps), "p(ŷ | ỹ, x)" if n_labels > 1 else "p(ŷ | x)"):
            rows = seen[torch.randint(len(seen), (min(self.batch_size, len(seen)),)).numpy()]
            loss = -self._likelihood(network, predictions, labels, rows)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            decay.step()
            steady.update_parameters(network)
            if step % LOOK == LOOK - 1 or step == self.steps - 1:
                with torch.inference_mode():
                    found = float(self._likelihood(steady.module, predictions, labels, held))
                if found > best:
                    best, kept = found, {name: value.clone() for name, value in steady.module.state_dict().items()}
        network.load_state_dict(kept)
        return network.eval(), best

    def _likelihood(self, network: nn.Module, predictions: Predictions, labels: Ints, rows: Ints) -> Tensor:
        device = devices.resolve(self.device)
        target = torch.from_numpy(predictions.block(rows)).to(device)
        logits: Tensor = network(self._inputs(predictions, rows), torch.from_numpy(labels[rows]).to(device))
        return (target * logits.log_softmax(dim=1)).sum(dim=1).mean()

    def _inputs(self, predictions: Predictions, rows: slice | Ints) -> Tensor:
        arrays = _arrays(predictions, self.reads_)
        scaled = [scale(float32(array, rows)) for scale, array in zip(self.scales_, arrays, strict=True)]
        return torch.from_numpy(np.concatenate(scaled, axis=1)).to(devices.resolve(self.device))


def _reads(predictions: Predictions) -> list[str]:
    if predictions.views:
        return list(predictions.views)
    if predictions.hidden is not None:
        return ["hidden"]
    raise ValueError("p(ŷ | ỹ, x) needs something that is known of x; pass Predictions(features=…) or hidden=….")


def _arrays(predictions: Predictions, names: list[str]) -> list[Array]:
    views = predictions.views or ({} if predictions.hidden is None else {"hidden": predictions.hidden})
    missing = [name for name in names if name not in views]
    if missing:
        raise ValueError(f"p(ŷ | ỹ, x) was learned on {missing[0]!r}, which is missing; pass it in Predictions.")
    return [views[name] for name in names]
