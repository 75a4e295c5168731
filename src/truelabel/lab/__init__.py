"""The lab: experiments of many cells, run again and again with nothing lost on the way."""

from truelabel.lab.attempt import Limits
from truelabel.lab.cell import Cell
from truelabel.lab.experiment import run_cell
from truelabel.lab.grid import Grid, load_grid, names, parse_grid
from truelabel.lab.record import Record
from truelabel.lab.run import Outcome, run
from truelabel.lab.stages import Place
from truelabel.lab.store import Store, StoreError, export, open_store, to_frame

__all__ = [
    "Cell",
    "Grid",
    "Limits",
    "Outcome",
    "Place",
    "Record",
    "Store",
    "StoreError",
    "export",
    "load_grid",
    "names",
    "open_store",
    "parse_grid",
    "run",
    "run_cell",
    "to_frame",
]
