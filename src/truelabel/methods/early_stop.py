"""EarlyStop: training ends when the accuracy on held-out noisy labels drops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from truelabel.methods.ce import CE
from truelabel.methods.held_out import HeldOut
from truelabel.methods.run import Run


@dataclass(kw_only=True)
class EarlyStop(HeldOut, CE):
    """Cross entropy, stopped by a part of the *noisy* set that is held out.

    The NPC paper (appendix on baselines): a part of the noisy training set is split off, and the network
    learns until its performance there decreases.

    Parameters
    ----------
    patience : int, default 5
        Epochs without a better accuracy after which training stops (ours: a single drop is often chance; the
        paper's experiments stop at the first, 1).
    keep : {"best", "last"}, default "best"
        Which weights are kept: those of the best epoch, or of the one training stopped at, as in the paper's
        experiments.
    validation : float, default 0.1
        The share that is held out (the paper's experiments).
    **parameters
        As in `Method`.
    """

    patience: int = 5
    keep: Literal["best", "last"] = "best"

    name = "earlystop"
    summary = "cross entropy, stopped when the accuracy on held-out noisy labels drops"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.patience >= 1, "patience", "at least 1")
        self._require(self.keep in ("best", "last"), "keep", '"best" or "last"')

    def end_epoch(self, run: Run) -> None:
        """Stop if the best epoch lies `patience` epochs back."""
        super().end_epoch(run)
        run.stopped = run.epoch - int(run.state["best_epoch"]) >= self.patience

    def finish(self, run: Run) -> None:
        """Return to the best epoch."""
        if self.keep == "best":
            self.restore_best(run)
