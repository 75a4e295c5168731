"""Corrected labels, with a record of what was changed and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truelabel.arrays import Array, Ints
from truelabel.labels.issues import LabelIssues, MultiLabelIssues, examine, titles
from truelabel.labels.support import NEIGHBOURS
from truelabel.labels.wrong import expected_wrong

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.calibrators import Calibrator
    from truelabel.labels.multilabel import MultiLabel
    from truelabel.predictions import Predictions


@dataclass(frozen=True)
class CorrectedLabels:
    """Labels after correction.

    Attributes
    ----------
    labels : (n,) array
        Corrected class indices, in the instances' own order; an n×c indicator matrix for several labels an instance.
    changes : pandas.DataFrame
        What was changed, the surest first: `id`, `given`, `corrected`, `p_wrong`, `p_suggested`, `support` and `why`
        (a sentence). The index is the instance's row number.
    rule : str
        By which rule labels were changed.
    wrong_before, wrong_after : float
        How many labels are expected to be wrong.
    table : pandas.DataFrame
        A row an instance in their own order: `id`, `given`, `corrected`, `changed`, `p_wrong`, `p_suggested`, `why`.
    """

    labels: Ints
    changes: pd.DataFrame
    rule: str
    wrong_before: float
    wrong_after: float
    table: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain JSON values."""
        return {
            "instances": len(self.labels),
            "changed": len(self.changes),
            "rule": self.rule,
            "wrong_before": self.wrong_before,
            "wrong_after": self.wrong_after,
        }

    def __str__(self) -> str:
        return (
            f"{len(self.changes):,} of {self.labels.size:,} labels changed ({self.rule}); "
            f"wrong ones, as estimated: {self.wrong_before:,.0f} before, {self.wrong_after:,.0f} after"
        )


def correct_labels(
    found: Predictions | MultiLabel | LabelIssues | MultiLabelIssues,
    calibrator: Calibrator | None = None,
    *,
    threshold: float | Literal["auto"] = "auto",
    budget: float | None = None,
    random_state: int | None = 0,
    device: str = "auto",
    progress: bool | str = "auto",
) -> CorrectedLabels:
    """Replace labels that are probably wrong by what is suggested.

    Parameters
    ----------
    found : Predictions, MultiLabel or what `examine` returned
        Labels that are not examined yet are.
    calibrator, random_state, device, progress
        For that; see `find_label_issues`.
    threshold : float or "auto"
        Change a label where another class is more probable, and at least so probable. "auto" asks for no more than
        the first: of all rules this leaves the fewest wrong, as far as the probabilities are right.
    budget : int or float, optional
        Change so many labels (a share of all, below 1) at most: those first whose change mends most, by
        p(suggested) − p(given).

    Examples
    --------
    >>> import numpy as np, truelabel as tl
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=400)
    >>> x = rng.normal(size=(400, 2)) + 6 * truth[:, None]
    >>> noisy = np.where(rng.random(400) < 0.2, 1 - truth, truth)
    >>> said = tl.Predictions(features=x, probs=np.eye(2)[noisy] * 0.98 + 0.01, labels=noisy)
    >>> corrected = tl.correct_labels(said)
    >>> bool((corrected.labels == truth).all())
    True
    """
    rule, least = _rule(threshold, budget)
    if not isinstance(found, LabelIssues | MultiLabelIssues):
        found = examine(found, calibrator, random_state=random_state, device=device, progress=progress)
    if isinstance(found, LabelIssues):
        return _correct(found, rule, least, budget)
    return _correct_several(found, rule, least, budget)


def _rule(threshold: float | str, budget: float | None) -> tuple[str, float]:
    """Return the rule in words, and the least probability of a suggestion."""
    rule, least = "another class is more probable", 0.0
    if isinstance(threshold, str):
        if threshold != "auto":
            raise ValueError(f'threshold is a probability or "auto", not {threshold!r}.')
    elif not 0 <= threshold <= 1:
        raise ValueError(f'threshold is a probability between 0 and 1, or "auto", not {threshold}.')
    else:
        rule, least = f"{rule}: {threshold:g} or more", float(threshold)
    if budget is not None:
        if budget < 0 or (budget >= 1 and budget != int(budget)):
            raise ValueError(f"budget is a number of labels, or a share of them below 1, not {budget}.")
        rule += f"; {budget:.1%} of the labels at most" if 0 < budget < 1 else f"; {budget:,.0f} labels at most"
    return rule, least


def _gain(found: LabelIssues) -> Array:
    """Return by how much the change of each label lowers the number of wrong ones; negative where there is none."""
    rows = np.arange(len(found))
    gain = found.probs[rows, found.suggested].astype(np.float64) - found.probs[rows, found.labels]
    return np.where(found.suggested != found.labels, gain, -1.0)


def _changed(gain: Array, p_suggested: Array, least: float, most: float | None) -> Array:
    changed = (gain > 0) & (p_suggested >= least)
    if most is None:
        return changed
    number = int(most) if most >= 1 or most == 0 else int(most * len(gain))
    kept = np.argsort(-gain, kind="stable")[:number]
    out = np.zeros(len(gain), dtype=bool)
    out[kept] = changed[kept]
    return out


def _correct(found: LabelIssues, rule: str, least: float, most: float | None) -> CorrectedLabels:
    changed = _changed(_gain(found), found.probs.max(axis=1), least, most)
    return _record(found, changed, rule)


def _record(found: LabelIssues, changed: Array, rule: str) -> CorrectedLabels:
    labels = np.where(changed, found.suggested, found.labels)
    title = titles(found.class_names)
    table = found.table.sort_index()
    table = table.drop(columns=["suggested", "uncertainty"])
    table.insert(2, "corrected", title[labels])
    table.insert(3, "changed", changed)
    table["why"] = ""
    if changed.any():
        table.loc[changed, "why"] = [_why(row) for row in table[changed].itertuples(index=False)]
    changes = table[changed].drop(columns="changed").sort_values("p_suggested", ascending=False, kind="stable")
    before, after = (expected_wrong(found.probs, which) for which in (found.labels, labels))
    return CorrectedLabels(labels, changes, rule, before, after, table)


def _why(row: Any) -> str:
    """Say why a label was changed."""
    import pandas as pd

    said = f"{row.corrected} has probability {row.p_suggested:.3f}, {row.given} {1 - row.p_wrong:.3f}"
    if pd.isna(row.support):
        return said
    return f"{said}; {row.support} of {NEIGHBOURS} neighbours are labelled {row.corrected}"


def _correct_several(found: MultiLabelIssues, rule: str, least: float, most: float | None) -> CorrectedLabels:
    """Correct each class; a budget is one for all of them."""
    import pandas as pd

    parts = list(found.by_class.values())
    gains = np.concatenate([_gain(part) for part in parts])
    surest = np.concatenate([part.probs.max(axis=1) for part in parts])
    changed = np.split(_changed(gains, surest, least, most), len(parts))
    records = [_record(part, rows, rule) for part, rows in zip(parts, changed, strict=True)]
    for name, record in zip(found.by_class, records, strict=True):
        for frame in (record.changes, record.table):
            frame.insert(1, "class", name)
    return CorrectedLabels(
        np.stack([record.labels for record in records], axis=1),
        pd.concat([record.changes for record in records]).sort_values("p_suggested", ascending=False, kind="stable"),
        rule,
        sum(record.wrong_before for record in records),
        sum(record.wrong_after for record in records),
        pd.concat([record.table for record in records]).sort_index(kind="stable"),
    )
