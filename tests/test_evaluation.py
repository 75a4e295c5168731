"""Is a calibrator better? Verdicts on labels that are wrong, right, and missing."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import truelabel as tl
from noisy_labels import ASYMMETRIC, SYMMETRIC, drawn
from shell import call, fails
from truelabel.calibrators import KNN, Calibrator, Identity
from truelabel.evaluation import Evaluation
from truelabel.fingerprint import Fingerprint

C = 4
NOISE = np.full((10, 10), 0.03) + 0.7 * np.eye(10)


class Swap(Calibrator):
    """Knows T, and answers with the classifier's other view: what is in `features`."""

    def __init__(self, evidence: str = "its form", interval: tuple[float, float] | None = None) -> None:
        self.evidence, self.interval = evidence, interval

    def know(self, transition: np.ndarray, said: tl.Predictions) -> "Swap":
        self.n_classes_, self.class_names_, self.feature_names_ = C, said.class_names, {}
        self.fingerprint_, self.view_widths_ = None, {"features": C}
        self.transition_matrix_, self.class_shares_ = transition, np.full(C, 1 / C)
        facts = {"noise_evidence": self.evidence, "noise_interval": self.interval, "agreement": 0.5}
        self.report_ = type("Report", (), facts)()
        return self

    def _fit(self, predictions: tl.Predictions) -> None: ...

    def _calibrate(self, predictions: tl.Predictions) -> np.ndarray:
        return np.asarray(predictions.views["features"], dtype=np.float32)


def answers(truth: np.ndarray, accuracy: float, rng: np.random.Generator) -> np.ndarray:
    """Return probabilities whose class is right so often."""
    right = rng.random(len(truth)) < accuracy
    return 0.6 * np.eye(C)[np.where(right, truth, (truth + 1 + rng.integers(C - 1, size=len(truth))) % C)] + 0.1


