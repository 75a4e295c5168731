"""Part of the noisy set held out, to choose the epoch whose weights are kept."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from truelabel.methods.base import Method
from truelabel.methods.run import Run


@dataclass(kw_only=True)
class HeldOut(Method):
    """A method that holds part of the noisy set out and remembers the weights that predict it best.

    Parameters
    ----------
    validation : float, default 0.1
        The share that is held out.
    **parameters
        As in `Method`.
    """

    validation: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 < self.validation < 1, "validation", "between 0 and 1")

    def start(self, run: Run) -> None:
        """Choose the instances that are held out."""
        super().start(run)
        n = len(run.labels)
        order = torch.randperm(n).to(run.device)
        held = min(max(1, round(self.validation * n)), n - 2)
        if held < 1:
            raise ValueError(f"{type(self).__name__} holds some instances out; train it on at least 3, not {n}.")
        run.state["held_out"], run.state["rows"] = order[:held], order[held:]

    def end_epoch(self, run: Run) -> None:
        """Measure the accuracy on the noisy labels held out, and keep the weights if it is the best."""
        super().end_epoch(run)
        if "rows" in run.state:
            accuracy = run.noisy_accuracy(run.state["held_out"])
            run.history[-1]["validation_accuracy"] = accuracy
            if accuracy > run.state.get("best_accuracy", torch.tensor(-1.0)).item():
                run.state["best_accuracy"] = torch.tensor(accuracy, dtype=torch.float64)
                run.state["best_epoch"] = torch.tensor(run.epoch)
                for name, value in run.network.state_dict().items():
                    run.state[f"best.{name}"] = value.clone()

    def restore_best(self, run: Run) -> None:
        """Put the weights of the best epoch back into network 1."""
        names = [name for name in run.state if name.startswith("best.")]
        run.network.load_state_dict({name.removeprefix("best."): run.state[name] for name in names})
