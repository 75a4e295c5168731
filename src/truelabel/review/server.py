"""The review page's application: what the page asks for, and what it is told."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse

from truelabel.labels.items import Cells
from truelabel.review.decisions import Asked, ConflictError
from truelabel.review.deliver import decided_in
from truelabel.review.exports import add_exports
from truelabel.review.guard import LOOPBACK, Guard
from truelabel.review.instances import Instances, add_images, cut
from truelabel.review.learning import Background, counted, learn, suspects
from truelabel.review.messages import Decide, DecideAll, Show, Undo
from truelabel.review.names import new_class_name
from truelabel.review.nearest import Nearest
from truelabel.review.requests import LARGEST_ROW, add_refusals
from truelabel.review.static_files import add_static
from truelabel.review.unusual import Unusual

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.arrays import Ints
    from truelabel.labels.examined import Examined
    from truelabel.labels.final import Decided
    from truelabel.review.decisions import Decisions

STATIC = (
    *(
        "review.css",
        "review.js",
        "state.js",
        "loading.js",
        "order.js",
        "card.js",
        "deciding.js",
        "learning.js",
        "grid.js",
    ),
    *("reviewer.js", "server.js", "instance.js", "chooser.js", "icon.svg"),
)
BRIEF = 160  # characters of a neighbour's text that are shown
PROBABLE = 5  # classes that are listed with their probabilities


@dataclass(frozen=True)
class Shown:
    """What is shown at a time; once something was learned, another one takes its place.

    Attributes
    ----------
    examined : Examined
        Labels, and what was found about them.
    suspects : (m,) array
        Row numbers of the instances to go through, in this order.
    suggested : (n,) array
        The suggested labels, as class indices.
    nearest : Nearest
        The instances' neighbours.
    learned : int
        How many times something was learned.
    """

    examined: Examined
    suspects: Ints
    suggested: Ints
    nearest: Nearest
    learned: int = 0


class Review:
    """What the page shows: suspects, one by one, with their neighbours, and what was decided about them.

    Parameters
    ----------
    examined : Examined
        Labels, and what was found about them.
    decisions : Decisions
        Where decisions go.
    folder : path, optional
        The folder that the labels were read from; what is learned from decisions is written to it.
    threshold : float, optional
        The least p_wrong of a suspect. By default a label is one if another class is more probable.
    most : int, optional
        How many suspects; all by default.
    device : str, default "auto"
        Where to learn from decisions.
    reviewer : str, optional
        The name of the person at this machine.
    """

    def __init__(
        self,
        examined: Examined,
        decisions: Decisions,
        *,
        folder: str | os.PathLike[str] | None = None,
        threshold: float | None = None,
        most: int | None = None,
        device: str = "auto",
        reviewer: str = "",
    ) -> None:
        self.decisions, self.device, self.reviewer = decisions, device, reviewer
        self.folder = None if folder is None else Path(folder)
        self.threshold, self.most = threshold, most
        listed = suspects(examined, decisions, threshold, most)
        self.shown = Shown(examined, listed, examined.found.suggested, Nearest(examined))
        self.items, self.labels = examined.items, examined.found.labels
        self.ids = [_plain(value) for value in examined.found.table.sort_index()["id"]]
        self.instances = Instances(examined.items)
        self.learning = Background()

    def warm_up(self) -> None:
        """Do once what the first suspect would otherwise wait for: imports, and the index of neighbours."""
        first = int(self.shown.suspects[0])
        self.item(first)
        self.instances.image(first, "large")

    def overview(self) -> dict[str, Any]:
        """Return all suspects, column by column, and what stands about them."""
        shown = self.shown
        rows, found = shown.suspects, shown.examined.found
        version, standing = self.decisions.changes()
        return {
            "kind": self.items.kind,
            "instances": len(self.labels),
            "classes": [str(name) for name in found.class_names],
            "rows": rows.tolist(),
            "ids": [str(self.ids[row]) for row in rows],
            "given": self.labels[rows].tolist(),
            "suggested": shown.suggested[rows].tolist(),
            "p_wrong": np.round(found.p_wrong[rows], 4).tolist(),
            "learned": shown.learned,
            "version": version,
            "changes": [asdict(one) for one in standing],
        }

    def item(self, row: int) -> dict[str, Any]:
        """Return what the page shows of an instance."""
        self.require(row)
        shown = self.shown
        probs = shown.examined.found.probs[row]
        likely = np.argsort(-probs, kind="stable")[:PROBABLE]
        return {
            "row": row,
            "fields": self.instances.fields(row),
            "likely": [[int(k), round(float(probs[k]), 4)] for k in likely],
            "against": self._unusual.of(row, int(shown.suggested[row])),
            "neighbours": [self._neighbour(near) for near in shown.nearest.of(row)],
        }

    @cached_property
    def _unusual(self) -> Unusual:
        items = self.items
        numbers = items.numbers() if isinstance(items, Cells) and items.kind == "row" else {}
        return Unusual(numbers, self.labels, len(self.decisions.class_names))

    def _neighbour(self, row: int) -> dict[str, Any]:
        return {"row": row, "label": int(self.labels[row]), "brief": self._brief(row)}

    def _brief(self, row: int) -> str:
        """Return what there is to read of an instance in short; nothing of an image."""
        if self.items.kind == "image":
            return ""
        cells = self.items.fields(row)
        alone = self.items.kind != "row"
        return cut(" · ".join(text if alone else f"{name} {text}" for name, text in cells.items()), BRIEF)

    def decide(self, said: Decide) -> dict[str, Any]:
        """Record a decision; return what the page shows next, and what changed since it last asked.

        Where another person has decided since this one looked, nothing is recorded, and `conflict` is what stands.
        """
        self.require(said.row)
        shown = self.shown
        self._require_class(said.label)
        if said.new_class is not None:
            try:
                new_class_name(said.new_class, self.decisions.class_names)
            except ValueError as error:
                text = str(error)
                raise HTTPException(422, text[0].upper() + text[1:]) from None
        answer: dict[str, Any] = {"row": said.row}
        try:
            answer["decision"] = self.decisions.decide(
                said.row,
                said.label,
                given=int(self.labels[said.row]),
                suggested=int(shown.suggested[said.row]),
                verdict=said.verdict,
                new_class=said.new_class,
                id=self.ids[said.row],
                tab=said.tab,
                reviewer=said.reviewer,
                seen=said.seen,
            )
            answer["next"] = next(iter(self._held(said.tab, said.next, said.since)), None)
        except ConflictError as error:
            answer["conflict"] = asdict(error.standing)
        return answer | self.changes(said.since)

    def decide_all(self, said: DecideAll) -> dict[str, Any]:
        """Record one label for several instances; return which were left as somebody else decided meanwhile."""
        shown = self.shown
        for row in said.rows:
            self.require(row)
        self._require_class(said.label)
        about = [
            Asked(row, self.ids[row], int(self.labels[row]), int(shown.suggested[row]), seen)
            for row, seen in zip(said.rows, said.seen, strict=True)
        ]
        decided, conflicts = self.decisions.decide_all(about, said.label, tab=said.tab, reviewer=said.reviewer)
        return {"decided": decided, "conflicts": [one.row for one in conflicts]} | self.changes(said.since)

    def undo(self, said: Undo) -> dict[str, Any]:
        """Undo what a tab did last, and return what changed since the page last asked."""
        rows = self.decisions.undo_all(said.tab, said.reviewer)
        return {"row": rows[0] if rows else None, "rows": rows} | self.changes(said.since)

    def show(self, said: Show) -> dict[str, Any]:
        """Return which of the wanted instances the tab may show, and what changed since it last asked."""
        since = said.since if said.undecided else None
        rows = self._held(said.tab, said.rows, since, said.most)
        return {"next": rows[0] if rows else None, "rows": rows} | self.changes(said.since)

    def tiles(self, said: Show) -> dict[str, Any]:
        """Do as `show`, and return what there is to read of each of these instances in short."""
        for row in said.rows:
            self.require(row)
        answer = self.show(said)
        return answer | {"briefs": [self._brief(row) for row in answer["rows"]]}

    def _held(self, tab: str, wanted: list[int], since: int | None, most: int = 1) -> list[int]:
        """Return the first of the wanted instances that nobody else has.

        A file that is locked for too long does not undo the decision that came before: then nothing is held.
        """
        try:
            return self.decisions.hold(tab, wanted, most=most, since=since)
        except sqlite3.Error:
            return []

    def changes(self, since: int) -> dict[str, Any]:
        """Return the version of the decisions, what changed after another, and how many times was learned."""
        version, standing = self.decisions.changes(since)
        return {"version": version, "changes": [asdict(one) for one in standing], "learned": self.shown.learned}

    def apply(self) -> dict[str, Any]:
        """Begin to learn from what is decided by now, and return how that stands."""
        rows, labels = self.decisions.trusted()
        if not len(rows):
            raise HTTPException(422, "No label is decided yet; decide about some labels first.")
        decided = decided_in(self.decisions)
        said = f"Learning from {counted(len(rows), 'decision')}…"
        if not self.learning.start(lambda: self._learn(rows, labels, decided), said):
            raise HTTPException(409, "Decisions are being learned from already; wait until that is done.")
        return self.applied()

    def applied(self) -> dict[str, Any]:
        """Return how learning stands, in a word and in a sentence, and how many times was learned."""
        state, said = self.learning.stands
        return {"state": state, "said": said, "learned": self.shown.learned}

    def _learn(self, rows: Ints, labels: Ints, decided: Decided) -> str:
        before = self.shown
        refined, said = learn(
            before.examined,
            rows,
            labels,
            folder=self.folder,
            threshold=self.threshold,
            decided=decided,
            device=self.device,
            progress=False,
        )
        near = before.nearest if refined.neighbour_view == before.nearest.view else Nearest(refined)
        listed = suspects(refined, self.decisions, self.threshold, self.most)
        self.shown = Shown(refined, listed, refined.found.suggested, near, before.learned + 1)
        return said

    def _require_class(self, label: int | None) -> None:
        if label is not None and label >= len(self.decisions.class_names):
            raise HTTPException(422, f"There is no class {label}.")

    def corrected(self) -> pd.DataFrame:
        """Return the labels as they are now: what `truelabel review --corrected` would write."""
        from truelabel.raw.decided import corrected_table, final_in

        folder, examined = self.folder, self.shown.examined
        _, final = final_in(folder, examined, decided_in(self.decisions))
        table: pd.DataFrame = corrected_table(folder, examined, final)
        return table

    def require(self, row: int) -> None:
        """Refuse a row that there is not."""
        if not 0 <= row < len(self.labels):
            raise HTTPException(404, f"There is no instance {row}.")


def application(review: Review, token: str, host: str = "127.0.0.1") -> Guard:
    """Return the page as an ASGI application behind its guard."""
    app = FastAPI(title="truelabel review", openapi_url=None, docs_url=None, redoc_url=None)
    add_static(app, "review.html", STATIC)
    _add_data(app, review, shared=host.lower() not in LOOPBACK)
    add_images(app, review.instances, review.require)
    _add_decisions(app, review)
    _add_learning(app, review)
    add_exports(app, review)
    add_refusals(app)
    return Guard(app, token, host)


def _add_data(app: FastAPI, review: Review, *, shared: bool) -> None:
    @app.get("/suspects")
    def suspects(request: Request) -> Response:
        here = request.client is not None and request.client.host in LOOPBACK
        return JSONResponse(review.overview() | {"shared": shared, "reviewer": review.reviewer if here else ""})

    @app.get("/item/{row:int}")
    def item(row: int) -> Response:
        return JSONResponse(review.item(row))


def _add_decisions(app: FastAPI, review: Review) -> None:
    @app.post("/decide")
    def decide(said: Decide) -> Response:
        return JSONResponse(review.decide(said))

    @app.post("/decide-all")
    def decide_all(said: DecideAll) -> Response:
        return JSONResponse(review.decide_all(said))

    @app.post("/tiles")
    def tiles(said: Show) -> Response:
        return JSONResponse(review.tiles(said))

    @app.post("/undo")
    def undo(said: Undo) -> Response:
        return JSONResponse(review.undo(said))

    @app.post("/show")
    def show(said: Show) -> Response:
        return JSONResponse(review.show(said))

    @app.get("/changes")
    def changes(since: Annotated[int, Query(ge=0, le=LARGEST_ROW)] = 0) -> Response:
        return JSONResponse(review.changes(since))

    @app.exception_handler(sqlite3.Error)
    @app.exception_handler(OSError)
    def not_saved(request: Request, error: Exception) -> Response:
        return JSONResponse({"detail": f"The decision could not be written ({error})."}, status_code=507)


def _add_learning(app: FastAPI, review: Review) -> None:
    @app.post("/apply")
    def apply() -> Response:
        return JSONResponse(review.apply(), status_code=202)

    @app.get("/apply")
    def applied() -> Response:
        return JSONResponse(review.applied())


def _plain(value: Any) -> Any:
    """Return an id as SQLite and JSON can hold it."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, int | str) and not isinstance(value, bool) else str(value)
