"""Experts: they say what the label of an instance is without having seen it."""
