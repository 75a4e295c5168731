from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import truelabel as tl
from truelabel.labels import LabelIssues, correct_labels, examine


@pytest.fixture(scope="module")
def four() -> LabelIssues:
    """Four instances labelled 0, whose posterior is known: T is the identity's opposite, a row of equals."""
    probs = np.array([[0.9, 0.05, 0.05], [0.4, 0.35, 0.25], [0.1, 0.6, 0.3], [0.02, 0.03, 0.95], [0.3, 0.1, 0.6]])
    said = tl.Predictions(probs, labels=[0, 0, 0, 0, 1], ids=list("abcde"), class_names=["x", "y", "z"])
    calibrator = tl.calibrators.Identity().fit(said)
    calibrator.transition_matrix_, calibrator.class_shares_ = np.full((3, 3), 1 / 3), np.full(3, 1 / 3)
    return examine(said, calibrator)


def test_auto_takes_the_most_probable_class(four: LabelIssues) -> None:
    done = correct_labels(four, rule="all")
    assert done.labels.tolist() == [0, 0, 1, 2, 2]
    assert done.changes["id"].tolist() == ["d", "c", "e"]
    assert done.to_dict()["changed"] == 3


def test_the_record_says_what_was_changed_and_why(four: LabelIssues) -> None:
    done = correct_labels(four, rule="all")
    first = done.changes.iloc[0]
    assert (first["given"], first["corrected"]) == ("x", "z")
    assert first["why"] == "z has probability 0.950, x 0.020"
    assert done.table["id"].tolist() == list("abcde")
    assert done.table["changed"].tolist() == [False, False, True, True, True]
    assert done.table["corrected"].tolist() == ["x", "x", "y", "z", "z"]
    assert done.table["why"].tolist()[:2] == ["", ""]
    assert "3 of 5 labels changed (another class is more probable)" in str(done)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"threshold": 0.61}, [0, 0, 0, 2, 1]),
        ({"threshold": 0.5}, [0, 0, 1, 2, 2]),
        ({"threshold": 0.0}, [0, 0, 1, 2, 2]),
        ({"budget": 0}, [0, 0, 0, 0, 1]),
        ({"budget": 1}, [0, 0, 0, 2, 1]),
        ({"budget": 2}, [0, 0, 1, 2, 1]),  # c gains 0.5, as e; the first of equals
        ({"budget": 0.2}, [0, 0, 0, 2, 1]),
        ({"budget": 40}, [0, 0, 1, 2, 2]),
        ({"threshold": 0.61, "budget": 2}, [0, 0, 0, 2, 1]),
    ],
)
def test_threshold_and_budget_limit_what_is_changed(four: LabelIssues, rule: dict, expected: list[int]) -> None:
    assert correct_labels(four, **{"rule": "all"} | rule).labels.tolist() == expected


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ({"threshold": 1.5}, "threshold is a probability between 0 and 1"),
        ({"threshold": "always"}, "a probability or \"auto\", not 'always'"),
        ({"budget": -1}, "budget is a number of labels"),
        ({"budget": 2.5}, "a share of them below 1, not 2.5"),
    ],
)
def test_rules_that_make_no_sense_are_refused(four: LabelIssues, rule: dict, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        correct_labels(four, **{"rule": "all"} | rule)


def test_corrected_labels_are_cleaner_and_say_how_much(problem: SimpleNamespace, found: LabelIssues) -> None:
    done = correct_labels(found, rule="all")
    assert np.mean(done.labels != problem.truth) < 0.03 < np.mean(problem.wrong)
    assert done.changes["why"].str.contains(" of 10 neighbours are labelled ").all()


def test_predictions_are_examined_first(problem: SimpleNamespace, found: LabelIssues) -> None:
    done = tl.correct_labels(problem.said, found.calibrator, rule="all", budget=5)
    assert len(done.changes) == 5
    gain = found.probs.max(axis=1) - found.probs[np.arange(300), problem.noisy]
    np.testing.assert_allclose(np.sort(gain[done.changes.index]), np.sort(gain)[-5:], atol=1e-6)


def test_safe_changes_only_what_the_least_noise_supports(found: LabelIssues) -> None:
    suggested = found.suggested
    supported = np.where(np.arange(len(found)) % 2 == 0, suggested, found.labels)
    half = replace(found, supported=supported, evidence="its form")
    done = correct_labels(half)
    assert done.labels.tolist() == supported.tolist()
    assert f"{np.sum(suggested != supported)} labels that may be wrong stayed" in done.declined
    assert correct_labels(half, rule="all").labels.tolist() == suggested.tolist()
    assert correct_labels(half, rule="none").labels.tolist() == found.labels.tolist()


def test_nothing_is_changed_where_nothing_is_proven_and_it_says_why(found: LabelIssues) -> None:
    unproven = replace(found, supported=found.labels, evidence="the surest instances")
    done = correct_labels(unproven)
    assert len(done.changes) == 0
    assert "nothing proves that labels are wrong" in str(done)
    assert "An audit of a hundred labels shows" in done.declined
    assert correct_labels(replace(found, supported=found.labels, evidence="unknown")).declined.count("fitted before")


@pytest.mark.parametrize("informative", [True, False])
def test_clean_labels_stay_as_they_are_with_any_features(informative: bool) -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(400) % 4
    x = rng.normal(size=(400, 3)) + (np.stack([truth % 2, truth // 2, 0 * truth], axis=1) * 2.5 if informative else 0)
    said = tl.Predictions(np.eye(4)[truth] * 0.96 + 0.01, x, labels=truth)
    assert tl.correct_labels(said, progress=False).labels.tolist() == truth.tolist()


def test_an_audit_allows_what_it_proves_and_settles_what_was_checked(
    problem: SimpleNamespace, found: LabelIssues
) -> None:
    unproven = replace(found, supported=found.labels, evidence="the surest instances")
    audit = tl.labels.audit(unproven, sample=60)
    with pytest.raises(ValueError, match="an audit go together"):
        correct_labels(unproven, rule="audited")
    audit.answer(audit.rows, problem.truth[audit.rows])
    done = correct_labels(unproven, rule="audited", audit=audit)
    assert audit.verdict().safe is not None
    assert np.array_equal(done.labels[audit.rows], problem.truth[audit.rows])
    assert np.mean(done.labels != problem.truth) < 0.03 < np.mean(problem.wrong)


def test_an_audit_that_speaks_against_the_suggestions_changes_only_what_was_checked(found: LabelIssues) -> None:
    unproven = replace(found, supported=found.labels, evidence="the surest instances")
    audit = tl.labels.audit(unproven, sample=60)
    audit.answer(audit.rows, found.labels[audit.rows])  # every given label is right, whatever is suggested
    done = correct_labels(unproven, rule="audited", audit=audit)
    assert done.labels.tolist() == found.labels.tolist()
    assert "the audit does not prove" in done.declined


def test_an_audit_of_other_labels_is_refused(found: LabelIssues) -> None:
    audit = tl.labels.audit(found, sample=10)
    audit.answer(audit.rows, found.labels[audit.rows])
    other = replace(found, labels=(found.labels + 1) % 3)
    with pytest.raises(ValueError, match="not drawn from these labels"):
        correct_labels(other, rule="audited", audit=audit)


def test_outcomes_that_follow_from_few_categories_only_as_a_rule_stay_as_they_are() -> None:
    """Two groups in which four of five have one outcome: each fifth is right all the same."""
    rng = np.random.default_rng(0)
    group = np.arange(600) % 2
    outcome = np.where(rng.random(600) < 0.8, group, 1 - group)
    x = group[:, None] * 8 + rng.normal(size=(600, 3)) * [0.1, 1, 1]
    said = tl.Predictions(np.eye(2)[outcome] * 0.9 + 0.05, x, labels=outcome)
    assert tl.correct_labels(said, progress=False).labels.tolist() == outcome.tolist()
