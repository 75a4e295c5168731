"""What holds for every method alike. A new method is covered as soon as its package imports it."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from truelabel import datasets, methods, noise

EPOCHS = 4
LONGER = {"rel": 60, "mlc": 25}  # to learn 300 digits: REL's SGD is slow, MLC has to learn to correct labels first


def build(name: str, epochs: int = EPOCHS, batch_size: int = 32, noise_rate: float = 0.4) -> methods.Method:
    rate = {"noise_rate": noise_rate} if "noise_rate" in methods.build(name).parameters() else {}
    return methods.build(name, epochs=epochs, batch_size=batch_size, **rate)


@cache
def data() -> tuple[datasets.Split, datasets.Split]:
    digits = datasets.load("digits")
    few = digits.train[:120]
    return few.with_labels(noise.Symmetric(0.4).corrupt(few, seed=0)), digits.test[:50]


def clean(name: str) -> dict[str, datasets.Split]:
    """What a method that uses clean labels is given beside the noisy ones."""
    return {"trusted": datasets.load("digits").train[120:180]} if build(name).uses_clean_labels else {}


@cache
def fitted(name: str) -> methods.Trained:
    return build(name).fit(data()[0], "mlp", seed=1, **clean(name))


def same(first: methods.Trained, second: methods.Trained) -> bool:
    ours, theirs = first.network.state_dict(), second.network.state_dict()
    return all(torch.equal(ours[key], theirs[key]) for key in ours)


def test_the_thirteen_of_the_paper_are_there_and_three_more() -> None:
    assert len(set(methods.PAPER)) == 13
    assert set(methods.NAMES) >= {*methods.PAPER, "gce", "lrt", "mlc"}
    assert not {"gce", "lrt", "mlc"} & set(methods.PAPER)


@pytest.mark.parametrize("name", methods.NAMES)
def test_clean_labels_are_used_by_one_method_only_which_says_so(name: str) -> None:
    assert build(name).uses_clean_labels == (name == "mlc")
    assert ("uses clean labels" in methods.NAMES[name]) == (name == "mlc")
    given = {} if name == "mlc" else {"trusted": data()[1]}
    complaint = "uses clean labels; pass some" if name == "mlc" else "has no use for clean labels"
    with pytest.raises(ValueError, match=f"{name} {complaint}"):
        build(name).fit(data()[0], "mlp", **given)


@pytest.mark.parametrize("name", methods.NAMES)
class TestEveryMethod:
    def test_predicts_probabilities(self, name: str) -> None:
        train, test = data()
        said = fitted(name).predictions(test)
        np.testing.assert_allclose(said.probs.sum(axis=1), 1, atol=1e-5)
        assert said.probs.shape == (50, 10)
        assert said.hidden is not None
        assert said.hidden.shape == (50, 256)
        assert said.labels is not None
        assert said.labels.tolist() == test.labels.tolist()
        assert said.inputs is test.inputs
        assert said.class_names == train.class_names
        assert said.out_of_sample
        assert not fitted(name).predictions(train[10:30]).out_of_sample

    def test_learns(self, name: str) -> None:
        digits = datasets.load("digits")
        flat = datasets.Split(
            digits.train.inputs[:300].reshape(300, 64), digits.train.labels[:300], tuple("0123456789")
        )
        extra = {"trusted": flat[:50]} if clean(name) else {}
        trained = build(name, epochs=LONGER.get(name, 15), batch_size=16, noise_rate=0.1).fit(flat, **extra)
        right = trained.predict_proba(digits.test.inputs.reshape(-1, 64)).argmax(axis=1) == digits.test.labels
        assert right.mean() > 0.75  # chance is 0.1; all methods reach 0.8 to 0.93

    def test_records_every_epoch(self, name: str) -> None:
        history = fitted(name).history
        assert [record["epoch"] for record in history] == list(range(1, build(name).total_epochs + 1))
        assert all(np.isfinite(record["loss"]) and 0 <= record["noisy_accuracy"] <= 1 for record in history)

    def test_the_seed_decides(self, name: str) -> None:
        before = torch.get_rng_state()
        again = build(name).fit(data()[0], "mlp", seed=1, **clean(name))
        assert torch.equal(before, torch.get_rng_state())
        assert same(again, fitted(name))
        assert not same(build(name).fit(data()[0], "mlp", seed=2, **clean(name)), fitted(name))

    def test_resumes_to_the_same_weights(self, name: str, tmp_path: Any) -> None:
        method = build(name)
        seen: list[float] = []
        for stop in (2, method.total_epochs - 1):

            def interrupt(record: dict[str, float], stop: int = stop) -> None:
                seen.append(record["epoch"])
                if record["epoch"] == stop:
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                method.fit(data()[0], "mlp", seed=1, checkpoint=tmp_path, on_epoch=interrupt, **clean(name))
        resumed = method.fit(
            data()[0],
            "mlp",
            seed=1,
            checkpoint=tmp_path,
            on_epoch=lambda record: seen.append(record["epoch"]),
            **clean(name),
        )
        assert seen == list(range(1, method.total_epochs + 1))
        assert same(resumed, fitted(name))
        assert resumed.history == fitted(name).history
        if resumed.transition is not None:
            np.testing.assert_array_equal(resumed.transition, fitted(name).transition)

    def test_is_saved_and_loaded(self, name: str, tmp_path: Any) -> None:
        fitted(name).save(tmp_path)
        loaded = methods.Trained.load(tmp_path)
        test = data()[1]
        np.testing.assert_array_equal(loaded.predict_proba(test.inputs), fitted(name).predict_proba(test.inputs))
        assert loaded.method == fitted(name).method
        assert loaded.history == fitted(name).history
        assert not loaded.predictions(data()[0]).out_of_sample

    def test_a_transition_has_rows_that_sum_to_one(self, name: str) -> None:
        transition = fitted(name).transition
        assert (transition is not None) == (name in {"forward", "dualt", "tvr", "causalnl"})
        if transition is not None:
            np.testing.assert_allclose(transition.sum(axis=1), 1, atol=1e-5)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"labels": np.full(120, 10)}, "labels has 10 in row 0, but there are 10 classes"),
            ({"labels": np.zeros(119, dtype=int)}, "labels has 119 rows, but inputs has 120"),
            ({"labels": np.zeros(120)}, "labels must be one class index an instance"),
            ({"n_classes": 1, "labels": np.zeros(120, dtype=int)}, "at least two classes"),
            ({"inputs": np.full((120, 1, 8, 8), np.nan)}, "inputs has a NaN or infinite value in row 0"),
        ],
    )
    def test_rejects_bad_data(self, name: str, change: dict[str, Any], message: str) -> None:
        train = data()[0]
        split = SimpleNamespace(
            **{"inputs": train.inputs, "labels": train.labels, "n_classes": 10, "class_names": None, **change}
        )
        with pytest.raises(ValueError, match=message):
            build(name).fit(split, "mlp", **clean(name))

    @pytest.mark.parametrize(
        "parameters", [{"epochs": 0}, {"batch_size": 1}, {"learning_rate": 0.0}, {"weight_decay": -1.0}]
    )
    def test_rejects_bad_parameters(self, name: str, parameters: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=f"{next(iter(parameters))} of .* must be"):
            methods.build(name, **parameters)


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ValueError, match="no method named 'xe'; choose one of causalnl, ce"):
        methods.build("xe")


def test_an_unknown_parameter_is_named() -> None:
    with pytest.raises(ValueError, match=r"ce does not take these parameters \(.*alpha.*\); it takes epochs"):
        methods.build("ce", alpha=1)
