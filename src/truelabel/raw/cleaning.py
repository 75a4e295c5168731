"""From raw data to cleaner labels, in one go."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truelabel.arrays import Array, Ints
from truelabel.copies import find_copies
from truelabel.labels import (
    CorrectedLabels,
    Duplicates,
    Examined,
    LabelIssues,
    correct_labels,
    examine,
    examined,
    find_duplicates,
)
from truelabel.labels.correct import Rule
from truelabel.labels.voted import with_calibrator
from truelabel.predictions import Predictions
from truelabel.progress import Progress
from truelabel.raw.images import ImageFolder
from truelabel.raw.instances import MOST_CLASSES, MOST_SKIPPED, Settings, Source, Tell
from truelabel.raw.spelling import described, merged, variants
from truelabel.raw.table import Table
from truelabel.raw.voted import ReadVotes, votes_of

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.calibrators import NPC
LABEL = "label"  # the column that what most annotators say is put into
ALONE = "the only one of its class"  # why an instance is skipped


@dataclass(frozen=True)
class Cleaned:
    """What cleaning found.

    Attributes
    ----------
    examined : Examined
        The instances that have a label: what a classifier said of them, what was found about their labels, and how
        to see them.
    corrected : CorrectedLabels
        Their labels, those that are probably wrong replaced.
    duplicates : Duplicates
        Those of them that are there more than once.
    calibrator : NPC
        The fitted calibrator.
    unlabelled : pandas.DataFrame
        Instances without a label: `id`, `predicted`, `probability`.
    skipped : pandas.DataFrame
        Instances that were left out: `id`, `why`.
    notes : tuple of str
        What was said on the way.
    source : Source
        The raw data.
    rows : (n,) array
        Which of the source's rows the examined ones are.
    """

    examined: Examined
    corrected: CorrectedLabels
    duplicates: Duplicates
    calibrator: NPC
    unlabelled: pd.DataFrame
    skipped: pd.DataFrame
    notes: tuple[str, ...]
    source: Source
    rows: Ints

    def write(
        self,
        folder: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        copy_to: str | os.PathLike[str] | None = None,
        progress: bool | str = "auto",
    ) -> Path:
        """Write everything to a folder; see `truelabel.raw.writing`.

        Parameters
        ----------
        folder : path
            The folder, which is made if need be.
        overwrite : bool, default False
            Whether what an earlier run wrote there may be replaced.
        copy_to : path, optional
            Where images go as a folder tree by corrected class.
        progress : bool or "auto"
            "auto" shows bars when standard error is a terminal.
        """
        from truelabel.raw.writing import write

        return write(self, folder, overwrite=overwrite, copy_to=copy_to, progress=progress)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain JSON values."""
        return {
            "instances": len(self.examined),
            "classes": self.examined.predictions.n_classes,
            "features": self.examined.about["features"],
            "wrong": self.examined.found.wrong.to_dict(),
            "changed": len(self.corrected.changes),
            "declined": self.corrected.declined,
            "duplicates": self.duplicates.to_dict(),
            "unlabelled": len(self.unlabelled),
            "skipped": len(self.skipped),
            "notes": list(self.notes),
        }


