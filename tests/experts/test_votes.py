import numpy as np
import pytest

from truelabel.copies import Copies, find_copies
from truelabel.experts import votes
from truelabel.experts.votes import Vote
from truelabel.progress import Progress


def best(x, labels, c, *, k=None, reference=None, seed=0):
    reference = np.arange(len(x)) if reference is None else reference
    return Vote.best(np.asarray(x, dtype=np.float32), labels, reference, c, k, np.random.default_rng(seed))


def nearest(x, k, among=None):
    """Positions in `among` of the k nearest rows of each row, without itself, by all distances."""
    among = np.arange(len(x)) if among is None else among
    distances = np.linalg.norm(x[:, None].astype(float) - x[among][None], axis=2)
    distances[np.arange(len(x))[:, None] == among] = np.inf
    return among[np.argsort(distances, axis=1)[:, :k]]


def smoothed(labels, found, base, c):
    k = found.shape[1]
    return (np.eye(c)[labels][found].sum(axis=1) + base) / (k + 1)


class TestVotes:
    def test_they_are_the_smoothed_shares_of_the_other_instances(self, problem):
        made = problem(n=80)
        vote = best(made.x, made.noisy, 3, k=5)
        base = np.bincount(made.noisy, minlength=3) / 80
        expected = smoothed(made.noisy, nearest(made.x, 5), base, 3)
        assert vote.scale.name == "whole"
        np.testing.assert_allclose(vote.everywhere(made.x, Progress(False)), expected, atol=1e-5)

    def test_only_the_reference_votes_and_no_member_of_it_for_itself(self, problem, monkeypatch):
        monkeypatch.setattr(votes, "QUERY_BLOCK", 33)
        made = problem(n=80)
        reference = np.sort(np.random.default_rng(0).choice(80, 30, replace=False))
        vote = best(made.x, made.noisy, 3, k=4, reference=reference)
        base = np.bincount(made.noisy[reference], minlength=3) / 30
        expected = smoothed(made.noisy, nearest(made.x, 4, reference), base, 3)
        np.testing.assert_allclose(vote.everywhere(made.x, Progress(False)), expected, atol=1e-5)

    def test_no_label_has_probability_zero(self):
        """Five neighbours of class 0, and one vote more of which class 1 has its share of all labels."""
        x = np.r_[np.zeros(20), np.full(5, 100.0)][:, None] + np.arange(25)[:, None] * 1e-3
        labels = np.r_[np.zeros(20), np.ones(5)].astype(int)
        found = best(x, labels, 2, k=5).everywhere(x.astype(np.float32), Progress(False))
        np.testing.assert_allclose(found[0], [(5 + 0.8) / 6, 0.2 / 6], atol=1e-6)


def with_one_shared(believed, found):
    """The beliefs of those found, and one more: what is believed on average."""
    return (believed[found].sum(axis=1) + believed.mean(axis=0)) / (found.shape[1] + 1)


class TestVotesOfBeliefs:
    def test_they_are_the_smoothed_mean_of_what_is_believed_of_the_nearest(self, problem, monkeypatch):
        """Of 15 neighbours that vote with their labels the ten nearest vote with beliefs, blocks of rows or not."""
        monkeypatch.setattr(votes, "QUERY_BLOCK", 33)
        made = problem(n=80)
        reference = np.sort(np.random.default_rng(0).choice(80, 40, replace=False))
        vote = best(made.x, made.noisy, 3, k=15, reference=reference)
        vote.everywhere(made.x, Progress(False))
        believed = np.random.default_rng(1).dirichlet(np.ones(3), size=80).astype(np.float32)
        expected = with_one_shared(believed, nearest(made.x, 10, reference))
        np.testing.assert_allclose(vote.of_beliefs(believed), expected, atol=1e-5)

    def test_where_fewer_neighbours_vote_so_many_do(self, problem):
        made = problem(n=80)
        vote = best(made.x, made.noisy, 3, k=4)
        vote.everywhere(made.x, Progress(False))
        believed = np.eye(3, dtype=np.float32)[made.truth]
        np.testing.assert_allclose(vote.of_beliefs(believed), with_one_shared(believed, nearest(made.x, 4)), atol=1e-5)

    def test_no_class_that_anybody_is_believed_to_be_of_has_probability_zero(self):
        """Four neighbours of class 0, and one vote more of which class 1 has its share of all that is believed."""
        x = (np.r_[np.zeros(15), np.full(5, 100.0)] + np.arange(20) * 1e-3)[:, None].astype(np.float32)
        truth = np.r_[np.zeros(15), np.ones(5)].astype(int)
        vote = best(x, truth, 2, k=4)
        vote.everywhere(x, Progress(False))
        np.testing.assert_allclose(vote.of_beliefs(np.eye(2, dtype=np.float32)[truth])[0], [0.95, 0.05], atol=1e-6)


