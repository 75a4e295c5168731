"""A consensus as arrays and plain values, as a folder of examined labels keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from truelabel.arrays import Array
from truelabel.labels.several_annotators import Consensus
from truelabel.votes import Votes

PREFIX = "votes."
CELLS = ("rows", "columns", "labels", "count")
OF_INSTANCES = ("probs", "likelihood")
OF_ANNOTATORS = ("quality", "low", "high")


def arrays_of(consensus: Consensus) -> dict[str, Array]:
    """Return a consensus's arrays by name."""
    votes, found = consensus.votes, consensus.annotators
    arrays: dict[str, Array] = {name: getattr(votes, name).astype(np.int64) for name in CELLS}
    names = (*OF_INSTANCES, *OF_ANNOTATORS, "confusion", "average", "shares")
    arrays |= {name: getattr(found, name).astype(np.float64) for name in names}
    if consensus.expert_probs is not None:
        arrays["experts"] = consensus.expert_probs.astype(np.float32)
    return {PREFIX + name: np.ascontiguousarray(array) for name, array in arrays.items()}


def values_of(consensus: Consensus) -> dict[str, Any]:
    """Return what else a consensus is, as plain JSON values."""
    votes, found = consensus.votes, consensus.annotators
    names = [name.item() if isinstance(name, np.generic) else name for name in votes.annotators]
    return {
        "annotators": [name if isinstance(name, int | str) else str(name) for name in names],
        "anonymous": votes.anonymous,
        "weights": consensus.weights,
        "concentration": None if np.isinf(found.concentration) else found.concentration,
        "log_likelihood": found.log_likelihood,
    }


def consensus_from(
    arrays: Mapping[str, Array], values: Mapping[str, Any] | None, ids: Array, class_names: tuple[Any, ...]
) -> Consensus | None:
    """Return the consensus that `arrays_of` and `values_of` described; None where there is none."""
    from truelabel.label_noise.annotators import Annotators  # torch takes a second to load

    if values is None:
        return None
    part = {name.removeprefix(PREFIX): array for name, array in arrays.items() if name.startswith(PREFIX)}
    n, c, a = len(ids), len(class_names), len(values["annotators"])
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(CELLS, (len(part["rows"]),))
    shapes |= dict.fromkeys(OF_INSTANCES, (n, c))
    shapes |= dict.fromkeys(OF_ANNOTATORS, (a,)) | {"confusion": (a, c, c), "average": (c, c), "shares": (c,)}
    shapes |= {"experts": (n, c)} if "experts" in part else {}
    for name, shape in shapes.items():
        if part[name].shape != shape or not np.isfinite(part[name]).all():
            raise ValueError(f"'{PREFIX}{name}' does not have the shape {shape}, or is not finite")
    cells = np.stack([part["rows"], part["columns"], part["labels"]], axis=1)
    if (cells < 0).any() or (cells >= (n, a, c)).any() or (part["count"] < 1).any():
        raise ValueError("there is a vote of an instance, annotator or class that is not there")
    votes = Votes.from_cells(
        cells,
        part["count"],
        instances=ids,
        annotators=_names(values["annotators"]),
        class_names=class_names,
        anonymous=bool(values["anonymous"]),
    )
    concentration = values["concentration"]
    found = Annotators(
        **{name: part[name] for name in ("probs", "likelihood", "confusion", "average", "shares", *OF_ANNOTATORS)},
        concentration=np.inf if concentration is None else float(concentration),
        log_likelihood=float(values["log_likelihood"]),
    )
    weights = {str(name): float(weight) for name, weight in values["weights"].items()}
    return Consensus(votes, found.probs, found, part.get("experts"), weights)


def _names(names: list[Any]) -> Array:
    whole = all(type(name) is int for name in names)
    return np.array(names, dtype=np.int64 if whole else object)
