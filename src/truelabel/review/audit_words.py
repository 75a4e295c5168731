"""What an audit proves, in sentences for a person who is not a statistician."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truelabel.labels.audit_verdict import Verdict


def in_words(verdict: Verdict) -> list[str]:
    """Return the verdict in sentences: how many are wrong, and whether corrections are safe."""
    return [_checked(verdict), _wrong(verdict), *_corrections(verdict)]


def _checked(verdict: Verdict) -> str:
    unclear = f" For {verdict.unclear:,} of them you could not tell." if verdict.unclear else ""
    return f"You checked {verdict.answered:,} of {verdict.instances:,} labels.{unclear}"


def _wrong(verdict: Verdict) -> str:
    total = verdict.wrong.total
    if verdict.unclear == verdict.answered:
        return "How many labels are wrong stays open, for you could tell of none."
    if total.low == total.high:
        return f"{total.number:,.0f} of {total.of:,} labels are wrong ({total.share:.1%})."
    return (
        f"About {total.number:,.0f} of {total.of:,} labels are wrong ({total.share:.1%}): between {total.low:,.0f} and "
        f"{total.high:,.0f}, with a probability of {verdict.level:.0%}."
    )


def _corrections(verdict: Verdict) -> list[str]:
    if verdict.corrections is None:
        return []
    safe = verdict.safe
    if safe is not None:
        return [
            f"Corrections are safe: if the {safe['changes']:,.0f} labels that look most wrong are replaced by "
            f"what is suggested, about {safe['gain']:,.0f} more labels are right (between {safe['low']:,.0f} and "
            f"{safe['high']:,.0f})."
        ]
    more = " Check more labels, and it may be." if verdict.answered < verdict.instances else ""
    return [f"It is not proven that corrections make the labels better, so only what you checked is corrected.{more}"]