class TestTheScale:
    def test_it_is_the_whole_where_both_are_equally_good(self):
        """Rows and their mirror images: all columns have one deviation, so both scales find the same neighbours."""
        rng = np.random.default_rng(0)
        half = rng.normal(size=(100, 2))
        x = np.concatenate([half, half[:, ::-1]])
        labels = (np.linalg.norm(x, axis=1) > 1).astype(int)
        assert best(x, labels, 2).scale.name == "whole"

    def test_it_is_the_whole_where_the_columns_are_better_by_chance_alone(self):
        """A column of larger scale that says as much: seeds decide which scale has the higher likelihood."""
        names, higher = set(), 0
        for seed in range(6):
            rng = np.random.default_rng(seed)
            labels = rng.integers(2, size=300)
            x = (rng.normal(size=(300, 2)) + 2 * labels[:, None]) * [1, 1.5]
            vote = best(x, labels, 2, k=10)
            names.add(vote.scale.name)
            by_columns = smoothed(labels, nearest(x / x.std(axis=0), 10), np.bincount(labels) / 300, 2)
            by_whole = smoothed(labels, nearest(x, 10), np.bincount(labels) / 300, 2)
            rows = np.arange(300)
            higher += np.log(by_columns[rows, labels]).mean() > np.log(by_whole[rows, labels]).mean()
        assert names == {"whole"}
        assert higher > 0

    def test_it_is_by_columns_where_one_of_huge_scale_and_no_meaning_drowns_the_others(self, problem):
        made = problem(n=200)
        noise = 1e4 * np.random.default_rng(0).normal(size=(200, 1))
        vote = best(np.column_stack([made.x, noise]), made.noisy, 3)
        assert vote.scale.name == "columns"

    def test_it_is_the_angle_where_long_texts_have_more_of_every_word(self):
        rng = np.random.default_rng(0)
        labels = rng.integers(4, size=600)
        words = rng.normal(size=(4, 20))[labels] + rng.normal(size=(600, 20))
        lengths = rng.uniform(1, 10, size=600)[:, None]
        assert best(words * lengths, labels, 4).scale.name == "unit"

    def test_many_small_columns_of_noise_are_left_small(self, problem):
        made = problem(n=200)
        noise = 1e-2 * np.random.default_rng(0).normal(size=(200, 60))
        assert best(np.column_stack([made.x, noise]), made.noisy, 3).scale.name == "whole"


class TestTheNumberOfNeighbours:
    def test_it_is_the_one_whose_votes_foresee_the_labels_best(self):
        rng = np.random.default_rng(3)
        labels = rng.integers(2, size=300)
        x = rng.normal(size=(300, 2)) + labels[:, None]
        base, rows = np.bincount(labels) / 300, np.arange(300)
        likelihood = {
            k: np.log(smoothed(labels, nearest(x, k), base, 2)[rows, labels]).mean() for k in (5, 10, 20, 40, 80)
        }
        vote = best(x, labels, 2)
        assert vote.scale.name == "whole"
        assert vote.k == max(likelihood, key=likelihood.get)

    @pytest.mark.parametrize(("k", "n", "expected"), [(7, 50, 7), (70, 50, 49), (None, 12, 5), (None, 2, 1)])
    def test_it_is_the_users_where_given_and_below_the_number_of_references(self, k, n, expected):
        x = np.arange(n)[:, None] * 1.0
        assert best(x, np.arange(n) % 2, 2, k=k).k == expected


class TestCopies:
    @pytest.fixture
    def twice(self, problem):
        """Points of which 30 are there a second time and one of them four times."""
        made = problem(n=200, rate=0.0, d=6)
        rows = np.r_[np.arange(200), np.arange(30), 0, 0]
        x = made.x[rows]
        return x, made.noisy[rows], find_copies({"x": x}), rows

    def test_no_copy_votes(self, twice):
        x, labels, copies, rows = twice
        vote = Vote.best(x, labels, np.arange(232), 3, 7, np.random.default_rng(0), copies)
        found = vote.neighbours(x, slice(0, 232))
        assert found.shape == (232, 7)
        assert (rows[found] != rows[:, None]).all()
        distances = np.linalg.norm(x[:, None].astype(float) - x[None], axis=2)
        distances[rows[:, None] == rows] = np.inf
        np.testing.assert_allclose(
            np.take_along_axis(distances, found, axis=1), np.sort(distances, axis=1)[:, :7], rtol=1e-4
        )

    def test_nor_one_outside_the_reference_is_voted_on_by_its_copies(self, twice):
        x, labels, copies, rows = twice
        vote = Vote.best(x, labels, np.arange(200), 3, 5, np.random.default_rng(0), copies)
        found = vote.neighbours(x, np.arange(200, 232))
        assert (rows[found] != rows[200:, None]).all()

    def test_a_copy_does_not_vouch_for_its_own_label(self, twice):
        """All of 31 copies have the same wrong label, and neighbours still say another."""
        x, labels, copies, rows = twice
        wrong = np.where(rows < 30, (labels + 1) % 3, labels)
        said = Vote.best(x, wrong, np.arange(232), 3, 3, np.random.default_rng(0), copies)
        alone = said.everywhere(x, Progress(False))[rows < 30]
        with_copies = Vote.best(x, wrong, np.arange(232), 3, 3, np.random.default_rng(0)).everywhere(x, Progress(False))
        copied = np.arange(len(alone)), wrong[rows < 30]
        assert alone[copied].mean() < with_copies[rows < 30][copied].mean() - 0.15

    def test_copies_elsewhere_change_nothing(self, problem):
        made = problem(n=150)
        nowhere = Copies(np.full(150, -1), np.zeros(0, dtype=bool), np.zeros(0))
        without, beside = (
            Vote.best(made.x, made.noisy, np.arange(150), 3, None, np.random.default_rng(0), copies)
            for copies in (None, nowhere)
        )
        assert (without.k, without.scale.name) == (beside.k, beside.scale.name)
        np.testing.assert_array_equal(*(vote.everywhere(made.x, Progress(False)) for vote in (without, beside)))
