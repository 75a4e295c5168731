"""Calibrators as ONNX graphs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from truelabel.writing import whole

if TYPE_CHECKING:
    from truelabel.calibrators.npc import NPC

OPSET = 18


class _Graph(nn.Module):
    """`calibrate` with one input a view, then probs."""

    def __init__(self, npc: NPC) -> None:
        super().__init__()
        self.network = npc.network_

    def forward(self, *parts: Tensor) -> Tensor:
        *views, probs = parts
        x = views[0] if len(views) == 1 else torch.cat(views, dim=1)
        calibrated = self.network.calibrate(x, probs / probs.sum(1, keepdim=True))
        return calibrated / calibrated.sum(1, keepdim=True)


def export(npc: NPC, path: str | os.PathLike[str]) -> None:
    """Write the graph (views, probs) → calibrated, with a dynamic batch; see `NPC.export_onnx`."""
    try:
        import onnxscript  # noqa: F401
    except ImportError:
        raise ImportError('ONNX export needs more packages; install them with pip install "truelabel[onnx]".') from None
    device = next(npc.network_.parameters()).device
    examples = [torch.zeros(2, *shape, device=device) for shape in _shapes(npc)]
    examples.append(torch.full((2, npc.n_classes_), 1 / npc.n_classes_, device=device))
    batch = torch.export.Dim("batch")
    program = torch.onnx.export(
        _Graph(npc).eval(),
        tuple(examples),
        input_names=[*npc.reads_, "probs"],
        output_names=["calibrated"],
        dynamic_shapes={"parts": tuple({0: batch} for _ in examples)},
        opset_version=OPSET,
        dynamo=True,
        verbose=False,
    )
    assert program is not None
    program.model.metadata_props.update(_about(npc))
    with whole(path) as partial:
        program.save(partial, external_data=False)


def _about(npc: NPC) -> dict[str, str]:
    """Return what inputs and outputs mean, as a graph's metadata: JSON by name."""
    about = {"class_names": npc.class_names_, "feature_names": npc.feature_names_}
    return {f"truelabel.{name}": json.dumps(value, ensure_ascii=False) for name, value in about.items() if value}


def _shapes(npc: NPC) -> list[tuple[int, ...]]:
    if npc.reads_ == ["inputs"]:
        return [npc.input_shape_]
    if npc.reads_ == ["hidden"]:
        return [(npc.network_.trunk[0].mean.shape[0],)]  # type: ignore[index]
    return [(npc.view_widths_[name],) for name in npc.reads_]
