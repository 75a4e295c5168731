"""Labels that somebody looked at: believed, learned from, and counted in T."""

import numpy as np
import pytest

from truelabel import NPC
from truelabel.calibrators.npc.label_noise import estimate_transition, settle
from truelabel.calibrators.npc.prior import VotePrior


def block(y: int, sure: float, labels: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows believed to be of class y of two, `sure` each, and how many have which label."""
    believed = np.full((sum(labels.values()), 2), 1 - sure, dtype=np.float32)
    believed[:, y] = sure
    return believed, np.repeat(list(labels), list(labels.values()))


def together(*blocks):
    return tuple(np.concatenate(parts) for parts in zip(*blocks, strict=True))


def rate(right: int, wrong: int) -> float:
    """The diagonal of T where two classes were counted so."""
    return (right + 0.5) / (right + wrong + 0.5 + 0.25)


def test_known_classes_leave_the_row_of_t_they_do_not_belong_to():
    """Ten of the thirty seemingly wrong labels of class 0 are right: they are of class 1, where surer ones count."""
    believed, labels = together(block(0, 0.9, {0: 70, 1: 30}), block(1, 0.9, {0: 20, 1: 80}))
    known = np.full(200, -1)
    known[90:100] = 1
    found, shares = estimate_transition(believed, labels, known=known)
    np.testing.assert_allclose(np.diag(found), [rate(70, 20), rate(80, 20)])
    np.testing.assert_allclose(shares, [0.45, 0.55])
    before, even = estimate_transition(believed, labels)
    np.testing.assert_allclose(np.diag(before), [rate(70, 30), rate(80, 20)])
    np.testing.assert_allclose(even, 0.5)


def test_known_classes_are_counted_where_too_few_are_sure():
    """Forty sure rows of class 1 are fewer than fifty, so that the ten known ones make them up."""
    believed, labels = together(block(0, 0.9, {0: 70, 1: 30}), block(1, 0.9, {0: 10, 1: 30}))
    known = np.full(140, -1)
    known[90:100] = 1
    found, _ = estimate_transition(believed, labels, known=known)
    np.testing.assert_allclose(np.diag(found), [rate(70, 20), rate(40, 10)])


def test_known_classes_that_are_believed_already_change_nothing():
    believed, labels = together(block(0, 0.9, {0: 70, 1: 30}), block(1, 0.9, {0: 20, 1: 80}))
    for known in (np.full(200, -1), believed.argmax(axis=1)):
        for found, before in zip(
            estimate_transition(believed, labels, known=known), estimate_transition(believed, labels), strict=True
        ):
            np.testing.assert_array_equal(found, before)


def test_known_classes_are_settled_and_others_left():
    believed = np.array([[0.2, 0.8], [0.3, 0.7], [0.6, 0.4]], dtype=np.float32)
    settled = settle(believed.copy(), np.array([0, -1, 0]))
    np.testing.assert_array_equal(settled, np.array([[1, 0], [0.3, 0.7], [1, 0]], dtype=np.float32))
    np.testing.assert_array_equal(settle(believed.copy(), None), believed)


@pytest.fixture(scope="module")
def misled(problem):
    """Blobs, one of which is mostly labelled as another, and half of that one looked at."""
    made = problem(n=300, rate=0.1)
    rng = np.random.default_rng(5)
    inside = rng.permutation(np.flatnonzero(made.truth == 0))
    noisy = np.where(made.truth == 0, 0, made.noisy)
    noisy[inside[:65]] = 1
    made.said = problem(n=300, labels=noisy, probs=0.91 * np.eye(3)[noisy] + 0.03).said
    made.looked, made.rest = np.sort(inside[::2]), np.sort(inside[1::2])
    made.trusted = np.full(300, -1)
    made.trusted[made.looked] = 0
    return made


def test_trusted_labels_show_what_most_labels_hide(misled):
    """65 of 100 labels of a class name another one: no expert can know better, unless it is told."""
    alone = NPC(random_state=0, progress=False).fit(misled.said)
    told = NPC(random_state=0, progress=False).fit(misled.said, trusted=misled.trusted)
    assert (alone.predict(misled.said[misled.rest]) == 1).mean() > 0.5
    assert (told.predict(misled.said[misled.rest]) == 0).mean() > 0.9
    elsewhere = misled.truth > 0
    assert (told.predict(misled.said[elsewhere]) == misled.truth[elsewhere]).mean() > 0.95
    assert told.transition_matrix_[0, 1] == pytest.approx(0.65, abs=0.12)
    assert alone.transition_matrix_[0, 1] < 0.4


def test_trusting_nothing_is_as_if_nothing_were_said(problem):
    made = problem(n=90)
    none, empty = (
        NPC(random_state=0, progress=False, epochs=1).fit(made.said, trusted=trusted)
        for trusted in (None, np.full(90, -1))
    )
    np.testing.assert_array_equal(none.calibrate(made.said), empty.calibrate(made.said))


def test_trusted_labels_go_with_a_validation_set(problem):
    made, other = problem(n=90), problem(n=40, seed=1)
    npc = NPC(random_state=0, progress=False, epochs=1)
    npc.fit(made.said, validation=other.said, trusted=np.where(np.arange(90) < 30, made.truth, -1))
    assert npc.calibrate(made.said).shape == (90, 3)


@pytest.mark.parametrize(
    ("trusted", "complaint"),
    [
        (np.zeros(89, dtype=int), r"trusted has shape \(89,\), but there are 90 instances"),
        (np.zeros((90, 3), dtype=int), r"trusted has shape \(90, 3\)"),
        (np.full(90, 3), "classes from 0 to 2, or −1 where none is known"),
        (np.full(90, -2), "classes from 0 to 2, or −1"),
        (np.full(90, 0.5), "classes from 0 to 2, or −1"),
        (["cat"] * 90, "trusted must hold real numbers"),
    ],
    ids=["too few", "a matrix", "no such class", "less than −1", "halves", "names"],
)
def test_what_are_no_trusted_labels_is_refused(problem, trusted, complaint):
    with pytest.raises(ValueError, match=complaint):
        NPC(random_state=0, progress=False).fit(problem(n=90).said, trusted=trusted)


def test_the_papers_recipe_refuses_them(problem):
    with pytest.raises(ValueError, match="the paper's recipe has no use for trusted labels"):
        NPC("paper", progress=False).fit(problem(n=90).said, trusted=np.full(90, -1))


def test_a_prior_that_cannot_take_them_refuses_them(problem):
    npc = NPC(prior=VotePrior(k=5), progress=False)
    with pytest.raises(ValueError, match="VotePrior does not take trusted labels"):
        npc.fit(problem(n=90).said, trusted=np.full(90, -1))
