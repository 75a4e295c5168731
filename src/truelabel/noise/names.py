"""Noise by name, as a command line or a configuration writes it."""

from __future__ import annotations

from truelabel.noise.asymmetric import Asymmetric
from truelabel.noise.base import Noise
from truelabel.noise.clean import Clean
from truelabel.noise.instance_dependent import InstanceDependent
from truelabel.noise.similarity_reflected import SimilarityReflected
from truelabel.noise.symmetric import Symmetric

NAMES: dict[str, str] = {
    "clean": "no noise",
    "sn": "symmetric: a label flips to any other class alike",
    "asn": "asymmetric: a class flips to one that looks like it, by the dataset's map",
    "idn": "instance-dependent: the features of an instance choose where its label goes",
    "sridn": "similarity-reflected: the labels a classifier finds hardest go to its next best class",
}


def parse(text: str, *, dataset: str | None = None) -> Noise:
    """Return the noise that a text such as "idn:0.4" names.

    Parameters
    ----------
    text : str
        One of `noise.NAMES`, a colon, and the rate; "clean" alone has no rate.
    dataset : str, optional
        Name of the dataset, whose map of classes "asn" takes.

    Examples
    --------
    >>> from truelabel import noise
    >>> noise.parse("sn:0.2")
    Symmetric(rate=0.2)
    """
    name, _, rate = text.partition(":")
    if name not in NAMES:
        raise ValueError(f"There is no noise {name!r}; choose one of {', '.join(NAMES)}, as in idn:0.4.")
    if name == "clean" and not rate:
        return Clean()
    try:
        value = float(rate)
    except ValueError:
        raise ValueError(f"{text!r} has no rate; write it after a colon, as in {name}:0.4.") from None
    if name == "clean":
        return Clean(value)
    if name == "asn":
        if dataset is None:
            raise ValueError("The noise asn needs the map of a dataset; name the dataset, or use Asymmetric.")
        return Asymmetric(value, dataset)
    if name == "sn":
        return Symmetric(value)
    return InstanceDependent(value) if name == "idn" else SimilarityReflected(value)
