"""Label noise: the paper's four kinds, each with the truth about what it did."""

from truelabel.noise.asymmetric import MAPS, Asymmetric
from truelabel.noise.base import Noise, NoisyLabels
from truelabel.noise.clean import Clean
from truelabel.noise.instance_dependent import InstanceDependent
from truelabel.noise.names import NAMES, parse
from truelabel.noise.similarity_reflected import SimilarityReflected
from truelabel.noise.symmetric import Symmetric

__all__ = [
    "MAPS",
    "NAMES",
    "Asymmetric",
    "Clean",
    "InstanceDependent",
    "Noise",
    "NoisyLabels",
    "SimilarityReflected",
    "Symmetric",
    "parse",
]
