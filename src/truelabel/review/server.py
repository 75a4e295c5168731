"""The review page's application: what the page asks for, and what it is told."""

from __future__ import annotations

import io
import json
import os
import sqlite3
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from truelabel.review.guard import Guard
from truelabel.review.learning import Background, counted, learn, suspects
from truelabel.review.nearest import Nearest

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.arrays import Ints
    from truelabel.labels.examined import Examined
    from truelabel.review.decisions import Decisions

STATIC = {
    "": ("review.html", "text/html; charset=utf-8"),
    "review.css": ("review.css", "text/css; charset=utf-8"),
    "review.js": ("review.js", "text/javascript; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}
SIDES = {"large": 640, "small": 112}  # longer sides of images, in pixels
KEPT_IMAGES = 4_000
LONGEST = 20_000  # characters of a text that are shown
BRIEF = 160  # ... and of a neighbour's
PROBABLE = 5  # classes that are listed with their probabilities
LARGEST_ROW = 2**53
TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


Tab = Annotated[str, Field(pattern=r"^[!-~]{1,64}$")]  # a name that the page makes up, in plain characters


class Decide(BaseModel):
    """A decision as the page sends it; no label means: skip."""

    row: Annotated[int, Field(ge=0, le=LARGEST_ROW)]
    label: Annotated[int, Field(ge=0, le=LARGEST_ROW)] | None
    tab: Tab
    since: Annotated[int, Field(ge=0, le=LARGEST_ROW)] = 0


class Undo(BaseModel):
    """That the last decision of a tab is to be undone."""

    tab: Tab
    since: Annotated[int, Field(ge=0, le=LARGEST_ROW)] = 0


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
    ) -> None:
        self.decisions, self.folder, self.device = decisions, folder, device
        self.threshold, self.most = threshold, most
        listed = suspects(examined, decisions, threshold, most)
        self.shown = Shown(examined, listed, examined.found.suggested, Nearest(examined))
        self.items, self.labels = examined.items, examined.found.labels
        self.ids = [_plain(value) for value in examined.found.table.sort_index()["id"]]
        self.image = lru_cache(KEPT_IMAGES)(self._image)
        self.learning = Background()

    def warm_up(self) -> None:
        """Do once what the first suspect would otherwise wait for: imports, and the index of neighbours."""
        first = int(self.shown.suspects[0])
        self.item(first)
        self.image(first, SIDES["large"])

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
            "fields": [[name, _cut(text, LONGEST)] for name, text in self.items.fields(row).items()],
            "likely": [[int(k), round(float(probs[k]), 4)] for k in likely],
            "neighbours": [self._neighbour(near) for near in shown.nearest.of(row)],
        }

    def _neighbour(self, row: int) -> dict[str, Any]:
        brief = ""
        if self.items.kind != "image":
            cells = self.items.fields(row)
            alone = self.items.kind != "row"
            brief = " · ".join(text if alone else f"{name} {text}" for name, text in cells.items())
        return {"row": row, "label": int(self.labels[row]), "brief": _cut(brief, BRIEF)}

    def _image(self, row: int, side: int) -> bytes | None:
        from PIL.Image import DecompressionBombError

        try:
            return self.items.image(row, side)
        except (ValueError, OSError, SyntaxError, DecompressionBombError):
            return None

    def decide(self, said: Decide) -> dict[str, Any]:
        """Record a decision and return what changed since the page last asked."""
        self.require(said.row)
        shown = self.shown
        if said.label is not None and said.label >= len(shown.examined.found.class_names):
            raise HTTPException(422, f"There is no class {said.label}.")
        decision = self.decisions.decide(
            said.row,
            said.label,
            given=int(self.labels[said.row]),
            suggested=int(shown.suggested[said.row]),
            id=self.ids[said.row],
            tab=said.tab,
        )
        return {"row": said.row, "decision": decision} | self.changes(said.since)

    def undo(self, said: Undo) -> dict[str, Any]:
        """Undo a tab's last decision and return what changed since the page last asked."""
        return {"row": self.decisions.undo(said.tab)} | self.changes(said.since)

    def changes(self, since: int) -> dict[str, Any]:
        """Return the version of the decisions, what changed after another, and how many times was learned."""
        version, standing = self.decisions.changes(since)
        return {"version": version, "changes": [asdict(one) for one in standing], "learned": self.shown.learned}

    def apply(self) -> dict[str, Any]:
        """Begin to learn from what is decided by now, and return how that stands."""
        rows, labels = self.decisions.trusted()
        if not len(rows):
            raise HTTPException(422, "Nothing is decided yet; decide about some labels first.")
        said = f"Learning from {counted(len(rows), 'decision')}…"
        if not self.learning.start(lambda: self._learn(rows, labels), said):
            raise HTTPException(409, "Decisions are being learned from already; wait until that is done.")
        return self.applied()

    def applied(self) -> dict[str, Any]:
        """Return how learning stands, in a word and in a sentence, and how many times was learned."""
        state, said = self.learning.stands
        return {"state": state, "said": said, "learned": self.shown.learned}

    def _learn(self, rows: Ints, labels: Ints) -> str:
        before = self.shown
        refined, said = learn(
            before.examined,
            rows,
            labels,
            folder=self.folder,
            threshold=self.threshold,
            device=self.device,
            progress=False,
        )
        near = before.nearest if refined.neighbour_view == before.nearest.view else Nearest(refined)
        listed = suspects(refined, self.decisions, self.threshold, self.most)
        self.shown = Shown(refined, listed, refined.found.suggested, near, before.learned + 1)
        return said

    def require(self, row: int) -> None:
        """Refuse a row that there is not."""
        if not 0 <= row < len(self.labels):
            raise HTTPException(404, f"There is no instance {row}.")


