"""Choosing the device to compute on."""

from __future__ import annotations

import torch


def resolve(device: str | torch.device) -> torch.device:
    """Return the device named, or the best there is for "auto"."""
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
