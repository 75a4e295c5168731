"""Choosing the device to compute on."""

from __future__ import annotations

import torch


def resolve(device: str | torch.device) -> torch.device:
    """Return the device named, or the best there is for "auto"; say so where it is not there."""
    if device != "auto":
        return _there(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def _there(device: str | torch.device) -> torch.device:
    try:
        named = torch.device(device)
    except (RuntimeError, TypeError):
        raise ValueError(f'there is no device {device!r}; choose "cpu", "cuda", "mps" or "auto".') from None
    try:
        torch.empty(0, device=named)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        why = str(error).strip().partition("\n")[0].rstrip(".")
        raise ValueError(f'the device "{named}" cannot be used here ({why}); choose "cpu" or "auto".') from None
    return named
