"""`truelabel methods`, `calibrators`, `datasets`, `noise` and `networks`: what there is."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer


def _listing(room: str, what: str, example: str) -> Callable[..., None]:
    def command(as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False) -> None:
        from rich.console import Console
        from rich.table import Table

        names: dict[str, str] = import_module(f"truelabel.{room}").NAMES
        if as_json:
            print(json.dumps(names, indent=1, ensure_ascii=False))
            return
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(no_wrap=True, style="bold")
        table.add_column()
        for name, summary in names.items():
            table.add_row(name, summary)
        Console().print(table)

    command.__doc__ = f"List the {what}.\n\nExample: truelabel {room}{example}"
    return command


COMMANDS: dict[str, Callable[..., None]] = {
    "methods": _listing("methods", "ways to train a classifier on noisy labels", ""),
    "calibrators": _listing("calibrators", "ways to calibrate what a classifier says", ""),
    "datasets": _listing("datasets", "datasets that can be loaded by name", ""),
    "noise": _listing("noise", "kinds of label noise", " --json"),
    "networks": _listing("networks", "networks", ""),
}
