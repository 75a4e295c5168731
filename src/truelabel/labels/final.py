"""Labels as they are in the end: what a person decided, else a correction that is allowed, else the given label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from truelabel.arrays import Array, Ints
from truelabel.labels.correct import CorrectedLabels, Rule, correct_labels, rule_named
from truelabel.labels.issues import LabelIssues, titles

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.labels.audit import Audit
    from truelabel.labels.examined import Examined

# By row number: the decision in a word, and the class, by its index or, if it is a new one, its name; None without.
Decided = Mapping[int, tuple[str, int | str | None]]
NEW_CLASS: Final = "new class"
REASONS = {
    "accept": "a reviewer took the suggestion",
    "keep": "a reviewer kept the given label",
    "other": "a reviewer gave this label",
    "skip": "a reviewer skipped it, so the given label stays",
    "none": "a person says that no class fits, so it has no label",
    "ambiguous": "a reviewer says that nobody can tell the class, so it has no label",
    "several": "a reviewer says that several classes fit, so it has no label",
    NEW_CLASS: "a reviewer says that it is of a class that was not there",
}
WITHOUT_LABEL = ("none", "ambiguous", "several")  # decisions after which there is no label, not even the given one
CHECKED = "checked"  # the decision where an audit's answer is one of the classes


@dataclass(frozen=True)
class FinalLabels:
    """Final labels of n instances, in the instances' own order.

    Attributes
    ----------
    labels : (n,) array
        Class indices; −1 where there is no label, or one of a new class.
    names : (n,) array of str
        The same as names, those of new classes too; empty where there is no label.
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
        table["corrected"] = self._titles(found.class_names)
        table["changed"] = self.labels != found.labels
        return table.assign(decision=self.decision, reason=self.reason)

    def _titles(self, class_names: tuple[Any, ...]) -> Any:
        """Return the labels as the classes are named, missing where there is none."""
        import pandas as pd

        named = self.names.copy()
        named[self.names == ""] = None
        if isinstance(class_names[0], str):
            return named
        if ((self.labels < 0) & (self.names != "")).any():  # a new class, which has a name
            return named
        numbers = np.where(self.labels < 0, 0, titles(class_names)[self.labels])
        if not (self.labels < 0).any():
            return numbers
        column = pd.array(numbers, dtype="Int64")
        column[self.labels < 0] = pd.NA
        return column


def final_labels(found: LabelIssues, corrected: CorrectedLabels, decided: Decided) -> FinalLabels:
    """Return the labels after corrections, with a person's decisions above them."""
    labels = corrected.labels.copy()
    decision = np.full(len(labels), "", dtype=object)
    reason = np.array(corrected.table["why"].tolist(), dtype=object)
    titled = np.array([str(name) for name in found.class_names], dtype=object)
    new: dict[int, str] = {}
    for row, (word, label) in decided.items():
        known = label is None or isinstance(label, str) or 0 <= label < len(found.class_names)
        if not 0 <= row < len(labels) or not known:
            raise ValueError(f"there is a decision about row {row} and class {label}, which these labels do not have.")
        if isinstance(label, str):
            labels[row], new[row] = -1, label
        elif label is None:
            labels[row] = -1 if word in WITHOUT_LABEL else found.labels[row]
        else:
            labels[row] = label
        decision[row] = word
        reason[row] = REASONS.get(word, _reason(word, label))
    names = np.where(labels < 0, "", titled[labels])
    for row, name in new.items():
        names[row] = name
    return FinalLabels(labels, names, titled[found.labels], decision, reason)


def _reason(word: str, label: int | str | None) -> str:
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


def answered(audit: Audit) -> dict[int, tuple[str, int | str | None]]:
    """Return an audit's answers as decisions."""
    return {row: (CHECKED, code) if code >= 0 else (str(audit.word(code)), None) for row, code in audit.answers.items()}
