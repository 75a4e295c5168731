"""Tables like the paper's, from records: for a terminal, Markdown, LaTeX or CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.lab import paper
from truelabel.lab.gains_table import gains_table
from truelabel.lab.summary import GROUP, counts, deviation, in_paper, label, summarise
from truelabel.lab.table import MARK, NONE, PAPER, Entry, Table, printed, spread, there, titled

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

    from truelabel.lab.grid import Grid


@dataclass(frozen=True)
class Sheet:
    """The tables of a grid, the lines below them, and the numbers behind them.

    Attributes
    ----------
    tables : list of Table
        The tables.
    notes : list of str
        What they come to, and what the marks mean.
    frame : pandas.DataFrame
        The numbers, a row a cell over its seeds.
    """

    tables: list[Table]
    notes: list[str]
    frame: pd.DataFrame

    def render(self, style: str) -> str:
        """Return everything as text: "markdown", "latex" or "csv"."""
        if style == "csv":
            return str(self.frame.to_csv(index=False))
        if style not in STYLES:
            raise ValueError(f"There is no style {style!r}; choose one of {', '.join([*STYLES, 'csv'])}.")
        table, note = STYLES[style]
        return "\n\n".join([*map(table, self.tables), *map(note, self.notes)]) + "\n"

    def rich(self, width: int) -> Iterator[RenderableType]:
        """Yield what rich prints on a terminal of so many columns; tables that are wider are split."""
        from rich.table import Table as Grid
        from rich.text import Text

        for table in (part for whole in self.tables for part in whole.split(width)):
            shown = Grid(title=table.title, title_justify="left")
            for number, name in enumerate(table.head):
                shown.add_column(name, justify="right" if number else "left", no_wrap=True)
            for row in table.rows:
                shown.add_row(*(Text(entry.text, style="bold" if entry.bold else "") for entry in row))
            yield shown
        yield from (Text(note) for note in self.notes)


def sheet(grid: Grid, frame: pd.DataFrame, layout: str | None = None) -> Sheet:
    """Return the tables of a grid.

    Parameters
    ----------
    grid : Grid
        Says which cells, in which order and layout.
    frame : pandas.DataFrame
        What `Store.frame` returned; cells of other grids are left out.
    layout : str, optional
        The grid's own by default.
    """
    place = {cell.key: number for number, cell in enumerate(grid.cells)}
    mine = frame[frame["key"].isin(place)] if len(frame) else frame
    if not len(mine) or not (mine["status"] == "ok").any():
        raise ValueError(f"The store has no finished cell of {grid.name}; run truelabel lab run {grid.name} first.")
    mine = mine.iloc[np.argsort(mine["key"].map(place).to_numpy(), kind="stable")]
    found = summarise(mine, grid.paper)
    made = LAYOUTS[layout or grid.layout](grid, mine[mine["status"] == "ok"], found)
    missing = len(place) - int((mine["status"] == "ok").sum())
    notes = counts(found) if made.counted else []
    if missing:
        failed = int((mine["status"] != "ok").sum())
        notes.insert(0, f"{missing} of {len(place)} cells are missing, {failed} of them failed.")
    notes += made.notes
    return Sheet([table.beside() for table in made.tables], notes, found if made.counted else made.frame)


@dataclass(frozen=True)
class _Made:
    tables: list[Table]
    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    counted: bool = True


def _before_after(grid: Grid, frame: pd.DataFrame, found: pd.DataFrame) -> _Made:
    tables = []
    for data, part in found.groupby("data", sort=False):
        conditions = list(dict.fromkeys(part["condition"]))
        table = Table(_title(str(data), part), ["", *map(titled, conditions)])
        for method, rows in part.groupby("method", sort=False):
            ways = [way for way in dict.fromkeys(rows["way"]) if way != "identity"]
            by = {(row["condition"], row["way"]): row for _, row in rows.iterrows()}
            first = {condition: row for (condition, _), row in reversed(by.items())}
            table.rows.append([Entry(str(method)), *(_before(first.get(name)) for name in conditions)])
            table.rows.extend(
                [Entry(f"  with {way}"), *(_after(by.get((name, way))) for name in conditions)] for way in ways
            )
        tables.append(table)
    return _Made(tables, found, _paper_notes(grid, found))


def _calibrators(grid: Grid, frame: pd.DataFrame, found: pd.DataFrame) -> _Made:
    tables = []
    ways = [way for way in dict.fromkeys(found["way"]) if way != "identity"]
    for data, part in found.groupby("data", sort=False):
        table = Table(_title(str(data), part), ["", "noise", "classifier", *ways])
        for (method, condition), rows in part.groupby(["method", "condition"], sort=False):
            by = {row["way"]: row for _, row in rows.iterrows()}
            first = rows.iloc[0]
            table.rows.append(
                [Entry(str(method)), Entry(titled(str(condition))), _before(first), *(_after(by.get(w)) for w in ways)]
            )
        tables.append(table)
    return _Made(tables, found, _paper_notes(grid, found))


def _rounds(grid: Grid, frame: pd.DataFrame, found: pd.DataFrame) -> _Made:
    frame = label(frame)
    most = int(frame["rounds"].max())
    table = Table("Test accuracy (%) by round", ["", "noise", "calibrator", *(str(k) for k in range(most + 1))])
    for (data, condition, method, way), group in frame.groupby(GROUP, sort=False):
        series = [[row["before"], *_by_round(row)] for _, row in group.iterrows()]
        values = 100 * np.array(series, dtype=float)
        cells = [Entry(spread(values[:, k].mean(), deviation(values[:, k]))) for k in range(values.shape[1])]
        cells += [Entry(NONE)] * (most + 1 - values.shape[1])
        table.rows.append([Entry(f"{data}, {method}"), Entry(titled(condition)), Entry(way), *cells])
    return _Made([table], found)


def _by_round(row: Any) -> list[float]:
    return [row["after"]] if row["rounds"] == 1 else list(row["by_round"])


ESTIMATES = {"t_from_h": "T from H", "t_prior": "estimated T", "t_counted": "counted"}


def _transitions(grid: Grid, frame: pd.DataFrame, found: pd.DataFrame) -> _Made:
    import pandas as pd

    frame = label(frame)
    rows: list[dict[str, Any]] = []
    for (data, condition, method, way), group in frame.groupby(GROUP, sort=False):
        first = group.iloc[0]
        own = way == "identity" and group["t_method"].notna().any()
        chosen = {"t_method": str(method)} if own else {} if way == "identity" else ESTIMATES
        for column, title in chosen.items():
            values = group[column].dropna().astype(float) if column in group else []
            if not len(values):
                continue
            what = "transition" if own else "npc-transition" if column == "t_from_h" else ""
            theirs = paper.figure(grid.paper, first["dataset"], condition, method, what)
            rows.append(
                {
                    "data": data,
                    "condition": condition,
                    "estimator": title if own else f"{way}, {title}",
                    "seeds": len(values),
                    "error": float(np.mean(values)),
                    "error_sd": deviation(values),
                    "paper": None if theirs is None else theirs.value,
                }
            )
    made = pd.DataFrame(rows, columns=["data", "condition", "estimator", "seeds", "error", "error_sd", "paper"])
    tables = []
    for data, part in made.groupby("data", sort=False):
        estimators = list(dict.fromkeys(part["estimator"]))
        table = Table(f"{data}: mean squared error of T", ["", *estimators])
        for condition, group in part.groupby("condition", sort=False):
            by = {row["estimator"]: row for _, row in group.iterrows()}
            cells = [_error(by.get(name)) for name in estimators]
            table.rows.append([Entry(titled(str(condition))), *cells])
        tables.append(table)
    return _Made(tables, made, _sources(grid, made["paper"]), counted=False)


def _error(row: Any) -> Entry:
    if row is None:
        return Entry(NONE)
    return Entry(spread(row["error"], row["error_sd"], 4), paper=printed(row["paper"], 4))


def _time(grid: Grid, frame: pd.DataFrame, found: pd.DataFrame) -> _Made:
    import pandas as pd

    frame = label(frame)
    rows: list[dict[str, Any]] = []
    for (data, condition, method, way), group in frame.groupby(GROUP, sort=False):
        first = group.iloc[0]
        trained = way == "identity"
        values = group["seconds.train" if trained else "seconds.fit"].astype(float)
        calibrated = in_paper(first["calibrator"], json.loads(first["calibrator_settings"]))
        what = "seconds" if trained else f"{calibrated}-seconds"
        theirs = paper.figure(grid.paper, first["dataset"], condition, method, what)
        rows.append(
            {
                "data": data,
                "condition": condition,
                "what": f"training by {method}" if trained else f"{way} on {method}",
                "seeds": len(values),
                "seconds": float(values.mean()),
                "seconds_sd": deviation(values),
                "paper": None if theirs is None else theirs.value,
            }
        )
    made = pd.DataFrame(rows)
    table = Table("Processor seconds", ["", "data", "noise", "seconds"])
    for _, row in made.iterrows():
        seconds = Entry(spread(row["seconds"], row["seconds_sd"]), paper=printed(row["paper"]))
        where = [Entry(text) for text in (row["what"], row["data"], titled(row["condition"]))]
        table.rows.append([*where, seconds])
    return _Made([table], made, _sources(grid, made["paper"]), counted=False)


def _gains(grid: Grid, frame: pd.DataFrame, found: pd.DataFrame) -> _Made:
    table, made = gains_table(label(frame), grid.paper)
    return _Made([table], made, _sources(grid, made["paper_a"]), counted=False)


LAYOUTS: dict[str, Callable[[Grid, pd.DataFrame, pd.DataFrame], _Made]] = {
    "before-after": _before_after,
    "calibrators": _calibrators,
    "rounds": _rounds,
    "transitions": _transitions,
    "time": _time,
    "gains": _gains,
}


def _title(data: str, part: pd.DataFrame) -> str:
    least, most = part["seeds"].min(), part["seeds"].max()
    seeds = f"{most} seeds" if least == most else f"{least} to {most} seeds"
    return f"{data}: test accuracy (%), {'1 seed' if most == 1 else seeds}"


def _before(row: Any) -> Entry:
    if row is None:
        return Entry(NONE)
    figure = printed(row["paper_before"], mark=bool(row["marked_before"]))
    return Entry(spread(row["before"], row["before_sd"]), paper=figure)


def _after(row: Any) -> Entry:
    if row is None:
        return Entry(NONE)
    figure = printed(row["paper_after"], mark=bool(row["marked_after"]))
    return Entry(spread(row["after"], row["after_sd"]), row["verdict"] == "improved", figure)


def _sources(grid: Grid, column: Any) -> list[str]:
    if not any(map(there, column)):
        return []
    tables = " and ".join(paper.TITLES[name] for name in grid.paper)
    return [f"The columns named {PAPER}: figures of the paper, from {tables}."]


def _paper_notes(grid: Grid, found: pd.DataFrame) -> list[str]:
    notes = ["Bold: a gain over the classifier with p < 0.05 (paired t-test over seeds, not corrected)."]
    notes += _sources(grid, [*found["paper_before"], *found["paper_after"]])
    seen: dict[str, None] = {}
    for _, row in found.iterrows():
        told = {"classifier": row["marked_before"], row["in_paper"]: row["marked_after"]}
        for what in (name for name, marked in told.items() if marked):
            every = paper.disagreements()[row["dataset"], row["condition"], row["method"], what]
            values = ", ".join(f"{each.value:g} in {paper.TITLES[each.table]}" for each in every)
            seen[f"{row['dataset']} {row['condition']} {row['method']} {what}: {values}"] = None
    return [*notes, f"{MARK} The paper disagrees with itself: {'; '.join(seen)}."] if seen else notes


def _markdown(table: Table) -> str:
    lines = [f"**{table.title}**", "", _line(table.head), "|" + "---|" * len(table.head)]
    return "\n".join(lines + [_line(_bold(entry, "**{}**") for entry in row) for row in table.rows])


def _line(parts: Iterable[str]) -> str:
    return "| " + " | ".join(part.strip().replace("|", "\\|") for part in parts) + " |"


def _latex(table: Table) -> str:
    head = " & ".join(_escaped(name) for name in table.head)
    rows = [
        " & ".join(_bold(Entry(_escaped(entry.text), entry.bold), "\\textbf{{{}}}") for entry in row) + " \\\\"
        for row in table.rows
    ]
    lines = [f"% {table.title}", f"\\begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}", "\\toprule"]
    return "\n".join([*lines, f"{head} \\\\", "\\midrule", *rows, "\\bottomrule", "\\end{tabular}"])


def _escaped(text: str) -> str:
    for character in "%_&#":
        text = text.replace(character, f"\\{character}")
    return text.replace("±", "$\\pm$").replace(MARK, "$\\dagger$").replace(NONE, "--").strip()


def _bold(entry: Entry, pattern: str) -> str:
    return pattern.format(entry.text.strip()) if entry.bold else entry.text


STYLES: dict[str, tuple[Callable[[Table], str], Callable[[str], str]]] = {
    "markdown": (_markdown, str),
    "latex": (_latex, lambda note: f"% {note}"),
}
