"""Random crops and flips of training images, as the released experiments have them on Food-101 and Clothing1M."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import pad

Augment = Literal["none", "crop-flip"]

MARGIN = 1 / 8  # of a side, added on each side of an image that is there in one size only: 4 pixels of 32


def crop_and_flip(images: Tensor, height: int, width: int) -> Tensor:
    """Cut a window at a random place out of each image, and mirror every second one from left to right.

    The draws are from torch's current random state.

    Parameters
    ----------
    images : (n, channels, at least height, at least width) Tensor
        The images.
    height, width : int
        Size of the windows.
    """
    n, _, rows, columns = images.shape
    top = torch.randint(rows - height + 1, (n,))
    left = torch.randint(columns - width + 1, (n,))
    down = (top[:, None] + torch.arange(height)).to(images.device)
    across = left[:, None] + torch.arange(width)
    mirrored = torch.rand(n) < 0.5
    across[mirrored] = across[mirrored].flip(1)
    across = across.to(images.device)
    every = torch.arange(n, device=images.device)
    return images.permute(0, 2, 3, 1)[every[:, None, None], down[:, :, None], across[:, None, :]].permute(0, 3, 1, 2)


def widened(images: Tensor) -> Tensor:
    """Return images with a margin of zeros, so that there is something to crop."""
    rows, columns = (max(1, round(MARGIN * side)) for side in images.shape[2:])
    return pad(images, (columns, columns, rows, rows))
