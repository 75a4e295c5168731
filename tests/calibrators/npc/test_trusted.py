"""Labels that somebody looked at: believed, learned from, and, where they were drawn at random, counted in T."""

import numpy as np
import pytest

from truelabel import NPC
from truelabel.calibrators.npc.prior import VotePrior


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
    told = NPC(random_state=0, progress=False).fit(misled.said, trusted=misled.trusted, trusted_sample="picked")
    assert (alone.predict(misled.said[misled.rest]) == 1).mean() > 0.5
    assert (told.predict(misled.said[misled.rest]) == 0).mean() > 0.9
    elsewhere = misled.truth > 0
    assert (told.predict(misled.said[elsewhere]) == misled.truth[elsewhere]).mean() > 0.95


class TestHowTheyWereChosen:
    @staticmethod
    def fitted(said, trusted, sample):
        return NPC(random_state=0, progress=False, epochs=1).fit(said, trusted=trusted, trusted_sample=sample)

    def test_a_random_sample_moves_the_noise_to_what_it_shows(self, problem):
        """Labels that are wrong by a rule in x, which nobody can see who has x and labels alone."""
        made = problem(n=600, rate=0)
        rule = made.x[:, 0] > np.quantile(made.x[:, 0], 0.75)
        noisy = np.where(rule, (made.truth + 1) % 3, made.truth)
        said = made.said.replace(labels=noisy, probs=0.91 * np.eye(3)[noisy] + 0.03)
        looked = np.random.default_rng(0).permutation(600) < 150
        trusted = np.where(looked, made.truth, -1)
        alone = NPC(random_state=0, progress=False, epochs=1).fit(said).report_
        told = self.fitted(said, trusted, "random").report_
        shown = np.mean((noisy != made.truth)[looked])
        assert abs(told.noise_rate - shown) < abs(alone.noise_rate - shown)
        assert told.noise_rate == pytest.approx(shown, abs=0.08)
        assert told.noise_interval[0] < shown < told.noise_interval[1]

    def test_picked_ones_are_believed_but_say_nothing_of_how_often_labels_are_wrong(self, problem):
        """All wrong labels were looked at, and no other: a random sample would be wrong throughout."""
        made = problem(n=600, rate=0.2)
        trusted = np.where(made.noisy != made.truth, made.truth, -1)
        picked, random = (self.fitted(made.said, trusted, sample) for sample in ("picked", "random"))
        assert not picked.belief_.noise.checked.any()
        assert random.belief_.noise.checked.sum() == (trusted >= 0).sum()
        assert picked.report_.noise_rate < 0.3
        assert random.report_.noise_rate > 0.5
        for npc in (picked, random):
            looked = trusted >= 0
            np.testing.assert_array_equal(npc.belief_.shares[looked], np.eye(3)[trusted[looked]])

    def test_any_other_way_is_refused(self, problem):
        with pytest.raises(ValueError, match='trusted_sample must be "random", "picked" or an array'):
            self.fitted(problem(n=90).said, np.full(90, -1), "all")


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


@pytest.mark.parametrize("npc", [NPC("paper", progress=False), NPC(prior=VotePrior(k=5), progress=False)])
def test_the_papers_prior_refuses_them(problem, npc):
    with pytest.raises(ValueError, match="the paper's recipe has no use for trusted; leave it out"):
        npc.fit(problem(n=90).said, trusted=np.full(90, -1))
