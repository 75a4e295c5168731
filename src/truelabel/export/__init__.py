"""Calibrators on disk: safetensors files that run no code when loaded, and ONNX graphs."""

from truelabel.export.files import FileFormatError, load, save

__all__ = ["FileFormatError", "load", "save"]