def application(review: Review, token: str, host: str = "127.0.0.1") -> Guard:
    """Return the page as an ASGI application behind its guard."""
    app = FastAPI(title="truelabel review", openapi_url=None, docs_url=None, redoc_url=None)
    _add_static(app)
    _add_data(app, review)
    _add_decisions(app, review)
    _add_learning(app, review)
    _add_exports(app, review)
    _add_refusals(app)
    return Guard(app, token, host)


def _add_static(app: FastAPI) -> None:
    for path, (name, kind) in STATIC.items():
        content = (files("truelabel.review") / "static" / name).read_bytes()
        app.get(f"/{path}")(_constant(content, kind))


def _constant(content: bytes, kind: str) -> Any:
    async def answer() -> Response:
        return Response(content, media_type=kind)

    return answer


def _add_data(app: FastAPI, review: Review) -> None:
    @app.get("/suspects")
    def suspects() -> Response:
        return JSONResponse(review.overview())

    @app.get("/item/{row:int}")
    def item(row: int) -> Response:
        return JSONResponse(review.item(row))

    @app.get("/image/{row:int}/{size}")
    def image(row: int, size: Literal["large", "small"]) -> Response:
        review.require(row)
        content = review.image(row, SIDES[size])
        if content is None:
            raise HTTPException(404, "There is no image of this instance, or it cannot be read.")
        return Response(content, media_type="image/png" if content.startswith(b"\x89PNG") else "image/jpeg")


def _add_decisions(app: FastAPI, review: Review) -> None:
    @app.post("/decide")
    def decide(said: Decide) -> Response:
        return JSONResponse(review.decide(said))

    @app.post("/undo")
    def undo(said: Undo) -> Response:
        return JSONResponse(review.undo(said))

    @app.get("/changes")
    def changes(since: Annotated[int, Query(ge=0, le=LARGEST_ROW)] = 0) -> Response:
        return JSONResponse(review.changes(since))

    @app.exception_handler(sqlite3.Error)
    @app.exception_handler(OSError)
    def not_saved(request: Request, error: Exception) -> Response:
        return JSONResponse({"detail": f"The decision could not be written ({error})."}, status_code=507)


def _add_refusals(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    def not_understood(request: Request, error: RequestValidationError) -> Response:
        """Say where a request is wrong, without what it holds: NaN or half a letter cannot be sent back as JSON."""
        places = [[".".join(map(str, one["loc"])), str(one["type"])] for one in error.errors()]
        text = json.dumps({"detail": [{"where": where, "wrong": wrong} for where, wrong in places]})
        return Response(text, status_code=422, media_type="application/json")


def _add_learning(app: FastAPI, review: Review) -> None:
    @app.post("/apply")
    def apply() -> Response:
        return JSONResponse(review.apply(), status_code=202)

    @app.get("/apply")
    def applied() -> Response:
        return JSONResponse(review.applied())


def _add_exports(app: FastAPI, review: Review) -> None:
    @app.get("/export/decisions.{ending}")
    def decisions(ending: Literal["csv", "parquet"]) -> Response:
        return _file(review.decisions.table(), "decisions", ending)

    @app.get("/export/corrected.{ending}")
    def corrected(ending: Literal["csv", "parquet"]) -> Response:
        return _file(review.decisions.corrected(review.shown.examined.found), "corrected", ending)


def _file(table: pd.DataFrame, name: str, ending: str) -> Response:
    buffer = io.BytesIO()
    if ending == "csv":
        table.to_csv(buffer, index=False)
    else:
        table.to_parquet(buffer, index=False)
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}
    return Response(buffer.getvalue(), media_type=TYPES[ending], headers=headers)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length].rstrip()}…"


def _plain(value: Any) -> Any:
    """Return an id as SQLite and JSON can hold it."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, int | str) and not isinstance(value, bool) else str(value)
