"""Labels as they are in the end: what a person decided, else a correction that is allowed, else the given label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truelabel.arrays import Array, Ints
from truelabel.labels.correct import CorrectedLabels, Rule, correct_labels, rule_named
from truelabel.labels.issues import LabelIssues, titles

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.labels.audit import Audit
    from truelabel.labels.examined import Examined

Decided = Mapping[int, tuple[str, int | None]]  # by row number: the decision in a word, and the class if there is one
REASONS = {
    "accept": "a reviewer took the suggestion",
    "keep": "a reviewer kept the given label",
    "other": "a reviewer gave this label",
    "skip": "a reviewer skipped it, so the given label stays",
}
CHECKED = "checked"  # the decision where an audit's answer is one of the classes


@dataclass(frozen=True)
class FinalLabels:
    """Final labels of n instances, in the instances' own order.

    Attributes
    ----------
    labels : (n,) array
        Class indices.
    names : (n,) array of str
        The same as names.
    given : (n,) array of str
        The names of the given labels.
    decision : (n,) array of str
        What a person decided; empty where nobody did.
    reason : (n,) array of str
        Why the label is what it is; empty where the given label stays and nobody decided.
    """

    labels: Ints
    names: Array
    given: Array
    decision: Array
    reason: Array

    def listed(self, found: LabelIssues) -> pd.DataFrame:
        """Return a row per instance: `id`, `given`, `corrected`, `changed`, `decision`, `reason`."""
        table = found.table.sort_index()[["id", "given"]].copy()
        table["corrected"] = titles(found.class_names)[self.labels]
        table["changed"] = self.labels != found.labels
        return table.assign(decision=self.decision, reason=self.reason)


def final_labels(found: LabelIssues, corrected: CorrectedLabels, decided: Decided) -> FinalLabels:
    """Return the labels after corrections, with a person's decisions above them."""
    labels = corrected.labels.copy()
    decision = np.full(len(labels), "", dtype=object)
    reason = np.array(corrected.table["why"].tolist(), dtype=object)
    for row, (word, label) in decided.items():
        if not 0 <= row < len(labels) or not (label is None or 0 <= label < len(found.class_names)):
            raise ValueError(f"there is a decision about row {row} and class {label}, which these labels do not have.")
        labels[row] = found.labels[row] if label is None else label
        decision[row] = word
        reason[row] = REASONS.get(word, _reason(word, label))
    names = np.array([str(name) for name in found.class_names], dtype=object)
    return FinalLabels(labels, names[labels], names[found.labels], decision, reason)


def _reason(word: str, label: int | None) -> str:
    if word == CHECKED:
        return "a person checked it in an audit"
    return f"a person decided: {word}" + (", so the given label stays" if label is None else "")


def corrections(examined: Examined, rule: Rule | None = None) -> CorrectedLabels:
    """Return corrections by a rule: by default as the labels were cleaned, and none where they were only examined."""
    if rule is not None:
        return correct_labels(examined.found, rule=rule)
    rule = rule_named(str(examined.about.get("correct", "none")), audited=False)
    noted: Any = examined.about.get("threshold", "auto")
    threshold: float | Literal["auto"] = float(noted) if isinstance(noted, int | float) else "auto"
    return correct_labels(examined.found, rule=rule, threshold=threshold)


def answered(audit: Audit) -> dict[int, tuple[str, int | None]]:
    """Return an audit's answers as decisions."""
    return {row: (CHECKED, code) if code >= 0 else (str(audit.word(code)), None) for row, code in audit.answers.items()}
