"""From raw data, no code: images, texts and tables in, cleaner labels out."""

from truelabel.raw.cleaning import Cleaned, clean, open_source

__all__ = ["Cleaned", "clean", "open_source"]
