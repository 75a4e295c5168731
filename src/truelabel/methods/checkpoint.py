"""Interrupted trainings: all that decides the rest of a run, in one file that is replaced atomically."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

if TYPE_CHECKING:
    from truelabel.methods.run import Run


class Checkpoint:
    """The checkpoint of a run in a folder.

    Parameters
    ----------
    folder : path
        Where ``checkpoint.safetensors`` stands or will stand.
    run : Run
        The training that is written and restored.
    seed : int
        The seed of the training; with method, parameters and data it says whether a checkpoint belongs to it.
    """

    def __init__(self, folder: str | os.PathLike[str], run: Run, seed: int) -> None:
        self.path = Path(folder) / "checkpoint.safetensors"
        self.run = run
        self.identity: dict[str, Any] = {
            "method": run.method.name or type(run.method).__name__,
            **run.method.parameters(),
            "network": run.network_like if isinstance(run.network_like, str) else "a network of your own",
            "seed": seed,
            "instances": len(run.labels),
            "labels": crc32(run.labels.cpu().numpy().tobytes()),
            "inputs": crc32(run.inputs[torch.arange(1, device=run.device)].cpu().numpy().tobytes()),
            "trusted": None if run.trusted is None else crc32(run.trusted.labels.cpu().numpy().tobytes()),
        }

    def write(self) -> None:
        """Write the state of the run, so that a reader sees either the old file or the new one."""
        run = self.run
        optimizer = run.optimizer.state_dict()
        tensors = {f"modules.{name}": value for name, value in run.modules.state_dict().items()}
        tensors |= {f"state.{name}": value for name, value in run.state.items()}
        tensors |= {
            f"optimizer.{index}.{name}": value
            for index, entry in optimizer["state"].items()
            for name, value in entry.items()
            if value is not None
        }
        tensors["random.cpu"] = torch.get_rng_state()
        if run.device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(run.device)
        tensors["marks"] = torch.from_numpy(run.inputs.marks)
        record = {
            "identity": self.identity,
            "epoch": run.epoch,
            "history": run.history,
            "stopped": run.stopped,
            "param_groups": optimizer["param_groups"],
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(f".{os.getpid()}.partial")
        try:
            save_file({name: _plain(value) for name, value in tensors.items()}, partial, {"run": json.dumps(record)})
            with partial.open("rb") as file:
                os.fsync(file.fileno())  # or a power cut may leave the new name with nothing in it
            os.replace(partial, self.path)
        finally:
            partial.unlink(missing_ok=True)

    def restore(self) -> bool:
        """Put the run where the checkpoint left it; return False if there is none."""
        if not self.path.exists():
            return False
        run = self.run
        with safe_open(self.path, framework="pt") as file:
            record = json.loads(file.metadata()["run"])
            self._check(record["identity"])
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        run.modules.load_state_dict(_under(tensors, "modules."))
        entries: dict[int, dict[str, Tensor]] = {}
        for name, value in _under(tensors, "optimizer.").items():
            index, key = name.split(".", 1)
            entries.setdefault(int(index), {})[key] = value
        run.optimizer.load_state_dict({"state": entries, "param_groups": record["param_groups"]})
        # Single numbers stay in main memory, where methods put them.
        run.state = {
            name: value.to(run.device) if value.ndim else value for name, value in _under(tensors, "state.").items()
        }
        run.inputs.marks[:] = tensors["marks"].numpy()
        run.epoch, run.history, run.stopped = record["epoch"], record["history"], record["stopped"]
        torch.set_rng_state(tensors["random.cpu"])
        if "random.cuda" in tensors and run.device.type == "cuda":
            torch.cuda.set_rng_state(tensors["random.cuda"], run.device)
        return True

    def _check(self, written: dict[str, Any]) -> None:
        ours = json.loads(json.dumps(self.identity))
        for name in [*ours, *written]:
            if ours.get(name) != written.get(name):
                raise ValueError(
                    f"The checkpoint in {self.path.parent} is of another training ({name} was "
                    f"{written.get(name)}, now it is {ours.get(name)}); use another folder or delete it."
                )


def _plain(value: Tensor) -> Tensor:
    """Return a copy in main memory that shares no storage, as safetensors wants it."""
    return value.detach().to("cpu", copy=True).contiguous()


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
