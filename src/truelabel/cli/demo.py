"""`truelabel demo`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("truelabel-demo"),
    seed: Annotated[int, typer.Option(help="Decides the split, the noise, the training and the calibration.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Show what calibration does, on scikit-learn's digits, in under a minute.

    Corrupts 40 % of the labels, trains a network until it has memorised them, and compares five ways to predict
    the true classes of new digits. Writes a picture of the confusion matrices before and after.

    Example: truelabel demo --out demo
    """
    from rich.console import Console
    from rich.table import Table

    from truelabel.analysis import draw_confusions
    from truelabel.demo import run
    from truelabel.writing import whole

    found = run(seed)
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "confusion.png"
    title = f"Digits with {found.noise_rate:.0%} wrong labels: test predictions, percent of each true class"
    with whole(picture) as partial:
        draw_confusions(found.confusions, title=title).savefig(partial, dpi=150)
    if as_json:
        figures = {"accuracy": found.accuracy, "noise_rate": found.noise_rate, "fitted": found.fitted}
        print(json.dumps(figures | {"seconds": found.seconds, "picture": str(picture)}, indent=1))
        return
    table = Table(title="Digits, test accuracy")
    table.add_column("prediction by")
    table.add_column("correct", justify="right")
    for name, share in found.accuracy.items():
        table.add_row(name, f"{share:.1%}", style="bold" if name == "NPC" else None)
    console = Console()
    console.print(
        f"{found.noise_rate:.0%} of the training labels are wrong; the network fits {found.fitted:.0%} of them all."
    )
    console.print(table)
    console.print(found.report, highlight=False)
    console.print(f"Picture: {picture} ({found.seconds:.0f} s in all)")
