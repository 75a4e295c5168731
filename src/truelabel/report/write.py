"""The report: one HTML file, written."""

from __future__ import annotations

import os
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from truelabel.arrays import Ints
from truelabel.labels.examined import Examined
from truelabel.progress import Progress
from truelabel.report import about, annotators, duplicates, figures, matrices, pictures
from truelabel.report import map as maps
from truelabel.report.case import Case
from truelabel.report.pages import now, template
from truelabel.report.plot import plot
from truelabel.writing import write_text

SOURCES = ("report.js", "report.css")
WORST = 100
DRAWN = 2000
MOST_ROWS = 100  # classes that the table of classes lists
HINT = 140  # longest text that the map shows, in characters


def write_report(
    examined: Examined,
    path: str | os.PathLike[str],
    *,
    calibrator: Any = None,
    truth: Any = None,
    title: str | None = None,
    layout: maps.Layout = "tsne",
    drawn: int = DRAWN,
    progress: bool | str = "auto",
) -> Path:
    """Write what was found about some labels as one HTML file that needs no network.

    It shows how many labels are probably wrong, which classes are taken for which, how far the classifier's
    probabilities can be believed, where the instances lie, the hundred worst labels, and what is there more than once.
    Everything from the dataset is escaped; the file asks for nothing outside itself and its policy forbids it to.

    Parameters
    ----------
    examined : Examined
        The labels, as `truelabel.labels.examined` puts them together or `Examined.read` reads them.
    path : path
        Where the file goes; its folder is made if need be.
    calibrator : Calibrator, optional
        Whose `report_` is shown. By default the one that examined the labels, or ``examined.about["report"]``.
    truth : (n,) array, optional
        True classes, as indices or names, where they are known: then what is estimated is measured, too.
    title : str, optional
        Stands above.
    layout : {"tsne", "pca", "none"}, default "tsne"
        How the instances are laid out on the map. "pca" takes no time; "none" leaves the map out.
    drawn : int, default 2000
        Instances on the map, at most: the hundred most suspicious, and others at random.
    progress : bool or "auto"
        "auto" shows bars when standard error is a terminal.

    Returns
    -------
    Path
        The file.
    """
    if layout not in ("tsne", "pca", "none"):
        raise ValueError(f'layout is "tsne", "pca" or "none", not {layout!r}.')
    case = Case.of(examined, truth)
    with Progress(progress) as bars:
        page = _page(case, calibrator, title, maps.lay_out(case, layout, drawn), bars)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, page)
    return target


def _page(case: Case, calibrator: Any, title: str | None, plane: maps.Map | None, bars: Progress) -> str:
    from markupsafe import Markup

    found = case.examined.found
    script, style = (files("truelabel.report").joinpath("page", name).read_text("utf-8") for name in SOURCES)
    drawn = figures.curves(case)
    confidence = np.minimum((case.confidence * figures.BINS).astype(int), figures.BINS - 1)
    classes = figures.by_class(case)
    noted = dict(case.examined.about)
    reported = about.reported(noted, calibrator or found.calibrator)
    noted.pop(about.REPORT, None)
    page: str = template("report.html").render(
        title=title or str(noted.get("title", "What was found about the labels")),
        case=case,
        wrong=found.wrong,
        caveat=found.caveat,
        suspects=int(found.mask().sum()),
        changed=int((case.predicted != case.suggested).sum()),
        right=figures.rightness(case),
        reported=reported,
        matrices=_matrices(case),
        transition=matrices.transition(case),
        steps=matrices.STEPS,
        classes=classes[:MOST_ROWS],
        left_out=len(classes) - MOST_ROWS,
        highest=max(max(row.wrong.high for row in classes), 1e-9),
        curves=drawn,
        plot=plot(drawn, np.bincount(confidence, minlength=figures.BINS).tolist()),
        map=None if plane is None else _drawn(case, plane, bars),
        key=maps.key(case),
        cards=_cards(case, bars),
        duplicates=duplicates.of(case, bars),
        annotators=annotators.of(case),
        enough=annotators.ENOUGH,
        settings=list(about.flattened(noted)),
        versions=about.versions(),
        written=now(),
        script=Markup(script),
        style=Markup(style),
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
    )
    return page


