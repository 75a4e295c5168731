"""Final labels: a person's decision, else a correction that is allowed, else the given label."""

from dataclasses import replace

import numpy as np
import pytest

import truelabel as tl
from truelabel.labels import LabelIssues, correct_labels, examined
from truelabel.labels.final import corrections, final_labels


def test_a_decision_stands_above_a_correction_and_one_without_a_label_keeps_what_was_given(found: LabelIssues) -> None:
    corrected = correct_labels(found, rule="all")
    first, second, third = (int(row) for row in found.ranked()[:3])
    right = int(np.flatnonzero(found.suggested == found.labels)[0])
    new = (int(found.labels[right]) + 1) % len(found.class_names)
    kept = int(found.labels[first])
    decided = {first: ("keep", kept), second: ("skip", None), right: ("other", new)}
    final = final_labels(found, corrected, decided)
    assert final.labels[[first, second, right]].tolist() == [kept, found.labels[second], new]
    assert final.labels[third] == found.suggested[third]
    others = np.setdiff1d(np.arange(len(found)), [first, second, right])
    np.testing.assert_array_equal(final.labels[others], corrected.labels[others])
    assert final.decision[[first, third]].tolist() == ["keep", ""]
    assert "has probability" in final.reason[third]
    listed = final.listed(found)
    assert list(listed.columns) == ["id", "given", "corrected", "changed", "decision", "reason"]
    assert listed["changed"].sum() == (final.labels != found.labels).sum()


def test_decisions_about_what_is_not_there_are_refused(found: LabelIssues) -> None:
    corrected = correct_labels(found, rule="none")
    for row, label in ((len(found), None), (-1, 0), (0, len(found.class_names))):
        with pytest.raises(ValueError, match="which these labels do not have"):
            final_labels(found, corrected, {row: ("other", label)})


def test_corrections_are_by_the_rule_that_was_noted_and_none_without_one(found: LabelIssues) -> None:
    said = tl.Predictions(found.probs, labels=found.labels, out_of_sample=True)
    for about, rule in (({}, "none"), ({"correct": "all"}, "all"), ({"correct": "safe"}, "safe")):
        both = replace(examined(said, found), about=about)
        np.testing.assert_array_equal(corrections(both).labels, correct_labels(found, rule=rule).labels)
    both = replace(examined(said, found), about={"correct": "all", "threshold": 0.99})
    np.testing.assert_array_equal(corrections(both).labels, correct_labels(found, rule="all", threshold=0.99).labels)
    assert len(corrections(both, "none").changes) == 0
    with pytest.raises(ValueError, match="one of the rules"):
        corrections(replace(both, about={"correct": "some"}))
