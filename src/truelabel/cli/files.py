"""Predictions from the files a user names on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truelabel.predictions import Predictions
from truelabel.reading import read_npy, read_npz

OVERWRITE = "Replace what is there, whatever it is."
PARTS = ("probs", "features", "hidden", "labels", "ids", "class_names", "feature_names")


def read(data: Path | None, parts: dict[str, Path | None], *, logits: bool, out_of_sample: bool | None) -> Predictions:
    """Read a Parquet or `.npz` file, or one `.npy` file a part; nothing in them is ever run."""
    given = {name: path for name, path in parts.items() if path is not None}
    if (data is None) == (not given):
        raise ValueError(
            "name one file with everything, or --probs and --features as .npy files (not both, not neither)."
        )
    if data is None:
        return _predictions({name: _array(path) for name, path in given.items()}, logits, out_of_sample)
    if data.suffix == ".parquet":
        said = Predictions.from_parquet(data)
        return said if out_of_sample is None else said.replace(out_of_sample=out_of_sample)
    if data.suffix == ".npz":
        return _predictions(_archive(data), logits, out_of_sample)
    raise ValueError(
        f"{data} is neither a .parquet nor a .npz file; name one of those, or .npy files by --probs and --features."
    )


def _predictions(arrays: dict[str, Any], logits: bool, out_of_sample: bool | None) -> Predictions:
    if "probs" not in arrays:
        raise ValueError("there are no probs; pass --probs FILE, or name an array of the .npz file probs.")
    return Predictions(**arrays, out_of_sample=bool(out_of_sample), input="logits" if logits else "probs")


def _array(path: Path) -> Any:
    if path.suffix != ".npy":
        raise ValueError(f"{path} is not a .npy file; save the array with numpy.save.")
    return read_npy(path, mapped=True)


def _archive(path: Path) -> dict[str, Any]:
    """Read the arrays of an `.npz` file; those named features:NAME are views."""
    arrays: dict[str, Any] = {}
    views: dict[str, Any] = {}
    for name, array in read_npz(path).items():
        if name.startswith("features:"):
            views[name.removeprefix("features:")] = array
        elif name in PARTS:
            arrays[name] = array
    if views and "features" in arrays:
        views["features"] = arrays["features"]
    return arrays | ({"features": views} if views else {})


def print_written(files: Mapping[Path, str]) -> None:
    """Print those of some files that are there, and what each holds."""
    there = {str(path): what for path, what in files.items() if path.exists()}
    width = max(map(len, there))
    print("Written:")
    for path, about in there.items():
        print(f"  {path:{width}}  {about}")
