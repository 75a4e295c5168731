"""Datasets: the paper's, a small one that is bundled, and your own."""

from truelabel.datasets.folder import image_folder
from truelabel.datasets.images import LazyImages
from truelabel.datasets.in_memory import arrays
from truelabel.datasets.registry import NAMES, load
from truelabel.datasets.split import Dataset, Split
from truelabel.datasets.table import table

__all__ = ["NAMES", "Dataset", "LazyImages", "Split", "arrays", "image_folder", "load", "table"]