def said(
    before: float, after: float, transition: np.ndarray, seed: int = 0, n: int = 3000
) -> tuple[tl.Predictions, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(C, size=n)
    labels = drawn(transition[truth], rng)
    features = answers(truth, after, rng) + rng.normal(scale=0.01, size=(n, C))  # no two alike
    return tl.Predictions(answers(truth, before, rng), features, labels=labels), truth


def known(transition: np.ndarray, predictions: tl.Predictions, **settings: object) -> Swap:
    return Swap(**settings).know(transition, predictions)  # type: ignore[arg-type]


@pytest.mark.parametrize("transition", [SYMMETRIC, ASYMMETRIC], ids=["symmetric", "asymmetric"])
@pytest.mark.parametrize(
    ("before", "after", "verdict"), [(0.6, 0.8, "better"), (0.8, 0.6, "worse"), (0.7, 0.7, "no clear difference")]
)
def test_accuracy_under_noise_is_what_it_is_without(
    transition: np.ndarray, before: float, after: float, verdict: str
) -> None:
    predictions, truth = said(before, after, transition, n=20_000)
    found = known(transition, predictions).evaluate(predictions)
    actual = known(transition, predictions).evaluate(predictions.replace(labels=truth), labels_are_true=True)
    assert found.verdict == actual.verdict == verdict
    assert found.accuracy is not None
    assert actual.accuracy is not None
    assert found.agreement is not None
    for part in ("before", "after", "difference"):
        assert getattr(found.accuracy, part).value == pytest.approx(getattr(actual.accuracy, part).value, abs=0.03)
    assert found.agreement.before.value == pytest.approx(np.mean(predictions.hard == predictions.labels))
    assert found.agreement.before.value < found.accuracy.before.value - 0.1
    assert found.sentence.lower().startswith(verdict)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    inside = np.zeros(3)
    for seed in range(200):
        predictions, truth = said(0.6, 0.7, ASYMMETRIC, seed, n=400)
        found = known(ASYMMETRIC, predictions).evaluate(predictions).accuracy
        assert found is not None
        before, after = (
            np.mean(part.argmax(1) == truth) for part in (predictions.probs, predictions.views["features"])
        )
        pairs = ((found.before, before), (found.after, after), (found.difference, after - before))
        inside += [each.low <= value <= each.high for each, value in pairs]
    # The share in this sample varies less than the one in all instances, which the intervals are for.
    assert (inside / 200 >= 0.87).all()


def test_a_few_changes_for_the_better_prove_nothing() -> None:
    truth = np.arange(100) % C
    better = np.eye(C)[truth]
    for wrong, verdict in ((3, "no clear difference"), (4, "no clear difference"), (5, "better")):  # a sign test's
        probs = better.copy()
        probs[:wrong] = np.roll(probs[:wrong], 1, axis=1)
        predictions = tl.Predictions(probs, better, labels=truth)
        assert known(np.eye(C), predictions).evaluate(predictions, labels_are_true=True).verdict == verdict


def test_what_is_not_known_of_the_noise_widens_the_interval() -> None:
    predictions, _ = said(0.6, 0.8, SYMMETRIC)
    narrow = known(SYMMETRIC, predictions).evaluate(predictions).accuracy
    wide = known(SYMMETRIC, predictions, interval=(0.2, 0.4)).evaluate(predictions).accuracy
    assert narrow is not None
    assert wide is not None
    assert wide.after.value == narrow.after.value
    assert wide.after.low < narrow.after.low - 0.05
    assert wide.after.high > narrow.after.high + 0.05
    none = known(SYMMETRIC, predictions, interval=(0.0, 0.3)).evaluate(predictions)
    assert none.accuracy is not None
    assert none.agreement is not None
    assert none.accuracy.before.low <= none.agreement.before.value


def test_where_nothing_proves_the_noise_no_verdict_is_given() -> None:
    predictions, truth = said(0.6, 0.9, SYMMETRIC)
    found = known(SYMMETRIC, predictions, evidence="the surest instances").evaluate(predictions)
    assert (found.verdict, found.accuracy) == ("cannot tell", None)
    assert "nothing proves how many of the labels are wrong" in found.sentence
    assert found.agreement is not None
    assert found.agreement.difference.low > 0
    # ... unless T is known after all, or the labels are true.
    knn = KNN(k=15).fit(predictions[:500])
    assert "does not know how labels go wrong" in knn.evaluate(predictions[500:]).sentence
    assert knn.evaluate(predictions[500:], transition=SYMMETRIC).verdict == "better"
    assert knn.evaluate(predictions.replace(labels=truth)[500:], labels_are_true=True).verdict == "better"


def test_labels_that_tell_classes_apart_hardly_or_not_give_no_verdict() -> None:
    blind = np.full((C, C), 1 / C)
    for transition in (blind, blind + 0.02 * (np.eye(C) - 1 / C)):
        predictions, _ = said(0.6, 0.8, transition)
        found = known(transition, predictions).evaluate(predictions)
        assert found.verdict == "cannot tell"
        assert "do not tell some classes apart" in found.sentence


def test_without_labels_it_is_shown_what_changes_and_how_sure_it_is() -> None:
    predictions, _ = said(0.6, 0.8, SYMMETRIC, n=50)
    bare = predictions.replace(labels=None, class_names=["ant", "bee", "cat", "dog"])
    found = known(SYMMETRIC, bare).evaluate(bare)
    before, after = bare.hard, bare.views["features"].argmax(axis=1)
    assert (found.verdict, found.agreement, found.accuracy) == ("cannot tell", None, None)
    assert found.sentence.startswith("Cannot tell: there are no labels")
    assert found.changed == np.sum(before != after) == sum(one["count"] for one in found.changes)
    counts = [one["count"] for one in found.changes]
    assert counts == sorted(counts, reverse=True)
    first = found.changes[0]
    ways = ["ant", "bee", "cat", "dog"]
    assert first["count"] == np.sum((before == ways.index(first["from"])) & (after == ways.index(first["to"])))
    assert found.believed["changed"] == pytest.approx({"before": 0.1, "after": 0.7}, abs=0.01)
    with pytest.raises(ValueError, match="labels_are_true needs labels"):
        known(SYMMETRIC, bare).evaluate(bare, labels_are_true=True)
    with pytest.raises(ValueError, match="level is the probability of an interval"):
        known(SYMMETRIC, bare).evaluate(bare, level=1.2)


def test_where_no_class_changes_there_is_no_difference() -> None:
    predictions, _ = said(0.7, 0.7, SYMMETRIC)
    found = Identity().fit(predictions[:500]).evaluate(predictions[500:], transition=SYMMETRIC)
    assert found.sentence == "No clear difference: no prediction changes its class."
    assert found.believed["changed"] is None
    assert found.changes == []


def test_classes_in_another_order_give_the_same_verdict() -> None:
    predictions, _ = said(0.6, 0.8, ASYMMETRIC)
    names = np.array(["ant", "bee", "cat", "dog"])
    order = np.array([2, 0, 3, 1])
    named = predictions.replace(class_names=list(names))
    other = predictions.replace(
        probs=predictions.probs[:, order],
        labels=np.argsort(order)[predictions.labels],  # type: ignore[index]
        class_names=list(names[order]),
    )
    first = known(ASYMMETRIC, named).evaluate(named).accuracy
    second = known(ASYMMETRIC, named).evaluate(other).accuracy
    assert first is not None
    assert second is not None
    assert first.difference.value == pytest.approx(second.difference.value)
    assert first.before.low == pytest.approx(second.before.low)


def test_instances_of_the_fit_give_no_verdict() -> None:
    predictions, _ = said(0.6, 0.9, SYMMETRIC)
    knn = KNN(k=15).fit(predictions[:2000])
    for rows in (slice(0, 2000), slice(500, 900), slice(1500, 2500)):
        found = knn.evaluate(predictions[rows], transition=SYMMETRIC)
        assert found.verdict == "cannot tell"
        assert "was fitted on these instances" in found.sentence
    assert knn.evaluate(predictions[2000:], transition=SYMMETRIC).verdict == "better"
    kept = Fingerprint.from_dict(json.loads(json.dumps(knn.fingerprint_.to_dict())))
    assert kept.share_learned(predictions[500:900]) == knn.fingerprint_.share_learned(predictions[500:900]) > 0.5
    assert kept.share_learned(predictions[2000:]) == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier that memorised symmetric noise, a calibrator, and held-out instances with labels and without."""
    where = tmp_path_factory.mktemp("evaluate")
    x, truth = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32)
    rng = np.random.default_rng(0)
    noisy, learned = drawn(NOISE[truth], rng), drawn(NOISE[truth], rng)
    train, test = slice(0, 1000), slice(1000, None)
    tl.Predictions(0.9 * np.eye(10)[noisy[train]] + 0.01, x[train], labels=noisy[train]).to_parquet(
        where / "train.parquet"
    )
    held = tl.Predictions(0.9 * np.eye(10)[learned[test]] + 0.01, x[test], labels=noisy[test])
    held.to_parquet(where / "held.parquet")
    held.replace(labels=truth[test]).to_parquet(where / "true.parquet")
    held.replace(labels=None).to_parquet(where / "bare.parquet")
    np.save(where / "t.npy", NOISE)
    np.save(where / "wrong.npy", NOISE[:, :4])
    call("fit", where / "train.parquet", "--out", where / "npc.safetensors")
    return where


def test_the_command_gives_the_same_answer_as_the_method(folder: Path) -> None:
    words = ["evaluate", folder / "npc.safetensors"]
    found = json.loads(call(*words, folder / "held.parquet", "--json"))
    npc = tl.load(folder / "npc.safetensors")
    direct: Evaluation = npc.evaluate(tl.Predictions.from_parquet(folder / "held.parquet"))
    assert found == json.loads(json.dumps(direct.to_dict()))
    assert found["verdict"] == "better"
    actual = json.loads(call(*words, folder / "true.parquet", "--labels-are-true", "--json"))
    assert actual["verdict"] == "better"
    gain = found["accuracy"]["difference"]
    assert gain["low"] <= actual["accuracy"]["difference"]["value"] <= gain["high"]
    given = json.loads(call(*words, folder / "held.parquet", "--transition", folder / "t.npy", "--json"))
    assert given["verdict"] == "better"


def test_the_command_prints_a_verdict_in_words(folder: Path) -> None:
    shown = call("evaluate", folder / "npc.safetensors", folder / "held.parquet")
    assert "agreement with the labels:" in shown
    assert "accuracy, corrected for noise:" in shown
    assert shown.splitlines()[-1].startswith("Better: about ")
    shown = call("evaluate", folder / "npc.safetensors", folder / "true.parquet", "--labels-are-true")
    assert "corrected" not in shown
    shown = call("evaluate", folder / "npc.safetensors", folder / "bare.parquet")
    assert shown.splitlines()[-1].startswith("Cannot tell: there are no labels")
    assert "believes that" in shown


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["{}/bare.parquet", "--labels-are-true"], "labels_are_true needs labels"),
        (["{}/held.parquet", "--transition", "{}/wrong.npy"], "has shape (10, 4), but there are 10 classes"),
        (["{}/held.parquet", "--level", "7"], "level is the probability of an interval"),
        (["{}/none.parquet"], "there is no file"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], complaint: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = fails(
        monkeypatch, capsys, "evaluate", folder / "npc.safetensors", *(word.format(folder) for word in words)
    )
    assert complaint in printed
    assert "\n" not in printed
