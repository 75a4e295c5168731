"""`truelabel audit --page`."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truelabel.labels import Audit, Examined

CORRECTED = "corrected.csv"


def show(
    audit: Audit,
    examined: Examined,
    design: Path,
    sheet: Path,
    command: str,
    *,
    host: str,
    port: int,
    browser: bool,
) -> None:
    """Show the page until Ctrl-C; the audit has the answers afterwards, and so has its file.

    Parameters
    ----------
    audit : Audit
        What to answer.
    examined : Examined
        What is audited.
    design, sheet : path
        The file of the audit, and the sheet, which need not be there.
    command : str
        What to type next, as the page shows it.
    host, port, browser
        See `truelabel.review.serve`.
    """
    from truelabel.labels.audit_file import filled
    from truelabel.review.guard import LOOPBACK
    from truelabel.review.serving import serve_audit

    fixed = {row for row, answer in filled(sheet, audit).items() if answer} if sheet.is_file() else set()

    def ready(address: str) -> None:
        print(f"Audit: {address}", flush=True)
        if host not in LOOPBACK:
            print("Whoever reaches this machine and knows the address can see the data and answer.", flush=True)
        print("Ctrl-C ends it; what you answered stays.", flush=True)

    with suppress(KeyboardInterrupt):
        serve_audit(
            audit,
            examined.items,
            design,
            command,
            fixed=fixed,
            host=host,
            port=port,
            browser=browser,
            ready=ready,
        )


def next_command(where: Path, calibrator: Path | None) -> str:
    """Return the command that writes corrected labels, for what the page was called with."""
    words = ["truelabel", "audit", str(where), "--corrected", CORRECTED]
    return shlex.join(words + ([] if calibrator is None else ["--calibrator", str(calibrator)]))
