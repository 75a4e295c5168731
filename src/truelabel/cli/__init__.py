"""The command line: `truelabel …`. Thin: it parses, calls and prints."""

from truelabel.cli.app import main

__all__ = ["main"]
