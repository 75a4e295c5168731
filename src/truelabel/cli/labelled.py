"""Labelled predictions from the files a user names, with one or with several labels an instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from truelabel.arrays import Array
from truelabel.cli import files
from truelabel.reading import read_npz, reading

if TYPE_CHECKING:
    from truelabel import labels
    from truelabel.calibrators import Calibrator
    from truelabel.labels import LabelIssues, MultiLabel, MultiLabelIssues
    from truelabel.predictions import Predictions

Data = Annotated[
    Path | None,
    typer.Argument(help="Predictions with the labels to examine: .parquet or .npz.", show_default=False),
]
Probs = Annotated[Path | None, typer.Option(help="p(ŷ|x) as an n×c .npy file, in place of DATA.")]
Features = Annotated[Path | None, typer.Option(help="Label-free features, n×d .npy.")]
Hidden = Annotated[Path | None, typer.Option(help="The classifier's hidden layer, n×h .npy.")]
Labels = Annotated[
    Path | None, typer.Option(help="Given labels, .npy: n class indices, or n×c of 0 and 1 for several an instance.")
]
Logits = Annotated[bool, typer.Option("--logits", help="probs holds logits (.npy and .npz).")]
OutOfSample = Annotated[
    bool | None,
    typer.Option(
        "--out-of-sample/--in-sample", help="Had the classifier (not) trained on these instances?", show_default=False
    ),
]
Model = Annotated[
    Path | None,
    typer.Option("--calibrator", help="A calibrator that truelabel fit wrote; fitted on DATA if not given."),
]
Correct = Annotated[
    str,
    typer.Option(
        help="Which labels are changed. safe: those that are probably wrong even with as little noise as is proven; "
        "all: wherever another class is more probable, which can do harm; none."
    ),
]
Votes = Annotated[
    Path | None,
    typer.Option(
        help="The labels of several annotators: a table with a row per label, or with a column per annotator (.csv, "
        ".parquet), or an n×a .npy file of class indices, −1 for none.",
        show_default=False,
    ),
]
VotesColumns = Annotated[
    str | None,
    typer.Option(
        help="The columns of a table of --votes with a row per label, if not instance,annotator,label; two where no "
        "one knows who gave a label.",
        show_default=False,
    ),
]
Counts = Annotated[
    bool, typer.Option("--counts", help="--votes says how many gave each instance each class, a column per class.")
]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto for the best there is.")]


@dataclass(frozen=True)
class VotesFile:
    """The file with votes that the options name."""

    path: Path
    columns: tuple[str, ...] | None
    counts: bool

    @classmethod
    def named(cls, path: Path | None, columns: str | None, counts: bool) -> VotesFile | None:
        """Return what the options say; None where there are no votes."""
        if path is None:
            if columns is not None or counts:
                raise ValueError("--votes-columns and --counts say what --votes holds; name that file, too.")
            return None
        if path.suffix not in (".csv", ".parquet", ".npy"):
            raise ValueError(f"{path} holds votes in none of the forms .csv, .parquet and .npy.")
        return cls(path, None if columns is None else tuple(name.strip() for name in columns.split(",")), counts)

    def read(self, ids: Array, classes: tuple[str, ...] | int) -> labels.Votes:
        """Read the votes for these instances, in their order."""
        from truelabel.labels.vote_files import read_votes_of

        return read_votes_of(self.path, ids, classes, columns=self.columns, counts=self.counts)

    def of(self, said: Predictions) -> tuple[Predictions, labels.Votes]:
        """Read the votes; return them with the instances that have a vote or a label."""
        votes = self.read(np.arange(len(said)) if said.ids is None else said.ids, said.class_names or said.n_classes)
        if said.labels is not None:
            return said, votes
        rows = np.flatnonzero(votes.per_instance > 0)
        return said[rows], votes[rows]


@dataclass(frozen=True)
class Named:
    """The files that the options name."""

    data: Path | None
    parts: Mapping[str, Path | None]
    logits: bool
    out_of_sample: bool | None
    votes: VotesFile | None = None

    def read(self) -> Predictions | MultiLabel:
        """Read them; labels in n×c cells are of several an instance."""
        arrays = self._several()
        if arrays is None:
            return files.read(self.data, dict(self.parts), logits=self.logits, out_of_sample=self.out_of_sample)
        from truelabel.labels import MultiLabel

        if self.logits:
            raise ValueError("with several labels an instance pass probabilities, not --logits.")
        known = {name: arrays[name] for name in ("probs", "labels", "features", "ids") if name in arrays}
        return MultiLabel(**known, out_of_sample=bool(self.out_of_sample))

    def _several(self) -> dict[str, Any] | None:
        """Return the arrays where labels has several columns."""
        labels = self.parts.get("labels")
        if self.data is None:
            if labels is None or not _wide(files._array(labels)):
                return None
            return {name: files._array(path) for name, path in self.parts.items() if path is not None}
        if self.data.suffix == ".npz" and self.data.is_file():
            archive = read_npz(self.data)
            several = "labels" in archive and _wide(archive["labels"])
            return files._archive(self.data) if several else None
        if self.data.suffix == ".parquet" and self.data.is_file():
            _refuse_lists(self.data)
        return None


def _wide(labels: Array) -> bool:
    return labels.ndim == 2 and labels.shape[1] > 1


def _refuse_lists(data: Path) -> None:
    """Refuse a Parquet file with lists of labels, which Predictions cannot hold."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(data, "a Parquet file"):
        schema = pq.read_schema(data)
    if "labels" in schema.names and pa.types.is_nested(schema.field("labels").type):
        raise ValueError(
            f"{data} has several labels an instance; write probs, features and labels (n×c of 0 and 1) to an .npz file."
        )


def found_in(
    named: Named, calibrator: Path | None, *, seed: int, device: str
) -> tuple[Predictions | MultiLabel, LabelIssues | MultiLabelIssues]:
    """Read the files, examine their labels, and return both."""
    import truelabel as tl
    from truelabel.labels import MultiLabel, examine

    said = named.read()
    model: Calibrator | None = None
    if calibrator is not None:
        if isinstance(said, MultiLabel):
            raise ValueError("several labels an instance need a calibrator a class; leave --calibrator out.")
        model = tl.load(calibrator, device=device)
    if named.votes is None:
        return said, examine(said, model, random_state=seed, device=device)
    if isinstance(said, MultiLabel) or model is not None:
        what = "several labels an instance" if model is None else "--calibrator"
        raise ValueError(f"--votes does not go with {what}; leave one of them out.")
    said, votes = named.votes.of(said)
    found = examine(said, votes=votes, random_state=seed, device=device)
    return (said if said.labels is not None else said.replace(labels=found.labels)), found


def records(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a table as plain JSON values."""
    rows: list[dict[str, Any]] = table.to_dict("records")
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    import pandas as pd

    if value is pd.NA:
        return None
    return value.item() if isinstance(value, np.generic) else value
