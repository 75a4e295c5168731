"""What running a cell gave: figures, times, and with which versions; or why it gave none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from truelabel.lab.cell import FIELDS, SETTINGS, Cell

Status = Literal["ok", "failed", "timeout", "memory", "died"]
STATUSES: tuple[str, ...] = get_args(Status)


@dataclass(frozen=True)
class Record:
    """What came of a cell.

    Attributes
    ----------
    cell : Cell
        The configuration.
    status : {"ok", "failed", "timeout", "memory", "died"}
        Whether it ran, raised an error, took longer than its limit, ran out of memory, or took its process with it.
    result : dict
        `before` and `after` (test accuracy of the classifier and of the calibrator), `ece_before` and `ece_after`
        (expected calibration error on the test set), `repair_before` and `repair` (share of the wrongly labelled
        training instances given their true class; None without noise), `fitted` (share of the noisy labels that the
        classifier reproduces), `noise_rate` (share of labels that are wrong), `n` and `n_test`, `epochs`, `by_round`
        (test accuracy after each round, where there are several), `gains_a` to `gains_h` (training instances in each
        region of `analysis.gains`), and mean squared errors of T: `t_method` (the
        training method's), `t_counted` (labels counted by calibrated class), `t_prior` (NPC's own) and `t_from_h`
        (where asked for), each None where there is none.
    seconds : dict
        Processor seconds by phase: `noise`, `train`, `predict`, `fit`, `calibrate`, `transitions`. The first two are
        of the first cell that needed them.
    environment : dict
        Versions, revision, device and processor.
    error, trace : str or None
        What went wrong, in one line and in full.
    """

    cell: Cell
    status: Status
    result: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    trace: str | None = None

    @property
    def key(self) -> str:
        """The key of the cell."""
        return self.cell.key

    @property
    def ok(self) -> bool:
        """Whether the cell ran."""
        return self.status == "ok"

    def outcome(self) -> dict[str, Any]:
        """Return what another run of the same cell has to give again: everything but times and environment."""
        return {"key": self.key, "status": self.status, "result": self.result, "error": self.error}

    def to_json(self) -> str:
        """Return the record as one line of JSON."""
        parts = {name: value for name, value in vars(self).items() if name != "cell"}
        return json.dumps({"cell": self.cell.to_dict(), **parts}, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Record:
        """Read what `to_json` wrote."""
        parts: Mapping[str, Any] = json.loads(text)
        return cls(**{**parts, "cell": Cell.from_dict(parts["cell"])})._checked()

    def to_row(self) -> dict[str, Any]:
        """Return the record as a row of a table: no value is a mapping."""
        cell = self.cell.to_dict()
        return {
            "key": self.key,
            **cell,
            **{name: json.dumps(cell[name], sort_keys=True) for name in SETTINGS},
            "condition": self.cell.condition,
            "status": self.status,
            **self.result,
            **{f"{SECONDS}{name}": value for name, value in self.seconds.items()},
            **{f"{ENVIRONMENT}{name}": value for name, value in self.environment.items()},
            "error": self.error,
            "trace": self.trace,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Record:
        """Read what `to_row` gave; cells of the table that are empty are None."""
        parts = {name: row[name] for name in FIELDS}
        parts |= {name: json.loads(row[name]) for name in SETTINGS}
        known = {"key", "condition", "status", "error", "trace", *FIELDS}
        found = {name: value for name, value in row.items() if name not in known}
        result = {name: value for name, value in found.items() if not name.startswith((SECONDS, ENVIRONMENT))}
        return cls(
            Cell.from_dict(parts),
            row["status"],
            result if row["status"] == "ok" else {},
            _under(found, SECONDS),
            _under(found, ENVIRONMENT),
            row["error"],
            row["trace"],
        )._checked()

    def _checked(self) -> Record:
        """Return the record, or say what in it is not what it should be."""
        mappings = (self.result, self.seconds, self.environment)
        if self.status not in STATUSES or not all(isinstance(part, dict) for part in mappings):
            raise ValueError(f"its status is {self.status!r}, or its figures are no mapping")
        if not all(isinstance(value, int | float) for value in self.seconds.values()):
            raise ValueError("its seconds are no numbers")
        if self.ok and not all(isinstance(self.result.get(name), int | float) for name in ("before", "after")):
            raise ValueError("it has no figures before and after")
        return self


SECONDS, ENVIRONMENT = "seconds.", "environment."


def _under(row: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix) and value is not None
    }
