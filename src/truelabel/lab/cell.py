"""One cell of an experiment: a frozen, checked configuration whose hash is its key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal, get_args

FORMAT = 1  # of the key: raised when a field changes its meaning

Settings = tuple[tuple[str, Any], ...]
View = Literal["pca", "hidden", "logits"]

Part = Literal["method", "calibrator"]

PARTS: tuple[Part, ...] = ("method", "calibrator")
SETTINGS = ("method_settings", "calibrator_settings")
SEEDS = ("data_seed", "noise_seed", "training_seed", "calibration_seed")
GIVEN = ("device", "progress", "random_state", "trusted")  # settings of a calibrator that the lab supplies
CLASSIFIER = "classifier"  # as the trunk of NPC: the network that was trained


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A dataset, a noise, a classifier trained on it and a calibrator of what it says.

    Parameters
    ----------
    dataset : str
        A name of `datasets.NAMES`.
    subset, test_subset : int, optional
        How many training and test instances; all by default.
    noise : str, default "clean"
        A name of `noise.NAMES`; "idn:0.4" is short for ``noise="idn", rate=0.4``. "clean" leaves the labels as they
        are, mistakes and all.
    rate : float, default 0
        The noise rate.
    method : str, default "ce"
        A name of `methods.NAMES`.
    network : str, optional
        A name of `networks.NAMES`; by default the paper's for such inputs. Similarity-reflected noise and calibrators
        that train a network use it, too.
    pretrained : bool, default False
        Whether a ResNet starts from ImageNet weights, which the place where it runs has in a file.
    method_settings : mapping
        Parameters of the method.
    calibrator : str, default "npc"
        A name of `calibrators.NAMES`.
    calibrator_settings : mapping
        Parameters of the calibrator. ``trunk="classifier"`` gives NPC the classifier's network.
    view : {"pca", "hidden", "logits"}, default "pca"
        The features that a calibrator sees: 64 principal components of the inputs, or the classifier's hidden layer, or
        its logits (a second layer for RoG's ensemble, beside the hidden one).
    trusted : float, default 0
        Share of the training instances whose true labels are told to a method or calibrator that uses clean labels.
    rounds : int, default 1
        How often the calibrator is applied, each time to what the last round gave.
    transitions : bool, default False
        Whether to work out T from H as well, and its error.
    data_seed, noise_seed, training_seed, calibration_seed : int, default 0
        Of the subsets, the noise, the training and the calibrator, apart.
    threads : int, default 1
        Threads that everything runs with. Sums in another order are other sums, so it is a part of the key.

    Examples
    --------
    >>> from truelabel.lab import Cell
    >>> cell = Cell(dataset="digits", subset=200, noise="idn:0.4", method="sce", method_settings={"epochs": 5})
    >>> cell.rate, cell.settings("method")
    (0.4, {'epochs': 5})
    >>> cell.title
    'digits idn:0.4 sce npc'
    """

    dataset: str
    subset: int | None = None
    test_subset: int | None = None
    noise: str = "clean"
    rate: float = 0.0
    method: str = "ce"
    network: str | None = None
    pretrained: bool = False
    method_settings: Settings | Mapping[str, Any] = ()
    calibrator: str = "npc"
    calibrator_settings: Settings | Mapping[str, Any] = ()
    view: View = "pca"
    trusted: float = 0.0
    rounds: int = 1
    transitions: bool = False
    data_seed: int = 0
    noise_seed: int = 0
    training_seed: int = 0
    calibration_seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("dataset", "noise", "method", "calibrator", "view"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be a name, but is {getattr(self, name)!r}.")
        kind, _, rate = self.noise.partition(":")
        for name in ("rate", "trusted"):
            self._set(name, self._number(name))
        if rate:
            if self.rate:
                raise ValueError(f"The noise {self.noise} has its rate, but rate is {self.rate:g} as well; give one.")
            self._set("noise", kind)
            self._set("rate", rate)
            self._set("rate", self._number("rate"))
        for name in SETTINGS:
            self._set(name, self._frozen(name))
        self._check_numbers()
        self._check_names()
        self._check_settings()

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _number(self, name: str) -> float:
        try:
            return float(getattr(self, name))
        except (TypeError, ValueError):
            raise ValueError(f"{name} must be a number, but is {getattr(self, name)!r}.") from None

    def _frozen(self, name: str) -> Settings:
        found = dict(getattr(self, name))
        for setting, value in found.items():
            parts = value if isinstance(value, list | tuple) else [value]
            if not all(isinstance(part, str | int | float | bool | None) for part in parts):
                raise ValueError(
                    f"{setting} in {name} must be a number, a text, true or false, or a list of them, not {value!r}."
                )
            found[setting] = tuple(parts) if parts is value else value
        return tuple(sorted(found.items()))

    def _check_numbers(self) -> None:
        for name in ("subset", "test_subset", "rounds", "threads", *SEEDS):
            value, least = getattr(self, name), 0 if name in SEEDS else 1
            optional = name in ("subset", "test_subset")
            if optional and value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, but is {value!r}.")
        if not 0 <= self.trusted < 1:
            raise ValueError(f"trusted must be a share of the instances, from 0 to below 1, but is {self.trusted}.")
        for name in ("transitions", "pretrained"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, but is {getattr(self, name)!r}.")
        if self.pretrained and not str(self.network).startswith("resnet"):
            raise ValueError(f"There are pretrained weights for resnet34 and resnet50, not for {self.network}.")

    def _check_names(self) -> None:
        from truelabel import calibrators, datasets, methods, networks
        from truelabel import noise as noises

        rooms = {
            "dataset": datasets.NAMES,
            "method": methods.NAMES,
            "calibrator": calibrators.NAMES,
            "view": get_args(View),
        }
        if self.network is not None:
            rooms["network"] = networks.NAMES
        for what, names in rooms.items():
            if getattr(self, what) not in names:
                raise ValueError(
                    f"There is no {what} named {getattr(self, what)!r}; choose one of {', '.join(sorted(names))}."
                )
        if self.noise == "clean" and self.rate:
            raise ValueError(f"clean has no noise, but rate is {self.rate:g}; choose a kind of noise instead.")
        noises.parse(self.condition, dataset=self.dataset)

    def _check_settings(self) -> None:
        given = self.settings("calibrator")
        ours = [name for name in GIVEN if name in given]
        if ours:
            raise ValueError(f"{ours[0]} of a calibrator is the lab's; leave it out of calibrator_settings.")
        if given.get("trunk", CLASSIFIER) != CLASSIFIER:
            raise ValueError(f'trunk can be "{CLASSIFIER}" only, not {given["trunk"]!r}.')
        for part in PARTS:
            _check_part(part, getattr(self, part), getattr(self, f"{part}_settings"))
        told = [getattr(self, part) for part in PARTS if self.uses_clean_labels(part)]
        if told and not self.trusted:
            raise ValueError(f"{told[0]} uses clean labels; say with trusted which share of them it is told.")
        if self.trusted and not told:
            raise ValueError(f"neither {self.method} nor {self.calibrator} uses clean labels; leave trusted out.")

    @property
    def condition(self) -> str:
        """The noise with its rate, as in "idn:0.4"."""
        return self.noise if self.noise == "clean" else f"{self.noise}:{self.rate:g}"

    @property
    def title(self) -> str:
        """What it is called in messages; seeds above 0 are named."""
        seeds = sorted({getattr(self, name) for name in SEEDS})
        seed = [] if seeds == [0] else [f"seed {','.join(map(str, seeds))}"]
        return " ".join([self.dataset, self.condition, self.method, self.calibrator, *seed])

    def uses_clean_labels(self, part: Part) -> bool:
        """Whether the method or the calibrator is told true labels."""
        return _uses_clean_labels(part, getattr(self, part))

    def settings(self, part: Part) -> dict[str, Any]:
        """Return the parameters of the method or the calibrator."""
        return dict(getattr(self, f"{part}_settings"))

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as plain JSON values."""
        found = {name: getattr(self, name) for name in FIELDS}
        for name in SETTINGS:
            found[name] = {
                setting: list(value) if isinstance(value, tuple) else value for setting, value in getattr(self, name)
            }
        return found

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> Cell:
        """Return the cell that `to_dict` described."""
        unknown = set(config) - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"A cell has no {', '.join(sorted(unknown))}; it has {', '.join(FIELDS)}.")
        return cls(**config)

    @property
    def key(self) -> str:
        """The hash of the whole configuration."""
        return digest("cell", self.to_dict())

    @property
    def noise_key(self) -> str:
        """The hash of what the noisy labels depend on."""
        return digest("noise", self._noise())

    @property
    def classifier_key(self) -> str:
        """The hash of what the trained classifier depends on."""
        return digest("classifier", self._classifier())

    def _part(self, names: Sequence[str]) -> dict[str, Any]:
        found = self.to_dict()
        return {name: found[name] for name in names}

    def _noise(self) -> dict[str, Any]:
        names = ["dataset", "subset", "noise", "rate", "data_seed", "noise_seed", "threads"]
        return self._part([*names, "network"] if self.noise == "sridn" else names)

    def _classifier(self) -> dict[str, Any]:
        names = ["method", "network", "pretrained", "method_settings", "training_seed"]
        return self._noise() | self._part([*names, "trusted"] if self.uses_clean_labels("method") else names)


@lru_cache(maxsize=1024)
def _check_part(part: Part, name: str, settings: Settings) -> None:
    from truelabel import calibrators, methods

    build: Callable[..., Any] = methods.build if part == "method" else calibrators.build
    build(name, **dict(settings))


@lru_cache
def _uses_clean_labels(part: Part, name: str) -> bool:
    from truelabel import calibrators, methods

    if part == "method":
        return methods.build(name).uses_clean_labels
    return "trusted" in calibrators.build(name).get_params(deep=False)


FIELDS = tuple(field.name for field in fields(Cell))


def digest(what: str, config: Mapping[str, Any]) -> str:
    """Return the hash of a configuration, the same on every machine."""
    text = json.dumps({"what": what, "format": FORMAT, **config}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
