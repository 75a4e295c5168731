"""The application: its commands, grouped by who uses them, and how errors are shown."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from truelabel import __version__
from truelabel.cli import (
    apply,
    audit,
    clean,
    consensus,
    correct,
    demo,
    evaluate,
    fit,
    issues,
    listings,
    report,
    review,
    train,
)
from truelabel.cli.analyse import analyse
from truelabel.cli.lab import lab
from truelabel.notices import show_plainly

ENGINEERS = "For engineers: better predictions from a trained classifier"
CURATORS = "For curators: find and fix wrong labels"
RESEARCHERS = "For researchers: noise, methods and experiments"

NO_MEMORY = "There is not enough memory for this; pass fewer rows or columns, or use a larger machine."
OUT_OF_MEMORY = ("can't allocate memory", "out of memory", "bad_alloc")  # in the messages of torch and faiss

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
app.command("evaluate", rich_help_panel=ENGINEERS)(evaluate.evaluate)
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


def _complain(fault: str) -> NoReturn:
    Console(stderr=True, highlight=False, soft_wrap=True).print("Error:", fault, style="red", markup=False)
    sys.exit(1)


def main() -> None:
    """Run the command line; a user's mistake gives one line and exit code 1, a wrong call exit code 2."""
    warnings.showwarning = show_plainly
    try:
        app()
    except (ValueError, OSError, ImportError, MemoryError) as error:
        _complain(str(error) if not isinstance(error, MemoryError) else NO_MEMORY)
    except RuntimeError as error:
        if not any(words in str(error) for words in OUT_OF_MEMORY):
            raise
        _complain(NO_MEMORY)
    except KeyboardInterrupt:
        sys.exit(130)
