"""Arrays of images in the one form that they are shown in."""

from __future__ import annotations

from typing import Any

import numpy as np

from truelabel.arrays import Array, as_numbers


def pictures(images: Any) -> Array:
    """Return images as `imshow` takes them: (n, h, w) grey or (n, h, w, 3), with values in [0, 1].

    Channels may come first or last. Images with values outside [0, 1], such as standardised ones, are stretched
    from the least to the largest value of each.
    """
    array = as_numbers(images, "images").astype(np.float32)
    if array.ndim == 4 and array.shape[1] in (1, 3):
        array = array.transpose(0, 2, 3, 1)
    if array.ndim == 4 and array.shape[3] == 1:
        array = array[..., 0]
    if array.ndim != 3 and not (array.ndim == 4 and array.shape[3] == 3):
        raise ValueError(
            f"images must be grey or have three channels, one image a row, but have shape {np.shape(images)}; "
            "reshape them first."
        )
    if len(array) and (array.min() < 0 or array.max() > 1):
        around = tuple(range(1, array.ndim))
        low, high = array.min(axis=around, keepdims=True), array.max(axis=around, keepdims=True)
        array = (array - low) / np.maximum(high - low, 1e-12)
    return array
