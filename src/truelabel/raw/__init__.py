"""From raw data, no code: images, texts and tables in, cleaner labels out."""

from truelabel.raw.cleaning import Cleaned, clean, open_source
from truelabel.raw.cleaning_several import CleanedSeveral, clean_several
from truelabel.raw.several_labels import SeveralLabels

__all__ = ["Cleaned", "CleanedSeveral", "SeveralLabels", "clean", "clean_several", "open_source"]
