"""What a page may send, and the answer to what it may not."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field

LARGEST_ROW = 2**53  # from here on JavaScript's numbers are not exact
Tab = Annotated[str, Field(pattern=r"^[!-~]{1,64}$")]  # a name that the page makes up, in plain characters


def add_refusals(app: FastAPI) -> None:
    """Let an application say where a request is wrong."""

    @app.exception_handler(RequestValidationError)
    def not_understood(request: Request, error: RequestValidationError) -> Response:
        """Say where a request is wrong, without what it holds: NaN or half a letter cannot be sent back as JSON."""
        places = [[".".join(map(str, one["loc"])), str(one["type"])] for one in error.errors()]
        text = json.dumps({"detail": [{"where": where, "wrong": wrong} for where, wrong in places]})
        return Response(text, status_code=422, media_type="application/json")
