"""Defaults are the published ones, ranges end where they should, and parameters go by name."""

from __future__ import annotations

from typing import Any

import pytest

from truelabel import methods

# From the methods' own papers and releases, and from the paper of NPC; the docstrings say which.
PUBLISHED: dict[str, dict[str, Any]] = {
    "ce": {"epochs": 200, "batch_size": 128, "learning_rate": 1e-3, "optimizer": "adam", "momentum": 0.9},
    "joint": {"alpha": 1.0, "beta": 0.5, "update_from": 70 / 200, "average": 10 / 200, "retrain": 120 / 200},
    "coteaching": {"gradual": 10 / 200, "decay_from": 80 / 200},
    "jocor": {"agreement": 0.5, "gradual": 10 / 200, "decay_from": 80 / 200},
    "cores2": {"epochs": 100, "beta": 2.0, "plain": 10 / 100, "full": 40 / 100, "sieve_from": 30 / 100},
    "sce": {"alpha": 0.1, "beta": 1.0, "floor": 1e-4},
    "earlystop": {"patience": 5, "keep": "best", "validation": 0.1},
    "labelsmoothing": {"smoothing": 0.1},
    "rel": {"epochs": 100, "learning_rate": 0.01, "optimizer": "sgd", "momentum": 0.9, "weight_decay": 1e-3}
    | {"validation": 0.1},
    "forward": {"percentile": 97.0},
    "tvr": {"gamma": 0.1, "diagonal": 0.5, "transition_rate": 5e-3, "warmup": 400 / 2000},
    "causalnl": {"epochs": 150, "z_dim": 25, "reconstruction": 0.1, "noisy_label": 0.1, "class_prior": 1e-5}
    | {"z_prior": 0.01, "convolutions": True, "gradual": 10 / 150, "decay_from": 1.0},
    "gce": {"q": 0.7},
    "lrt": {"epochs": 180, "threshold": 1.2, "growth": 0.02 * 150, "correct_from": 30 / 180, "average": 10 / 180},
    "mlc": {"epochs": 120, "meta_rate": 3e-4, "look_ahead": None, "clean_share": 0.5, "embedding": 64, "hidden": 128},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_defaults_are_the_published_ones(name: str) -> None:
    found = methods.build(name).parameters()
    assert {key: found[key] for key in PUBLISHED[name]} == pytest.approx(PUBLISHED[name])


@pytest.mark.parametrize("name", methods.NAMES)
def test_parameters_go_by_name(name: str) -> None:
    with pytest.raises(TypeError):
        type(methods.build(name))(10)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ce", {"momentum": 0.0, "weight_decay": 0.0, "epochs": 1, "batch_size": 2}),
        ("joint", {"alpha": 0.0, "beta": 0.0, "update_from": 0.0, "average": 0.0, "prior": (0.5, 0.5)}),
        ("joint", {"update_from": 1.0, "average": 1.0}),
        ("cores2", {"beta": 0.0, "plain": 0.0, "full": 0.0, "sieve_from": 0.0}),
        ("cores2", {"plain": 0.4, "full": 0.4}),
        ("mlc", {"look_ahead": 0.5, "meta_rate": 0.5, "clean_share": 0.0, "embedding": 1, "hidden": 1}),
        ("causalnl", {"z_dim": 1, "reconstruction": 0.0, "noisy_label": 0.0, "class_prior": 0.0, "z_prior": 0.0}),
        ("earlystop", {"patience": 1, "validation": 0.01}),
    ],
)
def test_the_ends_of_a_range_are_taken(name: str, parameters: dict[str, Any]) -> None:
    assert methods.build(name, **parameters).parameters().items() >= parameters.items()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ce", {"momentum": 1.0}),
        ("ce", {"momentum": -0.1}),
        ("joint", {"prior": (0.5, 0.6)}),
        ("joint", {"prior": (0.0, 1.0)}),
        ("joint", {"retrain": 0.0}),
        ("cores2", {"plain": -0.1}),
        ("cores2", {"plain": 0.5, "full": 0.4}),
        ("earlystop", {"validation": 0.0}),
        ("earlystop", {"validation": 1.0}),
        ("rel", {"validation": 0.0}),
        ("causalnl", {"z_dim": 0}),
    ],
)
def test_what_lies_beyond_a_range_is_named(name: str, parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(parameters))} of .* must be"):
        methods.build(name, **parameters)