def _matrices(case: Case) -> list[matrices.Matrix]:
    given, predicted = ("labelled", case.given), ("predicted", case.predicted)
    suggested = ("suggested", case.suggested)
    made = [
        matrices.counted(case, "Given label → suggested label", given, suggested),
        matrices.counted(case, "Classifier's prediction → suggested label", predicted, suggested),
    ]
    if case.truth is not None:
        truth = ("truly", case.truth)
        made = [
            matrices.counted(case, "Before: truth → given label", truth, given),
            matrices.counted(case, "After: truth → suggested label", truth, suggested),
            *made,
        ]
    return made


@dataclass(frozen=True)
class Card:
    """One of the worst labels, as the gallery shows it."""

    rank: int
    id: str
    given: str
    suggested: str
    predicted: str
    truth: str | None
    p_wrong: float
    p_suggested: float
    support: int | None
    picture: str | None
    fields: dict[str, str]


def _cards(case: Case, bars: Progress) -> list[Card]:
    found = case.examined.found
    rows = found.ranked()[:WORST]
    support = found.table["support"]
    return [
        _card(case, rank, int(row), support.loc[row])
        for rank, row in enumerate(bars.track(rows, "pictures of the worst labels"), start=1)
    ]


def _card(case: Case, rank: int, row: int, support: Any) -> Card:
    items = case.examined.items
    picture = pictures.data_uri(items, row)
    fields = {} if picture is not None else pictures.fields(items, row)
    return Card(
        rank,
        pictures.shortened(str(case.ids[row]), pictures.NAME),
        case.names[case.given[row]],
        case.names[case.suggested[row]],
        case.names[case.predicted[row]],
        None if case.truth is None else case.names[case.truth[row]],
        float(case.examined.found.p_wrong[row]),
        float(case.probs[row, case.suggested[row]]),
        int(support) if isinstance(support, int | np.integer) else None,
        picture,
        fields,
    )


def _drawn(case: Case, plane: maps.Map, bars: Progress) -> dict[str, Any]:
    """Return the map as the template and the script need it."""
    rows, key = plane.rows, maps.key(case)
    p_wrong = case.examined.found.p_wrong[rows]
    items = case.examined.items
    small = None
    if items.kind == "image":
        small = pictures.sheet(items, rows, bars.track(rows.tolist(), "pictures of the map"))
    hints = [] if items.kind in ("image", "name") else [_hint(case, int(row)) for row in rows]
    columns = {"g": case.given, "s": case.suggested, "p": case.predicted}
    return {
        "how": plane.how,
        "width": maps.WIDTH,
        "height": maps.HEIGHT,
        "points": _points(case, plane, key),
        "sheet": small,
        "data": {
            "names": list(case.names),
            "ids": [pictures.shortened(str(case.ids[row]), pictures.NAME) for row in rows],
            "w": np.round(100 * p_wrong, 1).tolist(),
            "hints": hints,
            "side": 0 if small is None else small.side,
            "columns": 0 if small is None else small.columns,
        }
        | {name: classes[rows].tolist() for name, classes in columns.items()},
    }


def _hint(case: Case, row: int) -> str:
    fields = case.examined.items.fields(row)
    parts = fields.values() if case.examined.items.kind == "text" else (f"{a}: {b}" for a, b in fields.items())
    return pictures.shortened(" · ".join(parts), HINT)


def _points(case: Case, plane: maps.Map, key: maps.Key) -> list[tuple[str, str, str]]:
    given, suggested = (key.slot[classes[plane.rows]] for classes in (case.given, case.suggested))
    doubt: Ints = np.minimum((case.examined.found.p_wrong[plane.rows] * 5).astype(np.int64), 4)
    suspect = case.given[plane.rows] != case.suggested[plane.rows]
    return [
        (f"{at[0]:.1f}", f"{at[1]:.1f}", f"g{g} s{s} w{w}" + (" x" if ringed else ""))
        for at, g, s, w, ringed in zip(plane.points.tolist(), given, suggested, doubt, suspect, strict=True)
    ]