def open_source(
    source: str | os.PathLike[str],
    *,
    label: str | Sequence[str] | None = None,
    text: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    id: str | None = None,
) -> Source:
    """Return the raw data that a path names: a folder of images by class, or a table; see `clean`."""
    path = Path(source)
    if path.is_dir():
        named = {"label": label, "text": text, "columns": columns, "id": id}
        superfluous = [name for name, value in named.items() if value]
        if superfluous:
            raise ValueError(f"{path} is a folder of images, which has no columns; leave {superfluous[0]} out.")
        return ImageFolder(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    if not label:
        raise ValueError(f"{path} is a table; name the column that holds the labels (label=…, --label COLUMN).")
    texts = [text] if isinstance(text, str) else list(text or ())
    labels = [label] if isinstance(label, str) else list(label)
    if len(labels) == 1:
        return Table(path, labels[0], text=texts, columns=columns, id=id)
    if len(set(labels)) < len(labels):
        raise ValueError("a column of labels is named twice; name each annotator's once.")
    return Table(path, LABEL, text=texts, columns=columns, id=id, annotators=labels)


def clean(
    source: str | os.PathLike[str] | Source,
    *,
    label: str | Sequence[str] | None = None,
    text: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    id: str | None = None,
    votes: ReadVotes | None = None,
    encoder: str = "auto",
    merge_labels: bool = False,
    drop_rare: bool = False,
    correct: Rule = "safe",
    threshold: float | Literal["auto"] = "auto",
    random_state: int = 0,
    device: str = "auto",
    progress: bool | str = "auto",
    tell: Callable[[str], None] | None = None,
) -> Cleaned:
    """Find and correct wrong labels in raw data: images, texts, or the columns of a table.

    The instances become numbers without their labels having a part in it; a small classifier learns the labels and
    says of each instance what it had not seen; NPC is fitted on that, and judges the labels.

    Parameters
    ----------
    source : path
        A folder with one subfolder of images a class, or a ``.csv`` or ``.parquet`` file.
    label : str or sequence of str
        The column with the labels of a table. Rows without one are predicted, and stay without. Several columns are the
        labels of as many annotators: what most of them say goes to a new column "label", and is judged by what they and
        the features say together; see `truelabel.labels.consensus`.
    text : str or sequence of str, optional
        Columns with texts. Rows without any text are skipped.
    columns : sequence of str, optional
        Columns with numbers and categories to use; all but row numbers and free text by default, where there is no
        `text`.
    id : str, optional
        A column that names each row; rows are numbered from 0 by default.
    votes : callable, optional
        Further labels, of several annotators: called with the names of all rows and of the classes, it returns the
        `Votes` for them. The labels are judged by these votes and the features.
    encoder : str, default "auto"
        A pretrained encoder: its name on the Hugging Face hub, or its folder. "none" does without. "auto" takes a
        small one if it is on this machine or can be downloaded, and says so if not.
    merge_labels : bool, default False
        Whether labels that differ only by case or white space become one class, under the most frequent spelling. By
        default they are only pointed out, since some are meant to differ.
    drop_rare : bool, default False
        Instances that are the only one of their class are always left out. This allows that they are more than a
        fifth of all, which by default is refused: the label column is probably the wrong one.
    correct : {"safe", "all", "none"}
        Which labels are changed: those that the evidence supports, all that are probably wrong, or none; `rule` of
        `truelabel.correct_labels`. Whatever is not changed is still suggested.
    threshold : float or "auto"
        How probable another class must be for a label to be changed; see `truelabel.correct_labels`.
    random_state : int, default 0
        Seed.
    device : str, default "auto"
        The best there is where "auto".
    progress : bool or "auto"
        "auto" shows bars when standard error is a terminal.
    tell : callable, optional
        Called with each thing that the user should know, when it is known.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, pandas as pd, truelabel as tl
    >>> rng = np.random.default_rng(0)
    >>> fruit = np.arange(200) % 2
    >>> given = np.where(np.arange(200) % 10 == 0, 1 - fruit, fruit)
    >>> table = pd.DataFrame({"grams": rng.normal(150 + 1000 * fruit, 20), "fruit": given})
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> table.to_csv(folder / "fruit.csv", index=False)
    >>> cleaned = tl.clean(folder / "fruit.csv", label="fruit", correct="all", progress=False)
    >>> sorted(cleaned.corrected.changes["id"])[:5], len(cleaned.corrected.changes)
    ([0, 10, 20, 30, 40], 20)
    """
    if isinstance(source, str | os.PathLike):
        source = open_source(source, label=label, text=text, columns=columns, id=id)
    if threshold != "auto" and not 0 <= threshold <= 1:
        raise ValueError(f'threshold is a probability between 0 and 1, or "auto", not {threshold}.')
    notes: list[str] = []

    def say(note: str) -> None:
        notes.append(note)
        if tell is not None:
            tell(note)

    given = np.array(_merged(source, merge_labels, say), dtype=object)
    skipped: dict[int, str] = {}
    rows = _usable(source, given, np.arange(len(given)), drop_rare, skipped)
    with Progress(progress) as bars:
        settings = Settings(encoder, random_state, device, bars, say)
        numbers = source.embed(rows, settings)
        skipped |= numbers.skipped
        rows = _usable(source, given, numbers.rows, drop_rare, skipped)
        _tell_rare(given, skipped, say)
        kept = np.isin(numbers.rows, rows)
        names = class_names(given[rows])
        index = {name: k for k, name in enumerate(names)}
        labels = np.array([index.get(name, -1) for name in given[rows]], dtype=np.int64)
        views = {name: view[kept] for name, view in numbers.views.items()}
        copies = find_copies(views)
        probs = numbers.classifier(numbers.inputs[kept], labels, len(names), random_state, device, bars, copies)
    whole = Predictions(probs, views, ids=source.ids[rows], class_names=names, out_of_sample=True)
    known = labels >= 0
    said = whole[known].replace(labels=labels[known])
    agreement = float(np.mean(said.hard == said.labels))
    voted = votes_of(source, votes, names, say)
    how: dict[str, Any] = {"random_state": random_state, "device": device, "progress": progress}
    found = examine(said, votes=None if voted is None else voted[rows[known]], **how)
    if voted is not None:
        found = with_calibrator(said, found, **how)
    corrected = correct_labels(found, rule=correct, threshold=threshold)
    about = {
        "data": source.asked,
        "features": numbers.how,
        "encoder": encoder,
        "agreement": agreement,
        "correct": correct,
        "threshold": threshold,
        "seed": random_state,
        "report": _npc(found).report_.to_dict(),
        "notes": notes,
    }
    for left, what in ((len(skipped), "left out, as skipped.csv says"), (int((~known).sum()), "without a label")):
        if left:
            say(f"{left:,} of {len(given):,} {source.what} {what}.")
    return Cleaned(
        examined(said, found, source.shown(rows[known]), **about),
        corrected,
        _duplicates(source, said, rows[known]),
        _npc(found),
        _predicted(whole[~known], _npc(found)),
        _skipped(source, skipped),
        tuple(notes),
        source,
        rows[known],
    )


def _duplicates(source: Source, said: Predictions, rows: Ints) -> Duplicates:
    views = source.what_tells_copies(rows, said.views) if isinstance(source, Table) else said.views
    return find_duplicates(views, said.labels, ids=said.ids, class_names=said.class_names)


def _npc(found: LabelIssues) -> NPC:
    from truelabel.calibrators import NPC

    assert isinstance(found.calibrator, NPC)
    return found.calibrator


def class_names(given: Sequence[str | None] | Array) -> tuple[str, ...]:
    """Return the classes that are there, sorted; by number where all are whole numbers."""
    names = {str(name) for name in given if name is not None}
    whole = all(name.lstrip("-").isdecimal() for name in names)
    return tuple(sorted(names, key=lambda name: (int(name), name) if whole else (0, name)))


def _usable(source: Source, given: Array, rows: Ints, drop_rare: bool, skipped: dict[int, str]) -> Ints:
    """Return the rows of classes with two instances or more, noting the others; refuse labels that cannot be judged."""
    counts = Counter(name for name in given[rows] if name is not None)
    if len(counts) < 2:
        there = f"one class only ({next(iter(counts))!r})" if counts else "no label"
        raise ValueError(f"{source.name} has {there}; two classes or more are needed.")
    rare = {name for name, count in counts.items() if count < 2}
    if len(counts) - len(rare) < 2:
        raise ValueError(f"{source.name} has fewer than two classes with two instances or more.")
    if len(rare) > MOST_SKIPPED * counts.total() and not drop_rare:
        raise ValueError(
            f"{len(rare):,} of {len(counts):,} classes in {source.name} have one instance only ({_few(rare)}), about "
            "which nothing can be said; is the label column right? If so, leave them out with --drop-rare."
        )
    if len(counts) - len(rare) > MOST_CLASSES:
        raise ValueError(
            f"{source.name} has {len(counts):,} classes, and {MOST_CLASSES:,} are the most; is the label column right?"
        )
    alone = np.array([name in rare for name in given[rows]], dtype=bool)
    skipped |= dict.fromkeys(rows[alone].tolist(), ALONE)
    return np.asarray(rows[~alone])


def _few(names: Iterable[str]) -> str:
    shown = sorted(names)
    return ", ".join(map(repr, shown[:3])) + (", …" if len(shown) > 3 else "")


def _tell_rare(given: Array, skipped: Mapping[int, str], say: Tell) -> None:
    """Say which classes are left out because they have one instance only."""
    rare = [str(given[row]) for row, why in skipped.items() if why == ALONE]
    if len(rare) == 1:
        say(f"1 class has one instance only ({_few(rare)}); it is left out, for nothing can be said about it.")
    elif rare:
        say(
            f"{len(rare):,} classes have one instance only ({_few(rare)}); they are left out, for nothing can be said "
            "about them."
        )


def _merged(source: Source, wanted: bool, say: Tell) -> Sequence[str | None]:
    """Return the given labels, merged on request where they differ only by case or white space, and say so."""
    groups = variants(source.given)
    if not groups:
        return source.given
    if not wanted:
        say(
            f"Labels that differ only by case or white space count as different classes ({described(groups)}); "
            "--merge-labels makes one of them."
        )
        return source.given
    say(
        f"Labels that differ only by case or white space are merged, the first of each being kept: {described(groups)}."
    )
    return merged(source.given, groups)


def _predicted(unlabelled: Predictions, calibrator: NPC) -> pd.DataFrame:
    import pandas as pd

    assert unlabelled.class_names is not None
    probs = calibrator.calibrate(unlabelled) if len(unlabelled) else np.zeros((0, unlabelled.n_classes))
    names = np.array(unlabelled.class_names, dtype=object)
    best = probs.argmax(axis=1)
    return pd.DataFrame({"id": unlabelled.ids, "predicted": names[best], "probability": probs.max(axis=1, initial=0)})


def _skipped(source: Source, skipped: dict[int, str]) -> pd.DataFrame:
    import pandas as pd

    rows = sorted(skipped)
    return pd.DataFrame({"id": source.ids[rows], "why": [skipped[row] for row in rows]})
