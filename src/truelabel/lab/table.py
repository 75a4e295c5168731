"""A table of entries with the paper's figures beside them, and how numbers and noises are written in one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

NONE = "–"
MARK = "†"
PAPER = "paper"


@dataclass(frozen=True)
class Entry:
    """What stands in one place of a table, and the paper's figure for it."""

    text: str
    bold: bool = False
    paper: str = ""


@dataclass(frozen=True)
class Table:
    """A table, ready to be shown.

    Attributes
    ----------
    title : str
        What stands above.
    head : list of str
        The columns.
    rows : list of list of Entry
        The rows.
    """

    title: str
    head: list[str]
    rows: list[list[Entry]] = field(default_factory=list)

    def beside(self) -> Table:
        """Return the table with the paper's figures in columns of their own, where there are any."""
        known = [any(row[number].paper for row in self.rows) for number in range(len(self.head))]
        head = [name for each, has in zip(self.head, known, strict=True) for name in ([each, PAPER] if has else [each])]
        rows = [
            [
                part
                for each, has in zip(row, known, strict=True)
                for part in ([each, Entry(each.paper)] if has else [each])
            ]
            for row in self.rows
        ]
        return Table(self.title, head, rows)

    def split(self, width: int) -> Iterator[Table]:
        """Yield the table in parts that are so many characters wide at most, each with the first column."""
        texts = [[name, *(row[k].text for row in self.rows)] for k, name in enumerate(self.head)]
        widths = [max(map(len, column)) + 3 for column in texts]
        parts: list[list[int]] = []
        for k in range(1, len(self.head)):
            with_paper = widths[k] + (widths[k + 1] if self.head[k + 1 : k + 2] == [PAPER] else 0)
            if parts and (self.head[k] == PAPER or widths[0] + sum(widths[j] for j in parts[-1]) + with_paper < width):
                parts[-1].append(k)
            else:
                parts.append([k])
        for part in parts:
            rows = [[row[k] for k in (0, *part)] for row in self.rows]
            yield Table(self.title, [self.head[k] for k in (0, *part)], rows)


def spread(mean: float, sd: float | None, digits: int = 1) -> str:
    """Return mean ± standard deviation, or the mean alone."""
    return f"{mean:.{digits}f}" + (f" ± {sd:.{digits}f}" if there(sd) else "")


def printed(figure: float | None, digits: int = 1, *, mark: bool = False) -> str:
    """Return the paper's figure, marked where the paper disagrees with itself."""
    return f"{figure:.{digits}f}{MARK if mark else ''}" if there(figure) else ""


def there(value: Any) -> bool:
    return value is not None and value == value


def titled(condition: str) -> str:
    """Return a noise as tables name it.

    Examples
    --------
    >>> from truelabel.lab.table import titled
    >>> titled("idn:0.4"), titled("clean")
    ('IDN 40 %', 'clean')
    """
    kind, _, rate = condition.partition(":")
    return f"{kind.upper()} {100 * float(rate):g} %" if rate else kind
