"""The files that a page consists of."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Response

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def add_static(app: FastAPI, page: str, names: Sequence[str]) -> None:
    """Let an application answer with a page at its root, and with the files that the page asks for."""
    for path, name in {"": page, **{name: name for name in names}}.items():
        content = (files("truelabel.review") / "static" / name).read_bytes()
        app.get(f"/{path}")(_constant(content, TYPES[name.rpartition(".")[2]]))


def _constant(content: bytes, kind: str) -> Any:
    async def answer() -> Response:
        return Response(content, media_type=kind)

    return answer
