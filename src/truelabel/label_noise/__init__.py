"""The noise in the labels: transition matrices, their bounds, and what is left of a belief once they are heard."""

from truelabel.label_noise.model import LabelNoise, NoiseSettings

__all__ = ["LabelNoise", "NoiseSettings"]
