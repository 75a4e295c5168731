"""From a table with several labels an instance to cleaner ones: each label is a question of yes or no."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truelabel.arrays import Ints
from truelabel.copies import find_copies
from truelabel.labels import (
    CorrectedLabels,
    Duplicates,
    LabelIssues,
    MultiLabelIssues,
    correct_labels,
    examine,
    find_duplicates,
)
from truelabel.labels.correct import Rule
from truelabel.labels.items import Items, items_of
from truelabel.labels.multilabel import FEWEST
from truelabel.predictions import Predictions
from truelabel.progress import Progress
from truelabel.raw.instances import Embedded, Settings, Tell, check_skipped
from truelabel.raw.label_cells import LabelCells
from truelabel.raw.several_labels import SeveralLabels
from truelabel.raw.spelling import described, variants

if TYPE_CHECKING:
    import pandas as pd

NO_YES = ("no", "yes")
SHOWN = 5  # labels that a sentence names


@dataclass(frozen=True)
class CleanedSeveral:
    """What cleaning found about several labels an instance.

    Attributes
    ----------
    found : MultiLabelIssues
        What was found about each label; its given answers are "no" and "yes".
    corrected : CorrectedLabels
        The answers, those that are probably wrong replaced.
    duplicates : Duplicates
        Instances that are there more than once.
    items : Items
        How the instances are shown to a person.
    skipped : pandas.DataFrame
        Instances that were left out: `id`, `why`.
    about : dict
        Plain JSON values to reproduce it by.
    notes : tuple of str
        What was said on the way.
    source : SeveralLabels
        The raw data.
    rows : (n,) array
        Which of the source's rows were judged.
    places : (c,) array
        Which of the source's labels were judged.
    """

    found: MultiLabelIssues
    corrected: CorrectedLabels
    duplicates: Duplicates
    items: Items
    skipped: pd.DataFrame
    about: dict[str, Any]
    notes: tuple[str, ...]
    source: SeveralLabels
    rows: Ints
    places: Ints

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def suspects(self) -> pd.DataFrame:
        """A row per instance and label for which the other answer is more probable, the most suspicious first.

        `id`, `label`, `given` and `suggested` ("yes" or "no"), `p_wrong`, `p_suggested`, `uncertainty`, `support`;
        the index is the instance's number among those that were judged.
        """
        table = self.found.table.rename(columns={"class": "label"})
        return table[table["given"] != table["suggested"]]

    @property
    def by_label(self) -> pd.DataFrame:
        """A row per label, with the most wrong first.

        `label`; `instances`, how many have it; `wrong`, how many answers are probably wrong, between `low` and `high`;
        of these `missing`, where it is not given and should be, and `superfluous`, where it is given and should not
        be; `suspicious`, for how many the other answer is more probable; `changed`, how many were corrected.
        """
        import pandas as pd

        changed = self.corrected.changes["class"].value_counts()
        rows = [_counts(name, found) | {"changed": int(changed.get(name, 0))} for name, found in self._each()]
        return pd.DataFrame(rows).sort_values("wrong", ascending=False, kind="stable", ignore_index=True)

    @property
    def unproven(self) -> tuple[str, ...]:
        """The labels of which nothing proves that answers are wrong."""
        return tuple(name for name, found in self._each() if found.caveat)

    @property
    def rule(self) -> str:
        """By which rule answers were changed."""
        return self.corrected.rule.replace("another class", "the other answer")

    @property
    def stayed(self) -> int:
        """How many answers stay although the other one is more probable."""
        return int(self.found.mask().sum()) - len(self.corrected.changes)

    @property
    def doubt(self) -> str:
        """What to know before the counts are believed; empty where there is nothing."""
        unproven, said = self.unproven, []
        if unproven:
            which = f"{len(unproven):,} of {len(self.found.by_class):,} labels ({_few(unproven)})"
            said.append(
                f"Nothing proves that answers are wrong for {which}: "
                "mistakes that grow with difficulty look like labels that overlap, and those of rules do not show."
            )
        if self.stayed:
            said.append(
                f"{self.stayed:,} answers that may be wrong stayed as they were: look at them in issues.csv or "
                "report.html, or change labels on belief alone (--correct all)."
            )
        return " ".join(said)

    def _each(self) -> list[tuple[str, LabelIssues]]:
        return list(self.found.by_class.items())

    def table(self) -> pd.DataFrame:
        """Return the user's table with corrected labels; see `SeveralLabels.corrected`."""
        reasons: dict[int, list[str]] = {}
        for row, line in self.corrected.changes.sort_index(kind="stable").iterrows():
            why = f"{line['class']}: {line['given']} → {line['corrected']} ({line['why']})"
            reasons.setdefault(int(row), []).append(why)
        joined = ["; ".join(reasons.get(row, [])) for row in range(len(self))]
        return self.source.corrected(self.rows, self.places.tolist(), self.corrected.labels, joined)

    def write(self, folder: str | os.PathLike[str], *, overwrite: bool = False, progress: bool | str = "auto") -> Path:
        """Write everything to a folder; see `truelabel.raw.writing_several`."""
        from truelabel.raw.writing_several import write_several

        return write_several(self, folder, overwrite=overwrite, progress=progress)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain JSON values."""
        return {
            "instances": len(self),
            "labels": self.by_label.to_dict(orient="records"),
            "features": self.about["features"],
            "suspicious": int(self.found.mask().sum()),
            "changed": len(self.corrected.changes),
            "stayed": self.stayed,
            "duplicates": self.duplicates.to_dict(),
            "skipped": len(self.skipped),
            "notes": list(self.notes),
        }


def clean_several(
    source: SeveralLabels,
    *,
    encoder: str = "auto",
    correct: Rule = "safe",
    threshold: float | Literal["auto"] = "auto",
    random_state: int = 0,
    device: str = "auto",
    progress: bool | str = "auto",
    tell: Callable[[str], None] | None = None,
) -> CleanedSeveral:
    """Find and correct wrong labels in a table whose rows have any number of labels each.

    As `truelabel.clean`, but for each label by itself: a classifier and a calibrator of its own say whether a row has
    it. Labels that fewer than 20 rows have, or have not, are not judged and stay as they are. So do rows with an empty
    cell in a column of yes and no.

    Parameters
    ----------
    source : SeveralLabels
        The table.
    encoder, correct, threshold, random_state, device, progress, tell
        As in `truelabel.clean`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, pandas as pd
    >>> from truelabel.raw import SeveralLabels, clean_several
    >>> rng = np.random.default_rng(0)
    >>> large = np.arange(200) % 2
    >>> given = np.where(np.arange(200) % 10 == 0, 1 - large, large)
    >>> table = pd.DataFrame({"grams": rng.normal(150 + 1000 * large, 20), "is_large": given})
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> table.to_csv(folder / "fruit.csv", index=False)
    >>> source = SeveralLabels(folder / "fruit.csv", label_columns=["is_*"])
    >>> cleaned = clean_several(source, correct="all", progress=False)
    >>> sorted(cleaned.suspects["id"])[:5], len(cleaned.suspects)
    ([0, 10, 20, 30, 40], 20)
    """
    if threshold != "auto" and not 0 <= threshold <= 1:
        raise ValueError(f'threshold is a probability between 0 and 1, or "auto", not {threshold}.')
    notes: list[str] = []

    def say(note: str) -> None:
        notes.append(note)
        if tell is not None:
            tell(note)

    _tell_variants(source, say)
    skipped = source.unanswered()
    check_skipped(source.table, skipped, len(source.ids))
    rows = np.array([row for row in range(len(source.ids)) if row not in skipped], dtype=np.int64)
    with Progress(progress) as bars:
        numbers = source.table.embed(rows, Settings(encoder, random_state, device, bars, say))
        skipped |= numbers.skipped
        given = source.given[numbers.rows]
        places = _judged(source, given, say)
        probs = _probs(numbers, given[:, places], random_state, device, bars)
    ids, names = source.ids[numbers.rows], [source.names[k] for k in places]
    said = [
        Predictions(probs[k], numbers.views, labels=given[:, place], ids=ids, class_names=NO_YES, out_of_sample=True)
        for k, place in enumerate(places)
    ]
    how: dict[str, Any] = {"random_state": random_state, "device": device, "progress": progress}
    found = MultiLabelIssues({name: examine(part, **how) for name, part in zip(names, said, strict=True)})
    if skipped:
        say(f"{len(skipped):,} of {len(source.ids):,} rows left out, as skipped.csv says.")
    apart = source.table.what_tells_copies(numbers.rows, numbers.views)
    return CleanedSeveral(
        found,
        correct_labels(found, rule=correct, threshold=threshold),
        find_duplicates(apart, given[:, places], ids=ids, class_names=tuple(names)),
        items_of(source.table.shown(numbers.rows), ids),
        _listed(source, skipped),
        {
            "data": source.asked,
            "features": numbers.how,
            "encoder": encoder,
            "correct": correct,
            "threshold": threshold,
            "seed": random_state,
            "notes": notes,
        },
        tuple(notes),
        source,
        numbers.rows,
        places,
    )


def _judged(source: SeveralLabels, given: Ints, say: Tell) -> Ints:
    """Return which labels have enough rows with and without them, saying which have not."""
    held = given.sum(axis=0)
    enough = np.minimum(held, len(given) - held) >= FEWEST
    left = [name for name, kept in zip(source.names, enough, strict=True) if not kept]
    if not enough.any():
        raise ValueError(
            f"{source.path} has no label that at least {FEWEST} rows have and {FEWEST} have not, which is the least to "
            f"judge one by; the labels are {_few(left)}."
        )
    if left:
        say(
            f"Not judged, for fewer than {FEWEST} rows have them or have them not: {len(left):,} labels ({_few(left)})."
        )
    return np.flatnonzero(enough)


def _probs(numbers: Embedded, given: Ints, seed: int, device: str, bars: Progress) -> list[Any]:
    """Return for each label p(no) and p(yes) of each row, by a classifier that has not seen the row."""
    copies = find_copies(numbers.views)
    return [numbers.classifier(numbers.inputs, column, 2, seed, device, bars, copies) for column in given.T]


def _tell_variants(source: SeveralLabels, say: Tell) -> None:
    counts = source.labels.counts.elements() if isinstance(source.labels, LabelCells) else source.names
    groups = variants(list(counts))
    if groups:
        say(f"Labels that differ only by case or white space count as different labels ({described(groups)}).")


def _counts(name: str, found: LabelIssues) -> dict[str, Any]:
    total = found.wrong.total
    no, yes = (found.wrong.by_class[answer] for answer in NO_YES)
    return {
        "label": name,
        "instances": yes.of,
        "wrong": total.number,
        "low": total.low,
        "high": total.high,
        "missing": no.number,
        "superfluous": yes.number,
        "suspicious": int(found.mask().sum()),
    }


def _listed(source: SeveralLabels, skipped: dict[int, str]) -> pd.DataFrame:
    import pandas as pd

    rows = sorted(skipped)
    return pd.DataFrame({"id": source.ids[rows], "why": [skipped[row] for row in rows]})


def _few(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
