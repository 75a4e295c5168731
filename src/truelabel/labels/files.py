"""Tables of label issues as files: CSV, Parquet, and Label Studio's pre-annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.writing import RESULT, whole, write_json

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.labels.issues import LabelIssues


def write_table(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table to a `.csv` or `.parquet` file, whole or not at all."""
    target = check_table_path(path)
    with whole(target) as partial:
        if target.suffix == ".csv":
            table.to_csv(partial, index=False)
        else:
            _write_parquet(table, partial)


def _write_parquet(table: pd.DataFrame, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = pa.Table.from_pandas(table, preserve_index=False)
    marked = {**(columns.schema.metadata or {}), RESULT: b"labels"}
    pq.write_table(columns.replace_schema_metadata(marked), path)


def check_table_path(path: str | os.PathLike[str]) -> Path:
    """Return the path, or say that its ending is none of a table."""
    if Path(path).suffix not in (".csv", ".parquet"):
        raise ValueError(f"{path} must end in .csv or .parquet.")
    return Path(path)


def to_label_studio(
    found: LabelIssues,
    contents: Sequence[Any] | None = None,
    *,
    most: int | None = None,
    content: str = "image",
    control: str = "label",
) -> list[dict[str, Any]]:
    """Return tasks for Label Studio, each with its suggested label as a pre-annotation, the most suspicious first.

    They fit a labelling interface of this kind::

        <View><Image name="image" value="$image"/>
        <Choices name="label" toName="image"><Choice value="cat"/>…</Choices></View>

    Parameters
    ----------
    found : LabelIssues
        What `examine` returned.
    contents : sequence, optional
        What Label Studio shows of each instance, in the instances' own order: addresses of images, texts. The ids by
        default.
    most : int, optional
        How many tasks; all by default.
    content : str, default "image"
        Name of the object tag, and of the variable with the content: "image", "text", …
    control : str, default "label"
        Name of the `Choices` tag.
    """
    from truelabel import __version__

    if contents is not None and len(contents) != len(found):
        raise ValueError(f"there are {len(contents)} contents for {len(found)} instances; pass one each.")
    tasks = []
    for row, line in found.table.head(len(found) if most is None else most).iterrows():
        choice = {
            "from_name": control,
            "to_name": content,
            "type": "choices",
            "value": {"choices": [str(line["suggested"])]},
        }
        shown = line["id"] if contents is None else contents[int(row)]
        data = {
            content: _plain(shown),
            "id": _plain(line["id"]),
            "given": str(line["given"]),
            "p_wrong": round(float(line["p_wrong"]), 6),
        }
        score = round(float(line["p_suggested"]), 6)
        said = {"model_version": f"truelabel {__version__}", "score": score, "result": [choice]}
        tasks.append({"data": data, "predictions": [said]})
    return tasks


def write_label_studio(tasks: list[dict[str, Any]], path: str | os.PathLike[str]) -> None:
    """Write tasks as a JSON file that Label Studio imports."""
    write_json(path, tasks)


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, int | float | str) else str(value)
