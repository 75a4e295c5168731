"""What every training method shares: parameters, the loop, seeds, devices, history, checkpoints."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from truelabel.arrays import Array, Ints, as_array
from truelabel.methods.augment import Augment
from truelabel.methods.checkpoint import Checkpoint
from truelabel.methods.run import Batch, Labelled, NetworkLike, Run
from truelabel.methods.trained import Trained
from truelabel.progress import Progress
from truelabel.seeding import seeded

REGISTRY: dict[str, type[Method]] = {}


@dataclass(kw_only=True)
class Method:
    """A way to train a classifier on noisy labels: it supplies `loss`, and everything else is done here.

    Parameters
    ----------
    epochs : int, default 200
        Length of training (the NPC paper's experiments). Points of a method's schedule are shares of it.
    batch_size : int, default 128
        Instances a step (NPC paper, appendix on implementation; 32 for Food-101 and Clothing1M).
    learning_rate : float, default 1e-3
        Of the optimiser (NPC paper).
    optimizer : {"adam", "sgd"}, default "adam"
        The optimiser (NPC paper: Adam).
    momentum : float, default 0.9
        Of SGD.
    weight_decay : float, default 0
        L2 penalty of the optimiser.
    augment : {"none", "crop-flip"}, default "none"
        Whether images are cropped at a random place and mirrored at random while training (NPC paper: no; its released
        experiments do so with Food-101 and Clothing1M). Predictions are always made on the images as they are.
    """

    epochs: int = 200
    batch_size: int = 128
    learning_rate: float = 1e-3
    optimizer: Literal["adam", "sgd"] = "adam"
    momentum: float = 0.9
    weight_decay: float = 0.0
    augment: Augment = "none"

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    two_networks: ClassVar[bool] = False
    uses_clean_labels: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            REGISTRY[cls.name] = cls

    def __post_init__(self) -> None:
        self._require(self.epochs >= 1, "epochs", "at least 1")
        self._require(self.batch_size >= 2, "batch_size", "at least 2")
        self._require(self.learning_rate > 0, "learning_rate", "positive")
        self._require(self.optimizer in ("adam", "sgd"), "optimizer", '"adam" or "sgd"')
        self._require(0 <= self.momentum < 1, "momentum", "in [0, 1)")
        self._require(self.weight_decay >= 0, "weight_decay", "at least 0")
        self._require(self.augment in get_args(Augment), "augment", '"none" or "crop-flip"')

    def _require(self, holds: bool, name: str, what: str) -> None:
        if not holds:
            raise ValueError(f"{name} of {type(self).__name__} must be {what}, but is {getattr(self, name)!r}.")

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return asdict(self)

    def loss(self, run: Run, batch: Batch) -> Tensor:
        """Return the loss of a batch, to be minimised."""
        raise NotImplementedError(f"{type(self).__name__} supplies neither loss nor step.")

    def step(self, run: Run, batch: Batch) -> Tensor:
        """Train on a batch and return its loss."""
        loss = self.loss(run, batch)
        run.descend(loss)
        return loss

    def start(self, run: Run) -> None:
        """Prepare what the method remembers, before the first epoch."""

    def start_epoch(self, run: Run) -> None:
        """Prepare an epoch."""

    def end_epoch(self, run: Run) -> None:
        """Take stock after an epoch; ``run.history[-1]`` is its record."""

    def finish(self, run: Run) -> None:
        """Leave in `run` the network that is to make predictions."""

    def transition(self, run: Run) -> Tensor | None:
        """Return the transition matrix T[y, ỹ] that was estimated, if the method has one."""
        return run.state.get("transition")

    @property
    def total_epochs(self) -> int:
        """Number of epochs over all stages."""
        return self.epochs

    def rate(self, run: Run) -> float:
        """Return the factor on the learning rate in the epoch under way."""
        return 1.0

    def modules(self, run: Run) -> dict[str, nn.Module]:
        """Make what is trained: "network" and, for a method of two networks, "peer"."""
        names = ("network", "peer") if self.two_networks else ("network",)
        return {name: run.fresh_network() for name in names}

    def make_optimizer(self, modules: nn.ModuleDict) -> torch.optim.Optimizer:
        """Make the optimiser of all modules."""
        # The fused kernels save a fifth of a step of a small network.
        fused = next(modules.parameters()).device.type in ("cpu", "cuda")
        if self.optimizer == "sgd":
            return torch.optim.SGD(
                modules.parameters(),
                self.learning_rate,
                self.momentum,
                weight_decay=self.weight_decay,
                fused=fused,
            )
        return torch.optim.Adam(modules.parameters(), self.learning_rate, weight_decay=self.weight_decay, fused=fused)

    def at(self, share: float) -> int:
        """Return the epoch at which a share of `epochs` has passed."""
        return round(share * self.epochs)

    def fit(
        self,
        split: Labelled,
        network: NetworkLike | None = None,
        *,
        trusted: Labelled | None = None,
        seed: int = 0,
        device: str = "auto",
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
        progress: bool | Literal["auto"] = "auto",
        on_epoch: Callable[[dict[str, float]], None] | None = None,
    ) -> Trained:
        """Train on noisy labels.

        Parameters
        ----------
        split : datasets.Split
            Instances and their noisy labels.
        network : str, torch.nn.Module or function, optional
            A name of `networks.NAMES`; by default the paper's for such inputs. A function is called for each
            network that the method needs. A module is copied for each, with its weights but a newly drawn
            last layer.
        trusted : datasets.Split, optional
            Instances whose labels are known to be right, for a method that uses clean labels (`uses_clean_labels`).
        seed : int, default 0
            Of weights, order and everything else that is random. The same seed gives the same weights on the
            same machine (on CUDA as far as its kernels are deterministic).
        device : str, default "auto"
            "cpu", "cuda" or whatever torch knows; "auto" takes the best there is.
        checkpoint : path, optional
            A folder. The state is written there after every `checkpoint_every` epochs, and a fit with the
            same parameters and data goes on from what it finds there, to the same weights (CPU and CUDA).
        checkpoint_every : int, default 1
            Epochs from one checkpoint to the next.
        progress : bool or "auto", default "auto"
            Whether to show a bar; "auto" shows it on a terminal.
        on_epoch : function, optional
            Called with the record of every finished epoch, after its checkpoint.
        """
        labels = _check(split, seed, checkpoint_every)
        clean = self._check_trusted(split, trusted)
        with seeded(seed):
            network = _network_name(split) if network is None else network
            run = Run(self, split, labels, network, device, clean)
            saved = None if checkpoint is None else Checkpoint(checkpoint, run, seed)
            if saved is None or not saved.restore():
                self.start(run)
            with Progress(progress) as bars:
                advance = bars.bar(self.name, self.total_epochs, run.epoch)
                while run.epoch < self.total_epochs and not run.stopped:
                    self._epoch(run)
                    if saved is not None and (
                        run.epoch % checkpoint_every == 0 or run.stopped or run.epoch == self.total_epochs
                    ):
                        saved.write()
                    last = run.history[-1]
                    advance(f"{self.name}: loss {last['loss']:.3f}, noisy accuracy {last['noisy_accuracy']:.1%}")
                    if on_epoch is not None:
                        on_epoch(last)
            self.finish(run)
            return Trained.of(run, split.class_names)

    def _check_trusted(self, split: Labelled, trusted: Labelled | None) -> tuple[Labelled, Ints] | None:
        title = self.name or type(self).__name__
        if trusted is None:
            if self.uses_clean_labels:
                raise ValueError(f"{title} uses clean labels; pass some instances with their true labels as trusted=.")
            return None
        if not self.uses_clean_labels:
            raise ValueError(f"{title} has no use for clean labels; leave trusted out.")
        shape, ours = np.shape(trusted.inputs[:1])[1:], np.shape(split.inputs[:1])[1:]
        if shape != ours:
            raise ValueError(f"trusted inputs have shape {shape}, but those trained on have {ours}; use one shape.")
        return trusted, _check_labels(trusted, int(split.n_classes), "trusted ")

    def _epoch(self, run: Run) -> None:
        self.start_epoch(run)
        for group in run.optimizer.param_groups:
            group["lr"] = group["initial_lr"] * self.rate(run)
        run.modules.train()
        rows = run.rows
        loss, hits = torch.zeros((), device=run.device), torch.zeros((), device=run.device)
        for batch in run.batches(rows):
            loss += self.step(run, batch).detach() * len(batch.rows)
            hits += (batch.logits.detach().argmax(dim=1) == batch.labels).sum()
        mean = loss.item() / len(rows)
        if not math.isfinite(mean):
            raise ValueError(f"The loss became {mean} in epoch {run.epoch + 1}; lower learning_rate.")
        run.history.append({"epoch": run.epoch + 1, "loss": mean, "noisy_accuracy": hits.item() / len(rows)})
        self.end_epoch(run)
        run.epoch += 1


def _check(split: Labelled, seed: int, checkpoint_every: int) -> Ints:
    if seed < 0:
        raise ValueError(f"seed must be at least 0, but is {seed}.")
    if checkpoint_every < 1:
        raise ValueError(f"checkpoint_every must be at least 1, but is {checkpoint_every}.")
    labels = _check_labels(split, int(split.n_classes))
    if len(labels) < 2:
        raise ValueError(f"Training needs at least two instances, but the split has {len(labels)}.")
    return labels


def _check_labels(split: Labelled, c: int, which: str = "") -> Ints:
    """Return the labels of a split, or say what is wrong with them or the inputs; `which` says whose they are."""
    labels = as_array(split.labels, "labels")
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{which}labels must be one class index an instance, not {labels.dtype} of shape {labels.shape}."
        )
    if len(labels) != len(split.inputs):
        raise ValueError(
            f"{which}labels has {len(labels)} rows, but inputs has {len(split.inputs)}; pass one an instance."
        )
    if not len(labels):
        raise ValueError(f"Training needs instances, but there are no {which}labels.")
    if c < 2:
        raise ValueError(f"Training needs at least two classes, but n_classes is {c}.")
    wrong = np.flatnonzero((labels < 0) | (labels >= c))
    if len(wrong):
        raise ValueError(
            f"{which}labels has {labels[wrong[0]]} in row {wrong[0]}, but there are {c} classes (0 to {c - 1}); "
            "relabel or drop the row."
        )
    if isinstance(split.inputs, np.ndarray) and not isinstance(split.inputs, np.memmap):
        _check_finite(split.inputs, which)
    return np.array(labels, dtype=np.int64)


def _check_finite(inputs: Array, which: str) -> None:
    finite = np.isfinite(inputs).reshape(len(inputs), -1).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        raise ValueError(f"{which}inputs has a NaN or infinite value in row {row}; impute it or drop the row first.")


def _network_name(split: Labelled) -> str:
    from truelabel import networks

    return networks.default_for(np.shape(split.inputs[:1])[1:])
