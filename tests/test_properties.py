"""What holds of a calibrator whatever it is given: finite answers on the simplex, the same by every way."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

import truelabel as tl
from truelabel import calibrators
from truelabel.calibrators import Calibrator

DTYPES = ("float64", "float32", "float16")
KINDS = ("usual", "duplicates", "constant", "huge", "tiny", "one column")
QUICK = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@st.composite
def predictions(draw: Any) -> tl.Predictions:
    """Draw valid predictions: few or many classes, missing classes, odd features, each memory order and type."""
    c = draw(st.integers(2, 7))
    n = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    labels = np.append([0, c - 1], rng.integers(c, size=n - 2))[:n] if n > 2 else np.array([0, c - 1])
    kind, dtype = draw(st.sampled_from(KINDS)), draw(st.sampled_from(DTYPES))
    width = 1 if kind == "one column" else draw(st.integers(1, 6))
    x = rng.normal(size=(n, width)) + labels[:, None]
    x = {
        "duplicates": np.round(x),
        "constant": np.ones_like(x),
        "huge": x * (1e3 if dtype == "float16" else 1e15),
        "tiny": x * (1e-5 if dtype == "float16" else 1e-15),
    }.get(kind, x)
    sharp = draw(st.sampled_from([0.0, 1.0, 30.0]))  # all alike, soft, and 0 or 1
    assume(sharp > 0 or kind != "constant")  # see the last test
    scores = np.exp(sharp * rng.normal(size=(n, c)))
    probs = scores / scores.sum(axis=1, keepdims=True)
    order = draw(st.sampled_from("CF"))
    note(f"{n} instances, {c} classes, {kind} features of {dtype}, {width} wide, sharpness {sharp}")
    return tl.Predictions(
        np.asarray(probs, dtype=dtype, order=order),  # type: ignore[call-overload]
        np.asarray(x, dtype=dtype, order=order),  # type: ignore[call-overload]
        hidden=np.asarray(x[:, ::-1], dtype=dtype),
        labels=labels,
    )


def fit(name: str, said: tl.Predictions) -> Calibrator:
    parts: dict[str, Any] = {
        "npc": {"epochs": 1, "progress": False, "random_state": 0},
        "npc-paper": {"epochs": 1, "progress": False, "random_state": 0, "k": 1},
        "knn": {"k": 1},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return calibrators.build(name, **parts.get(name, {})).fit(said)


def answers(calibrator: Calibrator, said: tl.Predictions) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return calibrator.calibrate(said)


@pytest.mark.parametrize("name", ["npc", "npc-paper", "knn", "temperature", "identity"])
@given(said=predictions())
@QUICK
def test_answers_are_finite_on_the_simplex_and_each_instances_own(name: str, said: tl.Predictions) -> None:
    calibrator = fit(name, said)
    probs = answers(calibrator, said)
    assert np.isfinite(probs).all()
    assert probs.min() >= 0
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-5)
    order = np.random.default_rng(0).permutation(len(said))
    np.testing.assert_allclose(answers(calibrator, said[order]), probs[order], atol=1e-5)
    pieces = [answers(calibrator, said[start : start + 7]) for start in range(0, len(said), 7)]
    np.testing.assert_allclose(np.concatenate(pieces), probs, atol=1e-5)


@given(said=predictions())
@QUICK
def test_answers_survive_files(said: tl.Predictions) -> None:
    npc = fit("npc", said)
    probs = answers(npc, said)
    with tempfile.TemporaryDirectory() as folder:
        npc.save(Path(folder) / "npc.safetensors")  # type: ignore[attr-defined]
        said.to_parquet(Path(folder) / "said.parquet")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = tl.Predictions.from_parquet(Path(folder) / "said.parquet")
        np.testing.assert_array_equal(answers(tl.load(Path(folder) / "npc.safetensors"), said), probs)
        np.testing.assert_allclose(answers(npc, again), probs, atol=1e-6)


@given(said=predictions(), seed=st.integers(0, 9))
@QUICK
def test_a_calibrator_without_chance_follows_the_names_of_classes(said: tl.Predictions, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(said.n_classes)
    renamed = said.replace(probs=said.probs[:, order], labels=np.argsort(order)[said.labels])
    for name in ("identity", "knn", "temperature"):
        np.testing.assert_allclose(
            answers(fit(name, renamed), renamed), answers(fit(name, said), said)[:, order], atol=1e-4
        )


@given(said=predictions())
@QUICK
def test_named_classes_in_another_order_give_the_same_answers(said: tl.Predictions) -> None:
    names = [f"class {k}" for k in range(said.n_classes)]
    named = said.replace(class_names=names)
    npc = fit("npc", named)
    other = named.replace(
        probs=said.probs[:, ::-1], labels=said.n_classes - 1 - np.asarray(said.labels), class_names=names[::-1]
    )
    np.testing.assert_allclose(answers(npc, other)[:, ::-1], answers(npc, named), atol=1e-6)


@given(said=predictions(), true=st.booleans())
@QUICK
def test_an_evaluation_is_finite_and_within_its_bounds(said: tl.Predictions, true: bool) -> None:
    found = fit("knn", said[: max(2, len(said) // 2)]) if len(np.unique(said.labels[: len(said) // 2])) > 1 else None
    found = found or fit("identity", said)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = found.evaluate(said, labels_are_true=true, transition=None if true else _some_noise(said.n_classes))
    for part in (result.agreement, result.accuracy):
        for each in (part.before, part.after, part.difference) if part is not None else ():
            assert -1 <= each.low <= each.high <= 1
            assert each.low - 1e-9 <= each.value <= each.high + 1e-9
    assert result.sentence
    assert str(result)


def _some_noise(c: int) -> np.ndarray:
    return 0.8 * np.eye(c) + 0.2 / c


@pytest.mark.parametrize("name", ["npc", "knn"])
@pytest.mark.parametrize(("unit", "what"), [(1e-25, "1.2e-25 at most.*multiply"), (1e25, r"1.2e\+25 at most.*divide")])
def test_features_whose_squares_vanish_or_overflow_are_refused(name: str, unit: float, what: str) -> None:
    labels = np.arange(20) % 2
    x = unit * (labels[:, None] + np.arange(20)[:, None] / 100)
    said = tl.Predictions(0.8 * np.eye(2)[labels] + 0.1, x, labels=labels)
    with pytest.raises(ValueError, match=f"the columns of features have values that differ by {what} them"):
        fit(name, said)
    if unit < 1:  # beside columns with usual values these are no trouble
        mixed = said.replace(features=np.hstack([x, np.random.default_rng(0).normal(size=(20, 2))]))
        assert np.isfinite(answers(fit(name, mixed), mixed)).all()


def test_nothing_but_constants_is_no_trouble() -> None:
    for seed in (11, 24, 30):  # where the search for swaps once left what a float can hold
        rng = np.random.default_rng(seed)
        labels = np.append([0, 1], rng.integers(2, size=4))
        ones = np.ones((6, 6))
        fit("npc", tl.Predictions(np.full((6, 2), 0.5), ones, hidden=ones, labels=labels))
