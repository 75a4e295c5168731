"""Grids: small TOML files that say which cells to run."""

from __future__ import annotations

import fnmatch
import math
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from truelabel.lab.cell import FIELDS, SEEDS, SETTINGS, Cell

MISTAKEN = ("food101", "clothing1m")  # whose labels as they are hold mistakes, nobody knows how many
LAYOUTS = ("before-after", "calibrators", "transitions", "time", "rounds", "gains")
MOST_CELLS = 1_000_000
TOP = ("title", "summary", "layout", "paper", "true_rate", "block", "rule")


@dataclass(frozen=True)
class Grid:
    """The cells of an experiment, and how to show them.

    Attributes
    ----------
    name : str
        The file's name.
    title, summary : str
        What it is, in a few words and in a sentence or two.
    cells : tuple of Cell
        All cells, in the order they are begun.
    layout : {"before-after", "calibrators", "transitions", "time", "rounds", "gains"}
        The table that shows it.
    paper : tuple of str
        The paper's tables to set beside it; the first that has a figure counts.
    """

    name: str
    title: str
    summary: str
    cells: tuple[Cell, ...]
    layout: str = "before-after"
    paper: tuple[str, ...] = ()

    def only(self, pattern: str | None) -> Grid:
        """Return the cells that a pattern with * and ? finds in ``dataset noise:rate method calibrator``.

        Words separated by spaces must each be found, so that "idn* ce" is cross entropy on instance-dependent noise.
        """
        if pattern is None:
            return self
        kept = tuple(cell for cell in self.cells if matches(pattern, cell))
        if not kept:
            raise ValueError(
                f"No cell of {self.name} matches {pattern!r}; a cell is named like {self.cells[0].title!r}."
            )
        return Grid(self.name, self.title, self.summary, kept, self.layout, self.paper)


def matches(pattern: str, cell: Cell) -> bool:
    """Say whether each word of a pattern is found as a cell's dataset, noise, method or calibrator."""
    parts = (cell.dataset, cell.condition, cell.method, cell.calibrator)
    return all(any(fnmatch.fnmatchcase(part, word) for part in parts) for word in pattern.split())


def names() -> list[str]:
    """Return the names of the grids that come with truelabel."""
    return sorted(file.name.removesuffix(".toml") for file in files(__package__).joinpath("grids").iterdir())


def load_grid(source: str | os.PathLike[str]) -> Grid:
    """Read a grid.

    Parameters
    ----------
    source : str or path
        The name of one that comes with truelabel (`lab.names()`), or a TOML file.

    Examples
    --------
    >>> from truelabel import lab
    >>> grid = lab.load_grid("smoke")
    >>> grid.cells[0].dataset
    'digits'
    """
    if str(source) in names():
        text, name = files(__package__).joinpath("grids", f"{source}.toml").read_text(), str(source)
    else:
        path = Path(source)
        if not path.is_file():
            raise FileNotFoundError(
                f"There is no grid named {source}; pass a TOML file, or one of {', '.join(names())}."
            )
        text, name = _text(path), path.stem
    try:
        return parse_grid(tomllib.loads(text), name)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, OverflowError) as error:
        raise ValueError(f"The grid {name} is not right: {error}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"The grid {path} is not written in UTF-8 ({error}).") from None


def parse_grid(config: Mapping[str, Any], name: str) -> Grid:
    """Return the grid that a mapping describes, as a TOML file has it."""
    unknown = [key for key in config if key not in TOP]
    if unknown:
        raise ValueError(f"it has {unknown[0]}, which a grid has not; it has {', '.join(TOP)}.")
    blocks = _tables(config, "block")
    for key in ("title", "summary"):
        if not isinstance(config.get(key, ""), str):
            raise ValueError(f"{key} must be a text, not {config[key]!r}.")
    if not blocks:
        raise ValueError("it has no [[block]]; add one with at least a dataset.")
    layout = config.get("layout", LAYOUTS[0])
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, not {layout!r}.")
    rules = _tables(config, "rule")
    for rule in rules:
        if set(rule) != {"when", "set"} or not all(isinstance(part, dict) for part in rule.values()):
            raise ValueError(f"a [[rule]] has when and set, two tables, not {', '.join(rule)}.")
    combinations = sum(_count(block) for block in blocks)
    if combinations > MOST_CELLS:
        raise ValueError(f"it has {combinations:,} cells, which is more than {MOST_CELLS:,}; make several grids of it.")
    found = (
        _cell(chosen, rules, config.get("true_rate", False)) for block in blocks for chosen in _combinations(block)
    )
    cells = tuple(dict.fromkeys(found))
    paper = config.get("paper", [])
    return Grid(name, config.get("title", name), config.get("summary", ""), cells, layout, tuple(_many(paper)))


def _tables(config: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    found = config.get(key, [])
    if not isinstance(found, list) or not all(isinstance(part, dict) for part in found):
        raise ValueError(f"{key} must be written as [[{key}]], one for each.")
    return found


def _count(block: Mapping[str, Any]) -> int:
    return math.prod(len(_many(value)) for name, value in block.items() if name not in SETTINGS)


def _combinations(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every combination of a block's values; seeds vary slowest, so that whole tables fill up early."""
    _check_fields(block, "a block")
    settings = {name: block[name] for name in SETTINGS if name in block}
    axes = {name: _many(value) for name, value in block.items() if name not in SETTINGS}
    order = sorted(axes, key=lambda name: not name.endswith("seed"))
    for values in product(*(axes[name] for name in order)):
        yield dict(zip(order, values, strict=True)) | settings


def _cell(chosen: dict[str, Any], rules: Iterable[Mapping[str, Any]], true_rate: bool) -> Cell:
    found = dict(chosen)
    for rule in rules:
        _check_fields(rule["when"], "when")
        _check_fields(rule["set"], "set")
        if all(_applies(name, found.get(name), wanted) for name, wanted in rule["when"].items()):
            for name, value in rule["set"].items():
                found[name] = {**found.get(name, {}), **value} if name in SETTINGS else value
    seed = found.pop("seed", None)
    if seed is not None:
        found = {name: seed for name in SEEDS} | found
    rate = str(found.get("noise", "clean")).partition(":")[2]
    if true_rate and found.get("dataset") not in MISTAKEN and _wants_rate(found.get("method", "ce")):
        known = float(rate) if rate else float(found.get("rate", 0.0))
        found["method_settings"] = {"noise_rate": known, **found.get("method_settings", {})}
    return Cell(**found)


def _applies(name: str, value: Any, wanted: Any) -> bool:
    if name == "noise":
        return any(fnmatch.fnmatchcase(str(value), str(one)) for one in _many(wanted))
    return value in _many(wanted)


@lru_cache
def _wants_rate(method: str) -> bool:
    from truelabel import methods

    return "noise_rate" in methods.build(method).parameters()


def _check_fields(part: Mapping[str, Any], where: str) -> None:
    unknown = [name for name in part if name not in (*FIELDS, "seed")]
    if unknown:
        raise ValueError(f"{where} has {unknown[0]}, which a cell has not; it has {', '.join(FIELDS)} and seed.")


def _many(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]
