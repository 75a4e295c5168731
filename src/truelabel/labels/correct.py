"""Corrected labels, with a record of what was changed and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from truelabel.arrays import Array, Ints
from truelabel.labels.issues import LabelIssues, MultiLabelIssues, examine, titles
from truelabel.labels.posterior import UNKNOWN
from truelabel.labels.support import NEIGHBOURS

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.calibrators import Calibrator
    from truelabel.labels.audit import Audit
    from truelabel.labels.multilabel import MultiLabel
    from truelabel.predictions import Predictions

AUDITED = "an audit"
Rule = Literal["safe", "audited", "all", "none"]
RULES = {
    "safe": "another class is more probable with as little noise as is proven",
    "audited": "an audit proves that the change makes labels better, or a person checked it",
    "all": "another class is more probable",
    "none": "none is to be changed",
}
VOTED = "another class is more probable, and the votes speak for it, too"
WHY_NOT = {
    "the surest instances": "nothing proves that labels are wrong: classes that are hard to tell apart would look the "
    "same",
    "several annotators": "the votes, each weighed by how good its annotator is, do not speak for another class",
    "checked labels": "checked labels show how many are wrong, but not whether the suggestions are right",
    UNKNOWN: "a calibrator that was fitted before does not keep how far the noise is proven",
    AUDITED: "the audit does not prove that more changes make the labels better",
}
MORE = "Check more labels, and it may."
HELP = (
    "An audit of a hundred labels shows whether the suggestions can be trusted (truelabel audit). Or change labels on "
    'belief alone (rule="all", --correct all).'
)


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
    table : pandas.DataFrame
        A row per instance in their own order: `id`, `given`, `corrected`, `changed`, `p_wrong`, `p_suggested`, `why`.
    declined : str
        Why labels stay although another class is more probable, and what would help; empty where none do.
    """

    labels: Ints
    changes: pd.DataFrame
    rule: str
    table: pd.DataFrame
    declined: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain JSON values."""
        return {
            "instances": len(self.labels),
            "changed": len(self.changes),
            "rule": self.rule,
            "declined": self.declined,
        }

    def __str__(self) -> str:
        changed = f"{len(self.changes):,} of {self.labels.size:,} labels changed ({self.rule})"
        return f"{changed}\n{self.declined}" if self.declined else changed


def correct_labels(
    found: Predictions | MultiLabel | LabelIssues | MultiLabelIssues,
    calibrator: Calibrator | None = None,
    *,
    rule: Rule = "safe",
    audit: Audit | None = None,
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
        Predictions are examined first.
    calibrator, random_state, device, progress
        For that; see `find_label_issues`.
    rule : {"safe", "audited", "all", "none"}
        "safe": change a label where another class is more probable even with as little noise as the evidence proves.
        Where nothing proves that labels are wrong, none is changed, and `declined` says why and what would help. Of
        labels with votes: where the votes, each weighed by how good its annotator is, speak for that class, too.
        "audited": change what a person checked, and what the audit's verdict calls safe; takes `audit`.
        "all": change a label wherever another class is more probable. If the noise is misjudged, this can do harm.
        "none": change none.
    audit : Audit, optional
        With answers, drawn from `found` as it is.
    threshold : float or "auto"
        Of these, change only labels for which another class is at least so probable; "auto" asks for no more.
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
    >>> corrected = tl.correct_labels(said, rule="all")
    >>> bool((corrected.labels == truth).all())
    True
    """
    words, least = _rule(rule, threshold, budget)
    if (rule == "audited") != (audit is not None):
        raise ValueError('rule="audited" and an audit go together; pass both, or neither.')
    if not isinstance(found, LabelIssues | MultiLabelIssues):
        found = examine(found, calibrator, random_state=random_state, device=device, progress=progress)
    if audit is not None:
        found = _audited(found, audit)
    if isinstance(found, LabelIssues):
        words = words if found.consensus is None else words.replace(RULES["safe"], VOTED)
        return _correct(found, rule, words, least, budget)
    return _correct_several(found, rule, words, least, budget)


def rule_named(name: str, *, audited: bool = True) -> Rule:
    """Return the rule of this name; without `audited` refuse that one, where there can be no audit yet."""
    if name == "audited" and not audited:
        raise ValueError("an audit begins with results; run truelabel audit on them, with --corrected FILE.")
    if name not in RULES:
        raise ValueError(f"labels are corrected by one of the rules {', '.join(RULES)}, not {name!r}.")
    return cast(Rule, name)


def _rule(name: str, threshold: float | str, budget: float | None) -> tuple[str, float]:
    """Return the rule in words, and the least probability of a suggestion."""
    rule, least = RULES[rule_named(name)], 0.0
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


