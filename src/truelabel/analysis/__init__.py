"""Analyses: numbers first, a figure beside each."""

from truelabel.analysis.confusion import confusion, draw_confusions

__all__ = ["confusion", "draw_confusions"]
