"""Fitted calibrators in one `.safetensors` file: the tensors, and the configuration in its header."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialised
from torch import nn

from truelabel.fingerprint import Fingerprint
from truelabel.notices import UncheckedWarning
from truelabel.writing import write_bytes

if TYPE_CHECKING:
    from truelabel.calibrators.npc import NPC

FORMAT = "truelabel"
VERSION = 1


class FileFormatError(ValueError):
    """A file that cannot be loaded: damaged, too new, or not ours."""


def save(npc: NPC, path: str | os.PathLike[str]) -> None:
    """Write a fitted calibrator to `path`, whole or not at all."""
    from truelabel import __version__

    config = {
        "parameters": _plain(npc.get_params(deep=False)),
        "n_classes": npc.n_classes_,
        "class_names": npc.class_names_,
        "feature_names": npc.feature_names_,
        "fingerprint": None if npc.fingerprint_ is None else npc.fingerprint_.to_dict(),
        "view_widths": npc.view_widths_,
        "reads": npc.reads_,
        "input_shape": getattr(npc, "input_shape_", None),
        "link": npc.network_.link,
        "width": npc.network_.encoder.in_features - npc.n_classes_,
        "hidden": _hidden_sizes(npc.network_.trunk) if npc.trunk is None else None,
        "history": npc.history_,
        "report": npc.report_.to_dict(),
        "transition_matrix": None if npc.transition_matrix_ is None else npc.transition_matrix_.tolist(),
        "class_shares": None if npc.class_shares_ is None else npc.class_shares_.tolist(),
    }
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in npc.network_.state_dict().items()}
    written = json.dumps(config, default=np.generic.item)  # a parameter from a grid may be NumPy's
    header = {
        "format": FORMAT,
        "version": str(VERSION),
        "written_by": __version__,
        "config": written,
        "checksum": _checksum(written, tensors),
    }
    write_bytes(path, serialised(tensors, metadata=header))


def load(path: str | os.PathLike[str], *, trunk: nn.Module | None = None, device: str = "auto") -> NPC:
    """Read a calibrator that `NPC.save` wrote. No code from the file is run.

    Parameters
    ----------
    path : path
        The file.
    trunk : torch.nn.Module, optional
        The classifier's network, for a calibrator that was fitted with one: the file holds its weights, not its code.
    device : str, default "auto"
        Where the calibrator is to run.
    """
    from truelabel import device as devices
    from truelabel.calibrators.npc import NPC
    from truelabel.calibrators.npc.model import DirichletVAE, Link, Standardise
    from truelabel.calibrators.npc.report import Report
    from truelabel.calibrators.npc.trunk import array_trunk, network_trunk

    config, tensors = _read(path)
    try:
        npc = NPC(**config["parameters"])
        npc.n_classes_ = config["n_classes"]
        npc.class_names_ = None if config["class_names"] is None else tuple(config["class_names"])
        npc.feature_names_ = {view: tuple(names) for view, names in config.get("feature_names", {}).items()}
        stored = config.get("fingerprint")
        npc.fingerprint_ = None if stored is None else Fingerprint.from_dict(stored)
        npc.view_widths_ = config["view_widths"]
        npc.reads_ = config["reads"]
        if config["link"] not in get_args(Link) or not {*npc.view_widths_, "hidden", "inputs"}.issuperset(npc.reads_):
            raise FileFormatError(f"{path} is damaged: its configuration contradicts itself.")
        npc.history_ = config["history"]
        npc.report_ = Report(**config["report"])
        npc.transition_matrix_ = _array(config.get("transition_matrix"))
        npc.class_shares_ = _array(config.get("class_shares"))
        _require_consistent(config, tensors, path)
        if config["hidden"] is None:
            if trunk is None:
                raise FileFormatError(
                    f"{path} was fitted with a trunk network; pass load(path, trunk=network) with the same network."
                )
            npc.trunk = trunk
            npc.input_shape_ = tuple(config["input_shape"])
            body, _ = network_trunk(trunk)
        else:
            inside = tensors["trunk.0.mean"].shape
            scale = Standardise(torch.zeros(inside), torch.ones(inside), tensors.get("trunk.0.unit"))
            body, _ = array_trunk(scale, config["width"], tuple(config["hidden"]))
        network = DirichletVAE(body, config["width"], npc.n_classes_, link=config["link"], strength=npc.rho)
        network.load_state_dict(tensors)
    except FileFormatError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise FileFormatError(f"{path} is damaged: its configuration is not complete ({error}).") from None
    except RuntimeError as error:
        cause = "the trunk is another network" if trunk is not None else "the file is damaged"
        raise FileFormatError(f"{path} does not fit: {cause} ({error}).") from None
    npc.network_ = network.to(devices.resolve(device)).eval()
    if "fingerprint" not in config:
        warnings.warn(
            f"{path} was written by an older truelabel, which kept no names of features: whether predictions are of "
            "the same features and classifier cannot be checked; fit again to have it checked.",
            UncheckedWarning,
            stacklevel=2,
        )
    return npc


def _require_consistent(config: dict[str, Any], tensors: dict[str, torch.Tensor], path: Any) -> None:
    """Compare what the configuration claims with the tensors, before anything is built by it."""
    c, width = int(config["n_classes"]), int(config["width"])
    claims: dict[str, tuple[int, ...]] = {"encoder.weight": (c, width + c), "encoder.bias": (c,)}
    claims |= {"decoder.weight": (c, width + c), "decoder.bias": (c,)}
    if config["hidden"] is not None:
        sizes = [int(tensors["trunk.0.mean"].numel()), *(map(int, config["hidden"] or [width]))]
        for number, (inside, outside) in enumerate(pairwise(sizes)):
            claims[f"trunk.{2 * number + 1}.weight"] = (outside, inside)
        unit = tensors.get("trunk.0.unit")
        if unit is not None:
            claims["trunk.0.unit"] = (len(unit), sizes[0])
            if unit.ndim != 2 or not (
                ((unit == 0) | (unit == 1)).all() and (unit.sum(0) <= 1).all() and unit.any(1).all()
            ):
                raise FileFormatError(f"{path} is damaged: trunk.0.unit does not say which columns are a view's.")
    for name, shape in claims.items():
        found = tuple(tensors[name].shape) if name in tensors else None
        if found != shape:
            raise FileFormatError(
                f"{path} does not fit: the file is damaged ({name} should have the shape {shape}, but has {found})."
            )
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            raise FileFormatError(f"{path} is damaged: {name} holds numbers that are not finite; fit again.")
    known = {"class_names": config["class_names"], **(config.get("feature_names") or {})}
    widths = {"class_names": c, **config["view_widths"]}
    if not all(type(width) is int and width > 0 for width in (c, width, *widths.values())) or c < 2:
        raise FileFormatError(f"{path} is damaged: a number of classes or columns is not a whole number above 0.")
    if not config["reads"] or not all(isinstance(name, str) for name in config["reads"]):
        raise FileFormatError(f"{path} is damaged: it does not say what the calibrator reads.")
    for name, titles in known.items():
        if titles is None and name == "class_names":
            continue
        if not all(isinstance(title, str) for title in titles) or len({*titles}) != widths.get(name):
            raise FileFormatError(f"{path} is damaged: it does not name every column of {name} once.")


def _array(values: list[Any] | None) -> np.ndarray[Any, np.dtype[Any]] | None:
    return None if values is None else np.array(values, dtype=np.float64)


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}.")
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise FileFormatError(f"{path} is a safetensors file, but not one that truelabel wrote.")
            version = header.get("version", "")
            if not version.isdecimal():
                raise FileFormatError(f"{path} is damaged: it does not name its version.")
            if int(version) > VERSION:
                raise FileFormatError(
                    f"{path} was written by truelabel {header.get('written_by')}, in a format newer than this one "
                    "can read; upgrade truelabel."
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if _checksum(header["config"], tensors) != header["checksum"]:
                raise FileFormatError(f"{path} is damaged: its contents do not match its checksum.")
            return json.loads(header["config"]), tensors
    except (SafetensorError, KeyError, json.JSONDecodeError, RecursionError) as error:
        raise FileFormatError(f"{path} is damaged, or not a safetensors file ({error}).") from None


def _checksum(config: str, tensors: dict[str, torch.Tensor]) -> str:
    """SHA-256 of what a file holds; safetensors itself notices a file cut short, but no changed byte."""
    digest = hashlib.sha256(config.encode())
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Keep what JSON can hold; a custom prior or a trunk is used by `fit` alone, or passed to `load`."""
    kinds = (str, int, float, bool, type(None), np.generic)
    return {name: value for name, value in parameters.items() if isinstance(value, kinds)}


def _hidden_sizes(trunk: nn.Module) -> list[int]:
    linear = [layer for layer in trunk.children() if isinstance(layer, nn.Linear)]
    return [layer.out_features for layer in linear] if any(isinstance(m, nn.ReLU) for m in trunk.children()) else []
