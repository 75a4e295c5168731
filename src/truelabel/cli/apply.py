"""`truelabel apply`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from truelabel.cli import files
from truelabel.notices import ShiftWarning

if TYPE_CHECKING:
    from truelabel.arrays import Floats
    from truelabel.calibrators.npc import NPC
    from truelabel.predictions import Predictions


def apply(
    model: Annotated[Path, typer.Argument(help="A calibrator that truelabel fit wrote.")],
    data: Annotated[
        Path | None, typer.Argument(help="Predictions to calibrate: .parquet or .npz.", show_default=False)
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Where the result goes: .parquet or .csv (a row an instance), or .npy (probabilities).")
    ] = Path("calibrated.parquet"),
    probs: Annotated[Path | None, typer.Option(help="p(ŷ|x) as an n×c .npy file, in place of DATA.")] = None,
    features: Annotated[Path | None, typer.Option(help="Label-free features, n×d .npy.")] = None,
    hidden: Annotated[Path | None, typer.Option(help="The classifier's hidden layer, n×h .npy.")] = None,
    logits: Annotated[bool, typer.Option("--logits", help="probs holds logits (.npy and .npz).")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto for the best there is.")] = "auto",
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Refuse predictions that are not like those that the calibrator was fitted on."),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help=files.OVERWRITE)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Calibrate predictions with a fitted calibrator. Parquet files of any length are read piece by piece.

    The result has, for each instance, its id, the class the classifier predicted, the calibrated class and its
    probability, and (in Parquet) all probabilities.

    Example: truelabel apply npc.safetensors test.parquet --out calibrated.parquet
    """
    import truelabel as tl
    from truelabel import parquet
    from truelabel.writing import check_target, whole

    if out.suffix not in (".parquet", ".csv", ".npy"):
        raise ValueError(f"{out} must end in .parquet, .csv or .npy.")
    parts = {"probs": probs, "features": features, "hidden": hidden}
    check_target(out, reads=[model, data, *parts.values()], overwrite=overwrite)
    npc = tl.load(model, device=device)
    if data is not None and data.suffix == ".parquet":
        pieces = parquet.stream(data)
    else:
        pieces = iter([files.read(data, parts, logits=logits, out_of_sample=None)])
    counts = {"instances": 0, "changed": 0}
    with whole(out) as partial:
        _write(_results(npc, pieces, counts, strict), partial)
    if as_json:
        print(json.dumps(counts | {"file": str(out)}))
    else:
        share = counts["changed"] / max(counts["instances"], 1)
        print(f"{counts['instances']:,} instances, class changed for {counts['changed']:,} ({share:.1%}): {out}")


def _results(npc: NPC, pieces: Iterator[Predictions], counts: dict[str, int], strict: bool) -> Iterator[dict[str, Any]]:
    for said in pieces:
        with warnings.catch_warnings():
            if strict:
                warnings.simplefilter("error", ShiftWarning)
            calibrated = _calibrated(npc, said)
        before, after = said.hard, calibrated.argmax(axis=1)
        names = said.class_names or npc.class_names_
        title = np.arange(npc.n_classes_) if names is None else np.array(names)
        start = counts["instances"]
        yield {
            "id": np.arange(start, start + len(said)) if said.ids is None else said.ids,
            "predicted": title[before],
            "calibrated": title[after],
            "probability": calibrated[np.arange(len(said)), after],
            "probs": calibrated,
        }
        counts["instances"] += len(said)
        counts["changed"] += int(np.sum(before != after))


def _calibrated(npc: NPC, said: Predictions) -> Floats:
    try:
        return npc.calibrate(said)
    except ShiftWarning as warning:
        raise ValueError(f"{warning} Leave --strict out to apply it all the same.") from None


def _write(results: Iterator[dict[str, Any]], out: Path) -> None:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from truelabel.writing import RESULT

    if out.suffix == ".npy":
        np.save(out, np.concatenate([piece["probs"] for piece in results]))
        return
    writer: Any = None
    try:
        for number, piece in enumerate(results):
            probs = piece.pop("probs")
            frame = pd.DataFrame(piece)
            if out.suffix == ".csv":
                frame.to_csv(out, mode="w" if number == 0 else "a", header=number == 0, index=False)
                continue
            table = pa.Table.from_pandas(frame, preserve_index=False)
            lists = pa.FixedSizeListArray.from_arrays(pa.array(probs.reshape(-1)), probs.shape[1])
            table = table.append_column("probs", lists)
            table = table.replace_schema_metadata({**(table.schema.metadata or {}), RESULT: b"calibrated"})
            writer = writer or pq.ParquetWriter(out, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