def _audited(found: LabelIssues | MultiLabelIssues, audit: Audit) -> LabelIssues:
    """Return what was found with what an audit adds: true classes that are known, and changes that are safe."""
    from truelabel.label_noise.transition import settle

    if not (
        isinstance(found, LabelIssues) and np.array_equal(audit.given, found.labels) and audit.suggested is not None
    ):
        raise ValueError("the audit was not drawn from these labels, or without suggestions; begin a new one.")
    safe, known = audit.verdict().safe, audit.trusted
    supported = found.labels.copy()
    if safe is not None:
        changed = audit.p_wrong >= safe["cutoff"]
        changed[sorted(audit.answers)] = False  # a person's answer counts, also where it is that no class is right
        supported[changed] = audit.suggested[changed]
    rows = np.flatnonzero(known >= 0)
    table = found.table.copy()
    table.loc[rows, "suggested"] = titles(found.class_names)[known[rows]]
    table.loc[rows, "p_wrong"] = (known[rows] != found.labels[rows]).astype(np.float64)
    table.loc[rows, "p_suggested"] = 1.0
    return replace(
        found,
        table=table,
        probs=settle(found.probs.copy(), known),
        supported=np.where(known >= 0, known, supported),
        evidence=AUDITED,
    )


def _gain(found: LabelIssues, rule: Rule) -> Array:
    """Return by how much a change of each label lowers the number of wrong ones; negative where it is not allowed."""
    rows = np.arange(len(found))
    gain = found.probs[rows, found.suggested].astype(np.float64) - found.probs[rows, found.labels]
    allowed = found.suggested != found.labels
    if rule in ("safe", "audited"):
        allowed &= found.suggested == (found.labels if found.supported is None else found.supported)
    return np.where(allowed & (rule != "none"), gain, -1.0)


def _declined(found: LabelIssues, rule: Rule) -> str:
    """Say why labels stay although another class is more probable, and what would help."""
    if rule not in ("safe", "audited"):
        return ""
    kept = int((_gain(found, "all") > 0).sum() - (_gain(found, rule) > 0).sum())
    if kept == 0:
        return ""
    reason = WHY_NOT.get(found.evidence, "another class is more probable only if there is more noise than is proven")
    help = MORE if found.evidence == AUDITED else HELP
    return f"{kept:,} label{'s' if kept > 1 else ''} that may be wrong stayed: {reason}. {help}"


def _changed(gain: Array, p_suggested: Array, least: float, most: float | None) -> Array:
    changed = (gain > 0) & (p_suggested >= least)
    if most is None:
        return changed
    number = int(most) if most >= 1 or most == 0 else int(most * len(gain))
    kept = np.argsort(-gain, kind="stable")[:number]
    out = np.zeros(len(gain), dtype=bool)
    out[kept] = changed[kept]
    return out


def _correct(found: LabelIssues, rule: Rule, words: str, least: float, most: float | None) -> CorrectedLabels:
    changed = _changed(_gain(found, rule), found.probs.max(axis=1), least, most)
    return _record(found, changed, words, _declined(found, rule))


def _record(found: LabelIssues, changed: Array, words: str, declined: str) -> CorrectedLabels:
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
    return CorrectedLabels(labels, changes, words, table, declined)


def _why(row: Any) -> str:
    """Say why a label was changed."""
    import pandas as pd

    said = f"{row.corrected} has probability {row.p_suggested:.3f}, {row.given} {1 - row.p_wrong:.3f}"
    votes = getattr(row, "votes", 0)
    if votes:
        return f"{said}; {votes * (1 - row.disagreement):.0f} of {votes} votes are for {row.corrected}"
    if row.p_wrong == 1 and row.p_suggested == 1:
        return f"a person says that it is {row.corrected}"
    if pd.isna(row.support):
        return said
    return f"{said}; {row.support} of {NEIGHBOURS} neighbours are labelled {row.corrected}"


def _correct_several(
    found: MultiLabelIssues, rule: Rule, words: str, least: float, most: float | None
) -> CorrectedLabels:
    """Correct each class; a budget is one for all of them."""
    import pandas as pd

    parts = list(found.by_class.values())
    gains = np.concatenate([_gain(part, rule) for part in parts])
    surest = np.concatenate([part.probs.max(axis=1) for part in parts])
    changed = np.split(_changed(gains, surest, least, most), len(parts))
    declined = [_declined(part, rule) for part in parts]
    records = [_record(part, rows, words, why) for part, rows, why in zip(parts, changed, declined, strict=True)]
    for name, record in zip(found.by_class, records, strict=True):
        for frame in (record.changes, record.table):
            frame.insert(1, "class", name)
    return CorrectedLabels(
        np.stack([record.labels for record in records], axis=1),
        pd.concat([record.changes for record in records]).sort_values("p_suggested", ascending=False, kind="stable"),
        words,
        pd.concat([record.table for record in records]).sort_index(kind="stable"),
        "\n".join(f"{name}: {why}" for name, why in zip(found.by_class, declined, strict=True) if why),
    )
