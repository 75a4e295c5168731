"""The application of the audit's page: what the page asks for, and what it gets."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from truelabel.labels.audit import NO_CLASS
from truelabel.review.audit_page import AnsweredError, AuditPage
from truelabel.review.guard import Guard
from truelabel.review.instances import Instances, add_images
from truelabel.review.requests import LARGEST_ROW, Tab, add_refusals
from truelabel.review.static_files import add_static

STATIC = ("review.css", "audit.css", "audit.js", "server.js", "instance.js", "chooser.js", "icon.svg")


class Answer(BaseModel):
    """An answer as the page sends it: a class, −1 for cannot tell, −2 for none of the classes."""

    row: Annotated[int, Field(ge=0, le=LARGEST_ROW)]
    answer: Annotated[int, Field(ge=NO_CLASS, le=LARGEST_ROW)]
    tab: Tab


class Undo(BaseModel):
    """That the last answer of a tab is to be taken back."""

    tab: Tab


def application(page: AuditPage, command: str, token: str, host: str = "127.0.0.1") -> Guard:
    """Return the audit's page as an ASGI application behind its guard.

    Parameters
    ----------
    page : AuditPage
        What is shown and recorded.
    command : str
        What to type next, as the page shows it.
    token, host : str
        See `Guard`.
    """
    app = FastAPI(title="truelabel audit", openapi_url=None, docs_url=None, redoc_url=None)
    instances = Instances(page.items)

    def require(row: int) -> None:
        if not page.shows(row):
            raise HTTPException(404, f"Instance {row} is not one of those to check.")

    add_static(app, "audit.html", STATIC)
    add_images(app, instances, require)
    add_refusals(app)

    @app.get("/audit")
    def overview() -> Response:
        return JSONResponse(page.overview())

    @app.get("/item/{row:int}")
    def item(row: int) -> Response:
        require(row)
        return JSONResponse({"row": row, "fields": instances.fields(row)})

    @app.get("/verdict")
    def verdict() -> Response:
        return JSONResponse(page.verdict() | {"command": command})

    _add_answers(app, page, require)
    return Guard(app, token, host)


def _add_answers(app: FastAPI, page: AuditPage, require: Any) -> None:
    @app.post("/answer")
    def answer(sent: Answer) -> Response:
        require(sent.row)
        if sent.answer >= len(page.audit.class_names):
            raise HTTPException(422, f"There is no class {sent.answer}.")
        try:
            page.answer(sent.row, sent.answer, sent.tab)
        except AnsweredError as error:
            raise HTTPException(409, str(error)) from None
        return JSONResponse({"answers": page.answers()})

    @app.post("/undo")
    def undo(sent: Undo) -> Response:
        return JSONResponse({"row": page.undo(sent.tab), "answers": page.answers()})

    @app.exception_handler(OSError)
    def not_saved(request: Request, error: Exception) -> Response:
        return JSONResponse({"detail": f"The answer could not be written ({error})."}, status_code=507)
