"""Examined labels as a folder: what was predicted, what was found, and where to see the instances."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError

from truelabel.arrays import Array, as_array
from truelabel.labels.files import write_table
from truelabel.labels.issues import LabelIssues, examine
from truelabel.labels.items import Items, Names, items_of
from truelabel.labels.kept_votes import arrays_of, consensus_from, values_of
from truelabel.labels.left_out import examine_votes_without, examine_without
from truelabel.labels.posterior import UNKNOWN
from truelabel.labels.renewal import newest, renewing
from truelabel.labels.support import HIDDEN, neighbour_view
from truelabel.labels.voted import with_calibrator
from truelabel.labels.wrong import Count, WrongLabels
from truelabel.predictions import Predictions
from truelabel.scale import Scale
from truelabel.writing import write_bytes, write_json

PREDICTIONS, TABLE, ARRAYS, ABOUT = "predictions.parquet", "issues.parquet", "examined.safetensors", "examined.json"
CALIBRATOR = "calibrator.safetensors"
SEVERAL = "several_labels.json"  # in a folder about several labels an instance, which is written elsewhere
COLUMNS = ("id", "given", "suggested", "p_wrong", "p_suggested")  # that every table has


@dataclass(frozen=True)
class Examined:
    """Predictions, what was found about their labels, and how to show the instances.

    Attributes
    ----------
    predictions : Predictions
        What the classifier said, with the given labels.
    found : LabelIssues
        What `examine` returned.
    items : Items
        How the instances are shown to a person.
    about : dict
        Plain JSON values to reproduce it by: settings, versions, measures.
    """

    predictions: Predictions
    found: LabelIssues
    items: Items
    about: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.predictions)

    @property
    def neighbour_view(self) -> tuple[str, str] | None:
        """The view in which neighbours were counted for `support`, and its scale; None where there is none."""
        noted = self.about.get("neighbours")
        name, scale = (noted.get("view"), noted.get("scale")) if isinstance(noted, dict) else (None, None)
        there = [*self.predictions.views, *([] if self.predictions.hidden is None else [HIDDEN])]
        if name in there and scale in Scale.NAMES:
            return str(name), str(scale)
        return neighbour_view(self.predictions, self.found.calibrator)

    def refined(
        self,
        rows: Any,
        labels: Any,
        *,
        left_out: Any = (),
        seed: int = 0,
        device: str = "auto",
        progress: bool | str = "auto",
    ) -> Examined:
        """Examine the labels again, now that somebody has looked at some instances.

        What they are is taken as such and helps to judge the others: the experts learn from it, and T is counted
        with it. A new `NPC` with its default settings is fitted; of labels with votes, the consensus is taken anew. The
        given labels stay what they were.

        Parameters
        ----------
        rows : (m,) array
            The instances that somebody looked at, by number.
        labels : (m,) array
            Their true classes, as class indices.
        left_out : (k,) array, optional
            Instances without one label that is right, by number: nothing is learned from them, and they are not
            counted.
        seed : int, default 0
            Seed of the new calibrator, where `about` does not say with which one the labels were examined before.
        device, progress
            See `NPC`.

        Returns
        -------
        Examined
            Its `about` says how many labels were trusted, and how many left out.
        """
        trusted = _trusted(rows, labels, *self.predictions.probs.shape)
        left_out = np.unique(np.asarray(left_out, dtype=np.int64))
        if len(left_out) and not 0 <= left_out[0] <= left_out[-1] < len(self):
            raise ValueError(f"there is no row {left_out[-1]} to leave out; they go from 0 to {len(self) - 1}.")
        noted = self.about.get("seed")
        seed = seed if noted is None else int(noted)
        votes = None if self.found.consensus is None else self.found.consensus.votes
        settings: dict[str, Any] = {"random_state": seed, "device": device, "progress": progress}
        if votes is not None:
            found = examine_votes_without(self.predictions, left_out, votes, trusted, **settings)
        elif len(left_out):
            found = examine_without(self.predictions, left_out, self.found, trusted, **settings)
        else:
            found = examine(self.predictions, trusted=trusted, **settings)
        if votes is not None and "report" in self.about:  # there is a calibrator, which has to follow
            found = with_calibrator(self.predictions, found, **settings)
        about = self.about | _noted(self.predictions, found) | {"seed": seed, "trusted": int((trusted >= 0).sum())}
        about["left_out"] = len(left_out)
        report = getattr(found.calibrator, "report_", None)
        if report is not None:
            about["report"] = report.to_dict()
        return Examined(self.predictions, found, self.items, about)

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write all to a folder, which is made if need be."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        with renewing(target) as made:
            self.predictions.to_parquet(made / PREDICTIONS)
            self._write_found(made)
        return target

    def renew(self, folder: str | os.PathLike[str], others: Callable[[Path], None] | None = None) -> Path:
        """Write what was found, and the calibrator, to a folder that has these predictions already.

        Whatever ends the program meanwhile, the folder holds all that it held before or all that is new.

        Parameters
        ----------
        folder : path
            The folder.
        others : callable, optional
            Writes further files, which are renewed together with these, to the folder that it is given.
        """
        target = Path(folder)
        if not newest(target, PREDICTIONS).is_file():
            raise FileNotFoundError(f"{target} holds no examined labels to renew; write them to it first.")
        save = getattr(self.found.calibrator, "save", None)
        with renewing(target) as made:
            self._write_found(made)
            if save is not None:
                save(made / CALIBRATOR)
            if others is not None:
                others(made)
        return target

    def _write_found(self, target: Path) -> None:
        from safetensors.numpy import save

        table = self.found.table
        write_table(table.assign(row=table.index), target / TABLE)
        arrays: dict[str, Array] = {
            "labels": self.found.labels.astype(np.int64),
            "probs": np.ascontiguousarray(self.found.probs, dtype=np.float32),
            "transition": np.ascontiguousarray(self.found.transition, dtype=np.float64),
        }
        if self.found.supported is not None:
            arrays["supported"] = self.found.supported.astype(np.int64)
        consensus = self.found.consensus
        arrays |= {} if consensus is None else arrays_of(consensus)
        write_bytes(target / ARRAYS, save(arrays))
        names = [str(name) if isinstance(name, str) else int(name) for name in self.found.class_names]
        about = {
            "class_names": names,
            "wrong": self.found.wrong.to_dict(),
            "evidence": self.found.evidence,
            "votes": None if consensus is None else values_of(consensus),
            "items": self.items.source(),
            "about": self.about,
        }
        write_json(target / ABOUT, about)

    @classmethod
    def read(cls, folder: str | os.PathLike[str], source: dict[str, Any] | None = None) -> Examined:
        """Read a folder that `write` wrote. No code from it is run.

        Parameters
        ----------
        folder : path
            The folder.
        source : dict, optional
            Where the instances are to be seen, if not where they were; see `items_of`.
        """
        import pyarrow as pa

        home = Path(folder)
        if newest(home, SEVERAL).is_file():
            raise ValueError(
                f"{home} is about several labels an instance, which cannot be reviewed, audited or reported anew yet; "
                "look at its report.html and issues.csv, or clean one column of yes and no alone (truelabel clean "
                "TABLE --label COLUMN) and review that."
            )
        if not newest(home, ABOUT).is_file():
            raise FileNotFoundError(f"{home} holds no examined labels; truelabel clean and truelabel issues --save do.")
        missing = [name for name in (PREDICTIONS, TABLE, ARRAYS) if not newest(home, name).is_file()]
        if missing:
            raise FileNotFoundError(f"{home} is not complete: {missing[0]} is missing; write it anew.")
        try:
            said, found, shown, about = _contents(home)
        except (
            *(KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError),
            *(OSError, SafetensorError, pa.ArrowException),
        ) as error:
            raise ValueError(f"{home} is damaged ({type(error).__name__}: {error}); write it anew.") from None
        return cls(said, found, items_of(source or shown, _ids(said)), about)


def _contents(home: Path) -> tuple[Predictions, LabelIssues, dict[str, Any], dict[str, Any]]:
    import pandas as pd
    from safetensors.numpy import load_file

    stored = json.loads(newest(home, ABOUT).read_text(encoding="utf-8"))
    said = Predictions.from_parquet(newest(home, PREDICTIONS))
    arrays = load_file(newest(home, ARRAYS))
    labels, probs = arrays["labels"], arrays["probs"]
    table = pd.read_parquet(newest(home, TABLE)).set_index("row").rename_axis(index=None)
    names = tuple(stored["class_names"])
    n, c = said.probs.shape
    if (labels.shape, probs.shape, len(table), len(names)) != ((n,), (n, c), n, c):
        raise ValueError(f"its files are not of the same {n} instances and {c} classes")
    same = said.labels is not None and np.array_equal(labels, said.labels)
    if not same or not np.array_equal(np.sort(table.index.to_numpy()), np.arange(n)):
        raise ValueError("its files do not list the same instances and labels")
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing or arrays["transition"].shape != (c, c):
        raise ValueError(f"{missing[0] if missing else 'a row of the transition matrix'} is missing")
    if not all(np.isfinite(part).all() for part in (probs, arrays["transition"], table["p_wrong"].to_numpy(float))):
        raise ValueError("a probability is not finite")
    if not all(type(name) in (str, int) for name in names) or len(set(names)) != c:
        raise ValueError("its classes have no names of their own")
    supported = arrays.get("supported")
    if supported is not None and (supported.shape != (n,) or not ((supported >= 0) & (supported < c)).all()):
        raise ValueError(f"{ARRAYS} does not have a class for each of {n} instances in 'supported'")
    found = LabelIssues(
        table,
        labels,
        probs,
        _wrong(stored["wrong"]),
        arrays["transition"],
        names,
        None,
        supported,
        str(stored.get("evidence", UNKNOWN)),
        consensus_from(arrays, stored.get("votes"), _ids(said), names),
    )
    return said, found, dict(stored["items"]), dict(stored["about"])


def _wrong(stored: dict[str, Any]) -> WrongLabels:
    return WrongLabels(
        _count(stored), {part["given"]: _count(part) for part in stored["by_class"]}, level=float(stored["level"])
    )


def _count(stored: dict[str, Any]) -> Count:
    number, low, high = (float(stored[name]) for name in ("number", "low", "high"))
    return Count(number, low, high, int(stored["of"]))


def _ids(predictions: Predictions) -> Any:
    return np.arange(len(predictions)) if predictions.ids is None else predictions.ids


def _trusted(rows: Any, labels: Any, n: int, c: int) -> Array:
    """Return the true classes that are known of n instances, −1 for the rest."""
    rows, labels = as_array(rows, "rows"), as_array(labels, "labels")
    if rows.ndim != 1 or rows.shape != labels.shape:
        raise ValueError(f"rows has shape {rows.shape} and labels {labels.shape}; pass one label for each row.")
    if not len(rows):
        raise ValueError("there is nothing to learn from; pass the row and the true class of one instance or more.")
    if rows.dtype.kind not in "iu" or labels.dtype.kind not in "iu":
        raise TypeError("rows and labels are whole numbers: the instances' row numbers and their classes' indices.")
    for what, values, end in (("row", rows, n), ("class", labels, c)):
        outside = values[(values < 0) | (values >= end)]
        if len(outside):
            raise ValueError(f"there is no {what} {outside[0]}; they go from 0 to {end - 1}.")
    trusted = np.full(n, -1, dtype=np.int64)
    trusted[rows] = labels
    return trusted


def _noted(predictions: Predictions, found: LabelIssues) -> dict[str, Any]:
    """Return what is noted of all examined labels: the version, and where neighbours were searched."""
    from truelabel import __version__

    view = neighbour_view(predictions, found.calibrator)
    return {"truelabel": __version__} | ({} if view is None else {"neighbours": {"view": view[0], "scale": view[1]}})


def examined(
    predictions: Predictions, found: LabelIssues, source: dict[str, Any] | None = None, **about: Any
) -> Examined:
    """Put together what is known of some labels; `source` says where the instances are to be seen (see `items_of`)."""
    ids = _ids(predictions)
    items = Names(ids) if source is None else items_of(source, ids)
    return Examined(predictions, found, items, _noted(predictions, found) | about)
