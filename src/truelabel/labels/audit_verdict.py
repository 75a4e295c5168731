"""What an audit proves: how many labels are wrong, where p_wrong is precise, and whether corrections are safe."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, Ints
from truelabel.labels.audit_bounds import Sampled
from truelabel.labels.wrong import Count, WrongLabels

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.labels.audit import Audit

UNSEEN = 0.05  # share of a class in strata where none of it was checked, up to which its own strata are used
# Checked changes from which corrections may be called safe: were half of all bad, five good ones are luck (3 %).
FEWEST = 5


@dataclass(frozen=True)
class Verdict:
    """What the answers of an audit prove, whatever the model believes.

    Attributes
    ----------
    instances, drawn, answered, unclear : int
        How many labels there are, were to be checked, have an answer, and have the answer "cannot tell".
    wrong : WrongLabels
        How many labels are wrong, in all and by given class.
    precision : pandas.DataFrame
        A row for each cut-off, the strictest first: `cutoff`; `labels`, how many have at least this p_wrong;
        `checked` of them; `wrong`, `low` and `high`; `precision`, `precision_low` and `precision_high`, the shares.
    corrections : pandas.DataFrame or None
        What would become of the labels, if those with p_wrong at or above `cutoff` were replaced by what is suggested:
        `changes`, how many would be replaced; `checked` of them; `gain`, by how much the number of right labels would
        grow, between `low` and `high`; `safe`, whether it is proven to grow. None where nothing is suggested.
    level : float
        Probability with which each interval holds the true number; each of its ends is wrong half as often as not
        (5 % at 0.9). `safe`, and what `cutoff` returns, allow for there being several cut-offs.
    """

    instances: int
    drawn: int
    answered: int
    unclear: int
    wrong: WrongLabels
    precision: pd.DataFrame
    corrections: pd.DataFrame | None
    level: float

    def cutoff(self, precision: float) -> float | None:
        """Return the lowest cut-off of p_wrong above which at least this share of the labels is proven to be wrong.

        Cut-offs are tried from the strictest on until one fails, beginning where enough labels are checked to pass at
        all; so the chance that a wrong one passes is no larger than for one alone. None where none passes.
        """
        if not 0 < precision < 1:
            raise ValueError(f"precision is a share between 0 and 1, not {precision}.")
        needed = math.log((1 - self.level) / 2) / math.log(precision)
        enough = (self.precision["checked"] >= needed) | (self.precision["checked"] == self.precision["labels"])
        passed = _passed(self.precision["precision_low"] >= precision, enough)
        return float(self.precision["cutoff"][passed].min()) if passed.any() else None

    @property
    def safe(self) -> dict[str, float] | None:
        """The row of `corrections` with the largest gain among those that are safe; None where none is."""
        if self.corrections is None or not self.corrections["safe"].any():
            return None
        safe = self.corrections[self.corrections["safe"]]
        best = safe.loc[safe["gain"].idxmax()]
        return {name: float(best[name]) for name in ("cutoff", "changes", "checked", "gain", "low", "high")}

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "instances": self.instances,
            "drawn": self.drawn,
            "answered": self.answered,
            "unclear": self.unclear,
            "level": self.level,
            "wrong": self.wrong.to_dict(),
            "precision": self.precision.to_dict("records"),
            "corrections": None if self.corrections is None else self.corrections.to_dict("records"),
            "safe": self.safe,
        }

    def __str__(self) -> str:
        total = self.wrong.total
        unclear = f", of which {self.unclear:,} nobody can tell" if self.unclear else ""
        lines = [
            f"Checked: {self.answered:,} of {self.instances:,} labels{unclear}",
            f"Wrong: {total.number:,.0f} of {total.of:,} ({total.share:.1%}), "
            f"between {total.low:,.0f} and {total.high:,.0f} with probability {self.level:.0%}",
        ]
        safe = self.safe
        if safe is not None:
            lines.append(
                f"Safe: replace labels by the suggestions where p_wrong is {safe['cutoff']:.6g} or more: "
                f"{safe['changes']:,.0f} changes, {safe['gain']:,.0f} more labels right "
                f"({safe['low']:,.0f} to {safe['high']:,.0f})"
            )
        elif self.corrections is not None:
            more = "; check more of them" if self.answered < self.instances else ""
            lines.append(f"No correction is proven to make the labels better{more}.")
        return "\n".join(lines)


def verdict(audit: Audit, level: float) -> Verdict:
    """Work out what the answers prove."""
    import pandas as pd

    checked = _Checked(audit, level)
    lowest = [float(audit.p_wrong[audit.stratum == h].min()) for h in range(len(audit.sizes))]
    precision = [_precise(checked, audit.stratum >= h, lowest[h]) for h in reversed(range(len(lowest)))]
    corrections = None
    if audit.suggested is not None:
        differs = audit.suggested != audit.given
        rows = [
            _corrected(checked, differs & (audit.stratum >= h), audit.suggested, lowest[h])
            for h in reversed(range(len(lowest)))
        ]
        names = ["cutoff", "changes", "checked", "gain", "low", "high"]
        corrections = pd.DataFrame(rows, columns=names).drop_duplicates("changes", ignore_index=True)
        corrections = corrections[corrections["changes"] > 0].reset_index(drop=True)
        enough = (corrections["checked"] >= FEWEST) | (corrections["checked"] == corrections["changes"])
        corrections["safe"] = _passed(corrections["low"] > 0, enough)
    return Verdict(
        len(audit),
        len(audit.rows),
        len(checked.rows),
        int(checked.unclear.sum()),
        WrongLabels(_total(checked), {name: _wrong_of(checked, k) for k, name in enumerate(audit.class_names)}, level),
        pd.DataFrame(precision),
        corrections,
        level,
    )


class _Checked:
    """The answers as arrays, and intervals from them."""

    def __init__(self, audit: Audit, level: float) -> None:
        if not 0.5 <= level < 1:
            raise ValueError(f"level is a probability from 0.5 to below 1, not {level}.")
        answers = audit.answers
        if not answers:
            raise ValueError("no label is checked yet; pass what a person says to audit.answer first.")
        self.audit, self.level = audit, level
        self.rows: Ints = np.array(list(answers), dtype=np.int64)
        self.codes: Ints = np.array(list(answers.values()), dtype=np.int64)
        self.unclear = self.codes == -1
        self.wrong = (self.codes != audit.given[self.rows]).astype(np.int64)

    def count(self, value: Array, unclear: Array, among: Array, values: tuple[int, ...]) -> tuple[float, float, float]:
        """Return the sum of a value over the instances `among` all, as estimated, and its interval.

        Where nobody can tell, the estimate takes the instance to be as others of its stratum, the lower bound takes
        the worst value, and the upper bound the best: whatever they are, the interval is valid.
        """
        inside = among[self.rows]
        sizes = np.bincount(self.audit.stratum[among], minlength=len(self.audit.sizes))
        stratum, value, unclear = self.audit.stratum[self.rows[inside]], value[inside], unclear[inside]
        clear = _counts(stratum[~unclear], value[~unclear], len(sizes), values)
        least, most = clear.copy(), clear.copy()
        hidden = np.bincount(stratum[unclear], minlength=len(sizes))
        least[:, 0] += hidden
        most[:, -1] += hidden
        low = _sampled(sizes, least, values).bound(-1, self.level)
        high = _sampled(sizes, most, values).bound(1, self.level)
        return float(np.clip(_sampled(sizes, clear, values).estimate(), low, high)), low, high


def _counts(stratum: Ints, value: Array, number: int, values: tuple[int, ...]) -> Array:
    return np.stack([np.bincount(stratum[value == v], minlength=number) for v in values], axis=1)


def _sampled(sizes: Ints, counts: Array, values: tuple[int, ...]) -> Sampled:
    there = sizes > 0
    return Sampled(sizes[there], counts[there], np.array(values))


def total(audit: Audit, level: float) -> Count:
    """Return how many labels are wrong in all."""
    return _total(_Checked(audit, level))


def _total(checked: _Checked) -> Count:
    n = len(checked.audit)
    number, low, high = checked.count(checked.wrong, checked.unclear, np.ones(n, dtype=bool), (0, 1))
    return Count(number, low, high, n)


def _wrong_of(checked: _Checked, k: int) -> Count:
    """Count the wrong labels of one given class.

    Each stratum's part of the class is a stratum of its own where hardly any of these is unseen. Otherwise "wrong, and
    given this class" is counted among all instances: less exact, but what was not drawn of the class weighs nothing.
    """
    audit = checked.audit
    of = audit.given == k
    held = int(of.sum())
    mine = of[checked.rows]
    seen = np.isin(audit.stratum[of], audit.stratum[checked.rows[mine]])
    if not held or (~seen).mean() <= UNSEEN:
        number, low, high = checked.count(checked.wrong, checked.unclear, of, (0, 1))
        return Count(number, low, high, held)
    everything = np.ones(len(audit), dtype=bool)
    number, low, high = checked.count(checked.wrong * mine, checked.unclear & mine, everything, (0, 1))
    clear = checked.wrong[mine & ~checked.unclear]
    sure_wrong, sure_right = float(clear.sum()), float((1 - clear).sum())
    low, high = max(low, sure_wrong), min(high, held - sure_right)
    return Count(float(np.clip(number, low, high)), low, high, held)


def _precise(checked: _Checked, among: Array, cutoff: float) -> dict[str, float]:
    number, low, high = checked.count(checked.wrong, checked.unclear, among, (0, 1))
    held = int(among.sum())
    return {
        "cutoff": cutoff,
        "labels": held,
        "checked": int(among[checked.rows].sum()),
        "wrong": number,
        "low": low,
        "high": high,
        "precision": number / held,
        "precision_low": low / held,
        "precision_high": high / held,
    }


def _corrected(checked: _Checked, among: Array, suggested: Ints, cutoff: float) -> dict[str, float]:
    mended = (checked.codes == suggested[checked.rows]).astype(np.int64)
    gain, low, high = checked.count(mended - (1 - checked.wrong), checked.unclear, among, (-1, 0, 1))
    return {
        "cutoff": cutoff,
        "changes": int(among.sum()),
        "checked": int(among[checked.rows].sum()),
        "gain": gain,
        "low": low,
        "high": high,
    }


def _passed(proven: Any, enough: Any) -> Array:
    """Return which cut-offs pass: from the first with enough answers on, until the first that is not proven."""
    begun = np.maximum.accumulate(np.asarray(enough, dtype=bool))
    return begun & ~np.maximum.accumulate(begun & ~np.asarray(proven, dtype=bool))
