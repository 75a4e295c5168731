"""The application: its commands, grouped by who uses them, and how errors are shown."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from truelabel import __version__
from truelabel.cli import apply, audit, clean, consensus, correct, demo, fit, issues, listings, report, review, train
from truelabel.cli.analyse import analyse
from truelabel.cli.lab import lab

ENGINEERS = "For engineers: better predictions from a trained classifier"
CURATORS = "For curators: find and fix wrong labels"
RESEARCHERS = "For researchers: noise, methods and experiments"

app = typer.Typer(
    name="truelabel",
    help="Better predictions and cleaner data from a classifier that learned from noisy labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("demo", rich_help_panel=ENGINEERS)(demo.demo)
app.command("fit", rich_help_panel=ENGINEERS)(fit.fit)
app.command("apply", rich_help_panel=ENGINEERS)(apply.apply)
app.command("clean", rich_help_panel=CURATORS)(clean.clean)
app.command("issues", rich_help_panel=CURATORS)(issues.issues)
app.command("correct", rich_help_panel=CURATORS)(correct.correct)
app.command("consensus", rich_help_panel=CURATORS)(consensus.consensus)
app.command("report", rich_help_panel=CURATORS)(report.report)
app.command("review", rich_help_panel=CURATORS)(review.review)
app.command("audit", rich_help_panel=CURATORS)(audit.audit)
app.command("train", rich_help_panel=RESEARCHERS)(train.train)
app.add_typer(analyse, rich_help_panel=RESEARCHERS)
app.add_typer(lab, rich_help_panel=RESEARCHERS)
for _name, _command in listings.COMMANDS.items():
    app.command(_name, rich_help_panel=RESEARCHERS)(_command)


def _print_version(asked: bool) -> None:
    if asked:
        print(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None: ...


def main() -> None:
    """Run the command line; a user's mistake gives one line and exit code 1, a wrong call exit code 2."""
    try:
        app()
    except (ValueError, OSError, ImportError) as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print("Error:", str(error), style="red", markup=False)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
