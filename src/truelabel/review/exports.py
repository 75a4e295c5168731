"""Files that the review page offers: the decisions, and the labels as they are now."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Literal

from fastapi import FastAPI, HTTPException, Response

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.review.server import Review

TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


def add_exports(app: FastAPI, review: Review) -> None:
    """Let an application answer with these files."""

    @app.get("/export/decisions.{ending}")
    def decisions(ending: Literal["csv", "parquet"]) -> Response:
        return _file(review.decisions.table(), "decisions", ending)

    @app.get("/export/corrected.{ending}")
    def corrected(ending: Literal["csv", "parquet"]) -> Response:
        try:
            return _file(review.corrected(), "corrected", ending)
        except (ValueError, OSError) as error:
            raise HTTPException(409, str(error)) from None


def _file(table: pd.DataFrame, name: str, ending: str) -> Response:
    buffer = io.BytesIO()
    if ending == "csv":
        table.to_csv(buffer, index=False)
    else:
        table.to_parquet(buffer, index=False)
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}
    return Response(buffer.getvalue(), media_type=TYPES[ending], headers=headers)
