"""Features that say nothing about the labels: answers stand, nothing is corrected, and one sentence says why."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import truelabel as tl
from noisy_labels import drawn
from shell import call
from truelabel.calibrators import KNN, Identity
from truelabel.labels import LabelIssues, examine
from truelabel.notices import UselessFeaturesWarning
from truelabel.useless_features import informative

KINDS = ("shuffled", "zero", "constant")
SENTENCE = (
    "the features say nothing about the labels: neighbours and a linear model predict these no better than chance, so "
    "that nothing is changed because of them and the classifier's answers stand; check that the rows of features are "
    "the instances of probs."
)


@pytest.fixture(scope="module")
def said() -> dict[str, tl.Predictions]:
    """Clean digits, and a classifier of them, with features of each kind."""
    x, labels = load_digits(return_X_y=True)
    x, labels = x[:900].astype(np.float32), labels[:900]
    probs = LogisticRegression(max_iter=300).fit(x[:600], labels[:600]).predict_proba(x)
    order = np.random.default_rng(0).permutation(len(x))
    features = {"shuffled": x[order], "zero": np.zeros_like(x), "constant": np.full_like(x, 3.7), "useful": x}
    return {kind: tl.Predictions(probs, each, labels=labels) for kind, each in features.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_the_classifiers_answers_stand(kind: str, said: dict[str, tl.Predictions]) -> None:
    with pytest.warns(UselessFeaturesWarning) as given:
        npc = tl.NPC(random_state=0, progress=False).fit(said[kind][:600])
    assert [str(one.message) for one in given if one.category is UselessFeaturesWarning] == [SENTENCE]
    assert npc.report_.changed <= 0.005
    new = said[kind][600:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changed = np.flatnonzero(npc.predict(new) != new.hard)
    top = np.sort(new.probs[changed], axis=1)
    assert len(changed) <= 3
    assert (top[:, -1] - top[:, -2] < 0.2).all()  # where two classes are about as probable


@pytest.mark.parametrize("kind", KINDS)
def test_no_label_is_corrected(kind: str, said: dict[str, tl.Predictions]) -> None:
    with pytest.warns(UselessFeaturesWarning, match="say nothing about the labels"):
        found = examine(said[kind][:600], random_state=0, progress=False)
    assert isinstance(found, LabelIssues)
    assert found.wrong.total.number < 6
    for rule in ("safe", "all"):
        corrected = tl.correct_labels(found, rule=rule)  # type: ignore[arg-type]
        assert len(corrected.changes) <= 3
        assert rule == "all" or len(corrected.changes) == 0


def test_each_command_says_it_in_one_line(
    said: dict[str, tl.Predictions], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said["shuffled"][:600].to_parquet(tmp_path / "train.parquet")
    for words in (
        ["fit", "--out", tmp_path / "npc.safetensors"],
        ["issues", "--out", tmp_path / "issues.csv"],
        ["correct", "--out", tmp_path / "corrected.csv", "--correct", "safe"],
    ):
        with pytest.warns(UselessFeaturesWarning) as given:
            printed = call(words[0], tmp_path / "train.parquet", *words[1:])
        assert [str(one.message) for one in given if one.category is UselessFeaturesWarning] == [SENTENCE]
        if words[0] == "correct":
            assert "0 of 600 labels changed" in printed


def test_useful_features_give_no_warning(said: dict[str, tl.Predictions]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UselessFeaturesWarning)
        tl.NPC(random_state=0, epochs=1, progress=False).fit(said["useful"][:600])
        both = {"useful": said["useful"].features, "zero": said["zero"].features}
        KNN(k=5).fit(said["useful"].replace(features=both))
        Identity().fit(said["zero"])
        KNN(k=5).fit(said["zero"][:30])  # too few to know


def test_a_calibrator_without_weights_is_not_said_to_do_no_harm(said: dict[str, tl.Predictions]) -> None:
    with pytest.warns(UselessFeaturesWarning, match="so that this can do harm"):
        KNN(k=5).fit(said["zero"])


def test_weak_features_tell_something_and_random_ones_nothing() -> None:
    noise = np.full((2, 2), 0.35) + 0.3 * np.eye(2)
    wrong = missed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = rng.integers(2, size=1000)
        labels = drawn(noise[truth], rng)
        x = (rng.normal(size=(1000, 5)) + 1.5 * truth[:, None] * np.eye(5)[0]).astype(np.float32)
        missed += not informative({"x": x}, labels)
        wrong += informative({"x": rng.normal(size=(1000, 5)).astype(np.float32)}, labels)
    assert wrong <= 4
    assert missed <= 10  # 35 % of the labels are wrong, and two in ten instances lie on the other side


def test_wide_features_and_a_wild_value_are_no_trouble() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=400)
    x = rng.normal(size=(400, 1500)).astype(np.float32)
    x[:, :40] += 2 * np.eye(3, 40)[labels] + np.eye(3, 40)[labels][:, ::-1]
    assert informative({"x": 3 * x}, labels) or informative({"x": x[:, :40]}, labels)
    x = x[:, :40].copy()
    x[7, 0] = 1e8
    assert informative({"x": x}, labels)
