"""An audit as files: the design with every answer as JSON lines, and the sheet that a person fills in."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array
from truelabel.labels.audit import COLUMN, Audit
from truelabel.writing import write_text

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1


def write(audit: Audit, path: str | os.PathLike[str], others: str | None = None) -> Path:
    """Write an audit, whole or not at all.

    `others` is what `undrawn` returned, which answers do not change.
    """
    write_text(path, _text(_drawn(audit)) + (undrawn(audit) if others is None else others))
    return Path(path)


def undrawn(audit: Audit) -> str:
    """Return the lines about the instances that are not drawn: nearly all of the file."""
    inclusion = audit.inclusion
    return _text(_line(audit, row, inclusion) for row in np.setdiff1d(np.arange(len(audit)), audit.rows).tolist())


def _text(lines: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _drawn(audit: Audit) -> Iterator[dict[str, Any]]:
    """Yield what the file is, then the drawn instances in their order."""
    names = [name if isinstance(name, str) else int(name) for name in audit.class_names]
    about = {"truelabel_audit": FORMAT, "instances": len(audit), "class_names": names, "seed": audit.seed}
    yield about | {"corrections": audit.suggested is not None}
    history, inclusion = audit.history, audit.inclusion
    for row, turn in zip(audit.rows.tolist(), audit.rounds.tolist(), strict=True):
        answers = [None if code is None else audit.word(code) for code in history.get(row, [])]
        yield _line(audit, row, inclusion) | {"round": turn, "answers": answers}


def _line(audit: Audit, row: int, inclusion: Array) -> dict[str, Any]:
    names, suggested = audit.class_names, audit.suggested
    line = {"row": row, "id": _plain(audit.ids[row]), "given": _plain(names[audit.given[row]])}
    line |= {} if suggested is None else {"suggested": _plain(names[suggested[row]])}
    return line | {
        "p_wrong": float(audit.p_wrong[row]),
        "stratum": int(audit.stratum[row]),
        "inclusion": float(inclusion[row]),
    }


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value if isinstance(value, int | str) else str(value)


def read(path: str | os.PathLike[str]) -> Audit:
    """Read an audit; nothing in the file is ever run."""
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"There is no audit in {source}; draw one first.")
    try:
        about, *lines = (json.loads(line) for line in source.read_text(encoding="utf-8").rstrip("\n").split("\n"))
        if about["truelabel_audit"] != FORMAT:
            raise ValueError(f"its format is {about['truelabel_audit']}, and this version reads {FORMAT}")
        return _of(about, lines)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise ValueError(
            f"{source} is no audit, or is damaged ({type(error).__name__}: {error}); take a copy of it, or draw a new "
            "one."
        ) from None


def _of(about: dict[str, Any], lines: list[dict[str, Any]]) -> Audit:
    n = int(about["instances"])
    if sorted(line["row"] for line in lines) != list(range(n)):
        raise ValueError(f"it does not list each of its {n} instances once")
    names = tuple(about["class_names"])
    index = {name: k for k, name in enumerate(names)}
    drawn = [line for line in lines if "round" in line]
    lines = sorted(lines, key=lambda line: int(line["row"]))
    ids: Array = np.empty(n, dtype=object)
    ids[:] = [line["id"] for line in lines]
    if all(isinstance(value, int) for value in ids):
        ids = ids.astype(np.int64)
    made = Audit(
        np.array([float(line["p_wrong"]) for line in lines]),
        np.array([index[line["given"]] for line in lines], dtype=np.int64),
        np.array([index[line["suggested"]] for line in lines], dtype=np.int64) if about["corrections"] else None,
        names,
        ids,
        np.array([int(line["stratum"]) for line in lines], dtype=np.int64),
        int(about["seed"]),
    )
    if (made.sizes == 0).any():
        raise ValueError("a stratum has no instance")
    made.rows = np.array([line["row"] for line in drawn], dtype=np.int64)
    made.rounds = np.array([line["round"] for line in drawn], dtype=np.int64)
    for line in drawn:
        for answer in line["answers"]:
            if answer is None:
                made.take_back(line["row"])
            else:
                made.answer([line["row"]], [answer])
    return made


def filled(path: str | os.PathLike[str], audit: Audit) -> dict[int, str]:
    """Return the answers of a sheet by the instance's number, empty where there is none yet."""
    source = Path(path)
    sheet = _sheet(source)
    missing = [name for name in ("row", "id", COLUMN) if name not in sheet.columns]
    if missing:
        raise ValueError(f"{source} has no column {missing[0]!r}; keep the columns of the sheet as they were written.")
    answers: dict[int, str] = {}
    drawn = set(audit.rows.tolist())
    for number, (row, name, answer) in enumerate(zip(sheet["row"], sheet["id"], sheet[COLUMN], strict=True), 2):
        if not row.strip().isdigit() or int(row) not in drawn or str(audit.ids[int(row)]) != name:
            raise ValueError(
                f"line {number} of {source} is not of this audit (row {row!r}, id {name!r}); change nothing but "
                f"{COLUMN} in the sheet."
            )
        if answer.strip():
            try:
                audit._code(answer)
            except ValueError as error:
                raise ValueError(f"line {number} of {source}: {error}") from None
        if int(row) in answers:
            raise ValueError(f"line {number} of {source} lists row {row} once more; keep one line of it.")
        answers[int(row)] = answer.strip()
    return answers


def _sheet(source: Path) -> pd.DataFrame:
    """Read a sheet as it is written."""
    import pandas as pd

    try:
        return pd.read_csv(source, dtype=str, keep_default_na=False, encoding="utf-8-sig", sep=None, engine="python")
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no {source}; it is the sheet with the answers.") from None
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(f"{source} is no table in UTF-8 ({error}); save the sheet as CSV.") from None


def grown(path: str | os.PathLike[str], sheet: pd.DataFrame) -> pd.DataFrame:
    """Return a sheet that takes the place of the one in a file, with the columns that a person added to that.

    They stay where they are, and are empty in new rows. Rows are in the order in which they were drawn.
    """
    before = _sheet(Path(path))
    before = before.set_index(before["row"].str.strip().astype("int64"))
    table = sheet.copy()
    for name in before.columns.difference(table.columns, sort=False):
        table[name] = before[name].reindex(table["row"], fill_value="").to_numpy()
    return table[[*before.columns, *table.columns.difference(before.columns, sort=False)]]
