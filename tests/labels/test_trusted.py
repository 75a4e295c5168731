"""Label issues where somebody has looked at some labels, and what is learned from that."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

import truelabel as tl
from truelabel.calibrators import KNN
from truelabel.labels import Examined, LabelIssues, MultiLabel, examine, examined

# Four labels in ten are wrong: most of these name the next digit, the others any.
TRANSITION = 0.612 * np.eye(10) + 0.28 * np.roll(np.eye(10), 1, axis=1) + 0.0108


def test_trusted_labels_are_beyond_doubt_and_others_are_judged(problem: SimpleNamespace, found: LabelIssues) -> None:
    looked = found.table.index[::10].to_numpy()
    trusted = np.full(300, -1)
    trusted[looked] = problem.truth[looked]
    table = tl.find_label_issues(problem.said, found.calibrator, trusted=trusted)
    assert table.loc[looked, "p_wrong"].tolist() == problem.wrong[looked].astype(float).tolist()
    assert table.loc[looked, "p_suggested"].eq(1).all()
    assert table.loc[looked, "uncertainty"].eq(0).all()
    names = np.array(problem.said.class_names)
    assert table.loc[looked, "suggested"].tolist() == names[problem.truth[looked]].tolist()
    rest = np.setdiff1d(np.arange(300), looked)
    np.testing.assert_allclose(table.loc[rest, "p_wrong"], found.table.loc[rest, "p_wrong"], atol=1e-5)


def test_predictions_out_of_sample_alone_take_them_too() -> None:
    rng = np.random.default_rng(0)
    clean = rng.dirichlet(np.full(3, 0.1), size=600)
    truth = clean.argmax(axis=1)
    labels = np.where(rng.random(600) < 0.2, (truth + 1) % 3, truth)
    said = tl.Predictions(clean * 0.8 + np.roll(clean, 1, axis=1) * 0.2, labels=labels, out_of_sample=True)
    trusted = np.where(np.arange(600) < 50, truth, -1)
    probs = examine(said, trusted=trusted).probs
    np.testing.assert_array_equal(probs[:50], np.eye(3)[truth[:50]])
    assert ((probs[50:].max(axis=1) < 1).mean()) > 0.25  # none of them is settled


def test_a_calibrator_without_a_transition_takes_them_too(problem: SimpleNamespace) -> None:
    elsewhere = KNN(15).fit(problem.said[:150])
    trusted = np.where(np.arange(150) < 20, problem.truth[150:], -1)
    probs = examine(problem.said[150:], elsewhere, trusted=trusted).probs
    np.testing.assert_array_equal(probs[:20], np.eye(3)[problem.truth[150:170]])


@pytest.mark.parametrize("trusted", [np.zeros(3, dtype=int), np.full(300, 3), np.full(300, 0.5)])
def test_what_are_no_trusted_labels_is_refused(problem: SimpleNamespace, trusted: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"^trusted (has shape \(3,\)|must hold classes from 0 to 2)"):
        tl.find_label_issues(problem.said, trusted=trusted)


def test_several_labels_an_instance_refuse_them(problem: SimpleNamespace) -> None:
    several = MultiLabel(np.full((300, 3), 0.5), np.eye(3, dtype=int)[problem.noisy], features=problem.x)
    with pytest.raises(ValueError, match="leave them out of a MultiLabel"):
        examine(several, trusted=problem.truth)


@pytest.fixture(scope="module")
def digits() -> SimpleNamespace:
    """900 digits with wrong labels, a classifier trained on these, and what was found without looking at any."""
    rng = np.random.default_rng(0)
    x, y = load_digits(return_X_y=True)
    some = rng.permutation(len(x))[:900]
    x, truth = (x[some] / 16).astype(np.float32), y[some]
    noisy = (rng.random((900, 1)) > TRANSITION[truth].cumsum(axis=1)).sum(axis=1).clip(max=9)
    probs = LogisticRegression(max_iter=300).fit(x, noisy).predict_proba(x)
    said = tl.Predictions(probs, x, labels=noisy)
    before = examined(said, examine(said, progress=False), data="digits", seed=0)
    looked = before.found.table.index[:100].to_numpy()
    after = before.refined(looked, truth[looked], progress=False)
    return SimpleNamespace(truth=truth, noisy=noisy, looked=looked, before=before, after=after)


def off(one: Examined) -> float:
    """How far T is from the true one, row by row."""
    return float(np.abs(one.found.transition - TRANSITION).sum(axis=1).mean())


def test_a_hundred_labels_looked_at_leave_the_rest_no_worse_and_bring_t_nearer(digits: SimpleNamespace) -> None:
    rest = np.setdiff1d(np.arange(900), digits.looked)
    wrong = (digits.noisy != digits.truth)[rest]
    reached = [average_precision_score(wrong, one.found.p_wrong[rest]) for one in (digits.before, digits.after)]
    right = [(one.found.suggested == digits.truth)[rest].mean() for one in (digits.before, digits.after)]
    assert reached[1] > reached[0] - 0.015 > 0.9
    assert right[1] > right[0] - 0.015 > 0.75
    assert off(digits.after) < off(digits.before) < 0.45


def test_what_was_looked_at_is_settled_and_the_given_labels_stay(digits: SimpleNamespace) -> None:
    after = digits.after
    np.testing.assert_array_equal(after.found.probs[digits.looked], np.eye(10)[digits.truth[digits.looked]])
    np.testing.assert_array_equal(after.found.labels, digits.noisy)
    np.testing.assert_array_equal(after.predictions.labels, digits.noisy)
    assert after.predictions is digits.before.predictions
    assert after.items is digits.before.items


def test_it_notes_how_many_were_trusted_and_how_it_came_about(digits: SimpleNamespace) -> None:
    before, after = digits.before.about, digits.after.about
    assert (after["data"], after["seed"], after["trusted"]) == ("digits", 0, 100)
    assert "trusted" not in before
    assert after["report"] == digits.after.found.calibrator.report_.to_dict()


def test_the_seed_is_the_one_noted(
    problem: SimpleNamespace, found: LabelIssues, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = []

    def examining(predictions: tl.Predictions, *, random_state: int, **settings: object) -> LabelIssues:
        seeds.append(random_state)
        return found

    monkeypatch.setattr(import_module("truelabel.labels.examined"), "examine", examining)
    noted, silent = examined(problem.said, found, seed=7), examined(problem.said, found)
    assert [one.refined([0], [1], seed=3).about["seed"] for one in (noted, silent)] == seeds == [7, 3]


@pytest.mark.parametrize(
    ("rows", "labels", "complaint"),
    [
        ([], [], "nothing to learn from"),
        ([0, 1], [0], "pass one label for each row"),
        ([300], [0], "there is no row 300; they go from 0 to 299"),
        ([-1], [0], "there is no row -1"),
        ([0], [3], "there is no class 3; they go from 0 to 2"),
        ([0], [-1], "there is no class -1"),
    ],
)
def test_rows_and_classes_there_are_not_are_refused(
    problem: SimpleNamespace, found: LabelIssues, rows: list[int], labels: list[int], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        examined(problem.said, found).refined(rows, labels)


def test_names_are_no_classes(problem: SimpleNamespace, found: LabelIssues) -> None:
    with pytest.raises(TypeError, match="rows and labels are whole numbers"):
        examined(problem.said, found).refined([0], ["cat"])
