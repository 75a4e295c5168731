"""A calibrator notices other features and another classifier, and stays quiet about new instances of the same."""

import json
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import truelabel as tl
from shell import call, fails
from truelabel.calibrators import KNN
from truelabel.fingerprint import Fingerprint
from truelabel.notices import ShiftWarning, UncheckedWarning

SHUFFLED = np.random.default_rng(0).permutation(64)


@pytest.fixture(scope="module")
def digits() -> SimpleNamespace:
    """Digits with 30 % of the labels wrong, and two classifiers, the second of which learned from other labels."""
    x, truth = load_digits(return_X_y=True)
    x = x.astype(np.float32)
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(len(truth)) < 0.3, (truth + 1) % 10, truth)
    seen, fresh = slice(0, 1000), slice(1000, None)
    first = LogisticRegression(max_iter=100).fit(x[seen], noisy[seen])
    second = LogisticRegression(max_iter=100, C=0.01).fit(x[seen], noisy[seen])
    said = SimpleNamespace(
        train=tl.Predictions(first.predict_proba(x[seen]), x[seen], labels=noisy[seen]),
        test=tl.Predictions(first.predict_proba(x[fresh]), x[fresh]),
        retrained=tl.Predictions(second.predict_proba(x[fresh]), x[fresh]),
        x=x[fresh],
    )
    said.knn = KNN().fit(said.train)
    said.print = Fingerprint.of(said.train, said.test[:400])
    return said


def test_new_instances_of_the_same_kind_are_nothing_new(digits: SimpleNamespace) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ShiftWarning)
        for rows in (slice(None), slice(0, 60), slice(0, 1)):
            digits.knn.calibrate(digits.test[rows])
            digits.knn.calibrate(digits.train[rows])
    assert digits.print.compare(digits.test[400:]).findings == ()
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = rng.choice(len(digits.test), 100, replace=False)
        assert digits.print.compare(digits.test[rows]).findings == ()


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda d: d.test.replace(features=d.x * 255), "columns of features moved by 8"),
        (
            lambda d: d.test.replace(features=d.x[:, SHUFFLED]),
            "tell .*% of what they told",
        ),
        (lambda d: d.test.replace(features=np.roll(d.x, 1, axis=1)), r"tell 4\d% of what they told"),
        (lambda d: d.test.replace(probs=d.test.probs[:, ::-1]), "class 0 lies where class 9 lay"),
        (lambda d: d.test.replace(probs=d.test.probs[:, [0, 1, 2, 4, 3, 5, 6, 7, 8, 9]]), "lies where class"),
        (lambda d: d.retrained, "answers otherwise for .* instances that it was asked about before"),
    ],
    ids=["units", "shuffled", "moved", "reversed", "swapped", "retrained"],
)
def test_what_differs_is_said_and_measured(digits: SimpleNamespace, change, finding: str) -> None:
    shift = digits.print.compare(change(digits))
    assert re.search(finding, str(shift))
    assert shift.measures


def test_calibrate_warns(digits: SimpleNamespace) -> None:
    with pytest.warns(ShiftWarning, match="not like those that the calibrator was fitted on: the columns of features"):
        digits.knn.calibrate(digits.test.replace(features=digits.x * 255))
    assert digits.knn.shift(digits.test).findings == ()


def test_another_hidden_layer_gives_another_classifier_away() -> None:
    rng = np.random.default_rng(0)
    hidden = np.maximum(rng.normal(size=(500, 20)) * rng.uniform(0.1, 5, 20), 0)
    probs = rng.dirichlet(np.ones(3), 500)
    mark = Fingerprint.of(tl.Predictions(probs, hidden=hidden))
    assert mark.compare(tl.Predictions(probs[:200], hidden=hidden[:200])).findings == ()
    other = tl.Predictions(probs[:200], hidden=hidden[:200, ::-1])
    assert "columns of hidden moved" in str(mark.compare(other))


def test_confidence_is_compared_where_the_classifier_had_not_seen_the_instances() -> None:
    rng = np.random.default_rng(0)
    said = tl.Predictions(rng.dirichlet(np.ones(4), 400), out_of_sample=True)
    surer = np.square(np.square(said.probs))
    shift = Fingerprint.of(said).compare(tl.Predictions(surer / surer.sum(axis=1, keepdims=True)))
    assert "confidence moved from" in str(shift)


def test_a_fingerprint_survives_json(digits: SimpleNamespace) -> None:
    again = Fingerprint.from_dict(json.loads(json.dumps(digits.print.to_dict())))
    for said in (digits.test, digits.retrained, digits.test.replace(features=digits.x * 255)):
        before, after = digits.print.compare(said), again.compare(said)
        assert before.findings == after.findings
        assert before.measures == pytest.approx(after.measures, abs=1e-3)
    assert len(json.dumps(digits.print.to_dict())) < 50_000


@pytest.fixture(scope="module")
def files(digits: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("shift")
    tl.NPC(random_state=0, epochs=1, progress=False).fit(digits.train).save(where / "npc.safetensors")
    digits.test.to_parquet(where / "test.parquet")
    digits.test.replace(features=digits.x * 255).to_parquet(where / "bytes.parquet")
    return where


def test_apply_warns_and_strictly_refuses(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["apply", files / "npc.safetensors"]
    with pytest.warns(ShiftWarning, match="columns of features moved"):
        call(*words, files / "bytes.parquet", "--out", files / "o.csv")
    (files / "o.csv").unlink()
    said = fails(monkeypatch, capsys, *words, files / "bytes.parquet", "--out", files / "o.csv", "--strict")
    assert "not like those that the calibrator was fitted on" in said
    assert not (files / "o.csv").exists()
    call(*words, files / "test.parquet", "--out", files / "o.csv", "--strict")


def test_a_file_of_before_still_loads_and_says_that_it_cannot_be_checked(files: Path) -> None:
    from safetensors import safe_open
    from safetensors.torch import save_file

    from truelabel.export.files import _checksum

    with safe_open(files / "npc.safetensors", framework="pt") as file:
        header = dict(file.metadata())
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    config = json.loads(header["config"])
    del config["fingerprint"], config["feature_names"]
    header["config"] = json.dumps(config)
    header["checksum"] = _checksum(header["config"], tensors)
    save_file(tensors, files / "old.safetensors", header)
    with pytest.warns(UncheckedWarning, match="cannot be checked; fit again"):
        old = tl.load(files / "old.safetensors")
    test = tl.Predictions.from_parquet(files / "test.parquet")
    np.testing.assert_array_equal(old.calibrate(test), tl.load(files / "npc.safetensors").calibrate(test))
