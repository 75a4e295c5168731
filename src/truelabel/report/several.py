"""The report on several labels an instance: one line for each label, and the answers that are suspicious."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truelabel.progress import Progress
from truelabel.report import about, pictures
from truelabel.report.pages import now, template
from truelabel.writing import write_text

if TYPE_CHECKING:
    from truelabel.raw.cleaning_several import CleanedSeveral

WORST = 100  # suspicious answers that are shown


@dataclass(frozen=True)
class Question:
    """A suspicious answer: whether an instance has a label."""

    id: str
    label: str
    given: str
    suggested: str
    p_wrong: float
    support: int | None
    labels: str
    fields: dict[str, str]


def write_several_report(
    cleaned: CleanedSeveral, path: str | os.PathLike[str], *, title: str | None = None, progress: bool | str = "auto"
) -> Path:
    """Write what was found about several labels an instance as one HTML file that needs no network and no script.

    Parameters
    ----------
    cleaned : CleanedSeveral
        What cleaning found.
    path : path
        Where the file goes.
    title : str, optional
        Stands above.
    progress : bool or "auto"
        "auto" shows bars when standard error is a terminal.
    """
    from markupsafe import Markup

    with Progress(progress) as bars:
        questions = _questions(cleaned, bars)
    by_label = cleaned.by_label.to_dict(orient="records")
    page = template("several.html").render(
        title=title or f"Labels of {cleaned.source.name}",
        cleaned=cleaned,
        level=next(iter(cleaned.found.by_class.values())).wrong.level,
        by_label=by_label,
        wrong=sum(line["wrong"] for line in by_label),
        suspicious=len(cleaned.suspects),
        changed=len(cleaned.corrected.changes),
        questions=questions,
        settings=list(about.flattened(cleaned.about)),
        versions=about.versions(),
        written=now(),
        style=Markup(files("truelabel.report").joinpath("page", "report.css").read_text("utf-8")),
    )
    write_text(path, page)
    return Path(path)


def _questions(cleaned: CleanedSeveral, bars: Progress) -> list[Question]:
    worst = cleaned.suspects.head(WORST)
    return [
        _question(cleaned, int(row), line)
        for row, line in bars.track(list(worst.iterrows()), "the worst labels for the report")
    ]


def _question(cleaned: CleanedSeveral, row: int, line: Any) -> Question:
    import pandas as pd

    source = cleaned.source
    return Question(
        pictures.shortened(str(line["id"]), pictures.NAME),
        pictures.shortened(str(line["label"]), pictures.NAME),
        str(line["given"]),
        str(line["suggested"]),
        float(line["p_wrong"]),
        None if pd.isna(line["support"]) else int(line["support"]),
        pictures.shortened(source.listed(source.given[cleaned.rows[row]]), pictures.TEXT),
        pictures.fields(cleaned.items, row),
    )
