import numpy as np
import pytest

from truelabel import Predictions
from truelabel.calibrators.npc.memorisation import HiddenLayer, Judgement, discount, judge, trust_in

N, C = 1000, 4
TRUTH = np.arange(N) % C
WRONG = np.arange(N) % 5 == 0  # 200 labels of all classes
NOISY = np.where(WRONG, (TRUTH + 1) % C, TRUTH)
RIGHT = np.where(WRONG, 0.02, 0.9).astype(np.float32)  # the experts know
ALL_FINE = np.full(N, 0.9, dtype=np.float32)


def said(classes: np.ndarray, labels: np.ndarray = NOISY, **parts) -> Predictions:
    return Predictions(0.05 + 0.8 * np.eye(C)[classes], labels=labels, **parts)


def judgement(right, predictions, foretold=1.0, unseen=None, *, noise_rate=0.2, swaps=False) -> Judgement:
    """Judge a classifier; the experts had expected this share of the labels."""
    expected = np.arange(len(right)) % 100 < 100 * foretold
    layer = None if predictions.hidden is None else HiddenLayer(predictions, unseen)
    rng = np.random.default_rng(0)
    return judge(right, expected, predictions, layer, unseen, rng, noise_rate=noise_rate, swaps=swaps)


def foresees(hidden: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return HiddenLayer(said(labels, labels, hidden=hidden)).foresees(rows)


def contradicts(predictions: Predictions, believed: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    rows = np.arange(len(predictions)) if rows is None else rows
    return HiddenLayer(predictions).contradicts(predictions.hard, believed, rows)


def judged(right, predictions, unseen=None):
    return judgement(right, predictions, unseen=unseen)[:2]


def places(classes: np.ndarray, seed: int = 0) -> np.ndarray:
    """A hidden layer with one far away place for each class."""
    return 100 * np.eye(C)[classes] + np.random.default_rng(seed).normal(size=(len(classes), C))


class TestJudge:
    """200 of 1000 labels are surely wrong; what else is known counts as much as 10 of them."""

    def test_who_repeats_all_wrong_labels_memorised_and_deserves_no_trust(self):
        share, trust = judged(RIGHT, said(NOISY))
        assert share == pytest.approx((200 + 10 * 0.3) / 210)
        assert trust == 0

    def test_who_predicts_the_truth_memorised_nothing_and_is_trusted(self):
        share, trust = judged(RIGHT, said(TRUTH))
        assert share == pytest.approx((0 + 10 * 0.3) / 210)
        assert trust == 1

    def test_another_wrong_class_is_no_repetition(self):
        assert judged(RIGHT, said(np.where(WRONG, (TRUTH + 2) % C, TRUTH)))[0] == pytest.approx(3 / 210)

    def test_half_of_the_wrong_labels_repeated_is_a_part_of_the_trust(self):
        half = np.where(WRONG & (np.arange(N) % 2 == 0), NOISY, TRUTH)
        share, trust = judged(RIGHT, said(half))
        assert share == pytest.approx(103 / 210)
        assert trust == pytest.approx((0.7 - 103 / 210) / 0.3)

    def test_labels_that_may_be_right_say_nothing(self):
        """A probability of 0.1 is not below a tenth."""
        doubtful = np.where(WRONG, 0.1, 0.9)
        assert judged(doubtful, said(NOISY))[0] == pytest.approx(0.3)

    def test_where_labels_are_swapped_those_count_that_are_likelier_wrong_than_right(self):
        """Nothing is sure of a label that may have been swapped."""
        doubtful, likelier_right = np.where(WRONG, 0.4, 0.9), np.where(WRONG, 0.5, 0.9)
        assert judgement(doubtful, said(NOISY), swaps=True).memorised == pytest.approx((200 + 10 * 0.3) / 210)
        assert judgement(doubtful, said(NOISY)).memorised == pytest.approx(0.3)
        assert judgement(likelier_right, said(NOISY), swaps=True).memorised == pytest.approx(0.3)

    def test_without_evidence_of_any_kind_the_classifier_is_trusted(self):
        assert judged(ALL_FINE, said(NOISY)) == (pytest.approx(0.3), 1)

    def test_a_hidden_layer_that_foresees_the_labels_earns_trust(self):
        share, trust = judged(ALL_FINE, said(NOISY, hidden=places(NOISY)))
        assert (share, trust) == (0, 1)

    def test_a_hidden_layer_apart_from_the_labels_that_are_fitted_costs_all_trust(self):
        rng = np.random.default_rng(0)
        share, trust = judged(ALL_FINE, said(NOISY, hidden=rng.normal(size=(N, 3))))
        assert share > 0.9
        assert trust == 0

    def test_a_hidden_layer_that_knows_nothing_costs_trust_even_where_no_wrong_label_is_repeated(self):
        """Who fits the right labels alone, from a layer that foresees none, has its answers from elsewhere."""
        rng = np.random.default_rng(0)
        hidden = rng.normal(size=(N, 3))
        _, trust = judged(RIGHT, said(TRUTH, hidden=hidden))
        foreseen, fitted = foresees(np.float32(hidden), NOISY, np.arange(N)).mean(), np.mean(TRUTH == NOISY)
        base = float(np.square(np.bincount(NOISY) / N).sum())
        assert trust == pytest.approx(max(0, (foreseen - base) / (fitted - base)), abs=1e-6)
        assert trust < 0.1

    def test_the_hidden_layer_cannot_outvote_many_wrong_labels(self):
        """In a layer that holds the noisy labels apart, all of them are foreseen; and yet wrong ones are repeated."""
        share, trust = judged(RIGHT, said(NOISY, hidden=places(NOISY)))
        assert share == pytest.approx(200 / 210)
        assert trust == 0

    def test_what_the_hidden_layer_says_weighs_a_hundredth_of_all_instances(self):
        n = 3000
        right = np.where(np.arange(n) < 30, np.float32(0), np.float32(1))
        labels = np.arange(n) % C
        elsewhere = np.where(np.arange(n) < 30, (labels + 1) % C, labels)
        share, _ = judged(right, said(labels, labels, hidden=places(elsewhere)))
        presumed = 1.0  # what the layer does not foresee of the labels is fitted
        assert share == pytest.approx((30 + 30 * presumed) / (30 + 30))

    def test_a_few_labels_that_the_hidden_layer_foresees_are_excused(self):
        """Weak features may hold a right label wrong; the classifier that repeats it did not memorise it."""
        n = 3000
        labels = np.arange(n) % C
        few, many = (np.where(np.arange(n) < count, np.float32(0), np.float32(1)) for count in (150, 151))
        knows = said(labels, labels, hidden=places(labels))
        assert judged(few, knows) == (0, 1)
        assert judged(many, knows) == (pytest.approx(151 / (151 + 30)), 0)

    def test_instances_that_were_not_trained_on_are_not_judged(self):
        seen = np.arange(N) < 500
        unseen = np.flatnonzero(~seen)
        honest_elsewhere = said(np.where(seen, NOISY, TRUTH))
        assert judged(RIGHT, honest_elsewhere)[0] == pytest.approx((100 + 3) / 210)
        assert judged(RIGHT, honest_elsewhere, unseen) == (pytest.approx((100 + 3) / 110), 0)
        assert judged(RIGHT, said(np.where(seen, TRUTH, NOISY)), unseen) == (pytest.approx(3 / 110), 1)

    def test_the_hidden_layer_of_unseen_instances_is_not_looked_at(self):
        seen = np.arange(N) < 500
        rng = np.random.default_rng(0)
        hidden = np.where(seen[:, None], places(NOISY), 100 * rng.normal(size=(N, C)))
        assert judged(ALL_FINE, said(NOISY, hidden=hidden))[0] > 0.2
        assert judged(ALL_FINE, said(NOISY, hidden=hidden), np.flatnonzero(~seen)) == (0, 1)


class TestMostWeight:
    """The hidden layer foresees all labels, the experts a share of them."""

    @pytest.mark.parametrize(
        ("foretold", "most"), [(1.0, 1 / 3), (0.98, 4 / 9), (0.97, 1 / 2), (0.95, 11 / 18), (0.94, 2 / 3), (0.5, 2 / 3)]
    )
    def test_it_is_a_third_and_rises_to_two_thirds_with_what_the_hidden_layer_knows_more(self, foretold, most):
        found = judgement(ALL_FINE, said(NOISY, hidden=places(NOISY)), foretold)
        assert found.most == pytest.approx(most, abs=1e-6)

    def test_it_is_two_thirds_where_no_hidden_layer_tells(self):
        assert judgement(ALL_FINE, said(NOISY), 1.0).most == 2 / 3

    def test_it_is_a_third_where_the_experts_foresee_more(self):
        hidden = np.random.default_rng(0).normal(size=(N, 3))
        assert judgement(ALL_FINE, said(NOISY, hidden=hidden), 0.9).most == 1 / 3

    def test_what_experts_say_of_unseen_instances_does_not_count(self):
        unseen = np.arange(N // 2, N)
        expected = np.arange(N) < N // 2
        rng = np.random.default_rng(0)
        predictions = said(NOISY, hidden=places(NOISY))
        layer = HiddenLayer(predictions, unseen)
        assert judge(ALL_FINE, expected, predictions, layer, unseen, rng, noise_rate=0.2).most == 1 / 3
        assert judge(ALL_FINE, ~expected, predictions, layer, unseen, rng, noise_rate=0.2).most == 2 / 3


@pytest.mark.parametrize(
    ("noise_rate", "memorised", "trust"),
    [
        (0.0, 0.4, 1),
        (0.0, 0.5, 0.75),
        (0.1, 0.7, 0.25),
        (0.1, 0.8, 0),
        (0.2, 0.4, 1),
        (0.2, 0.55, 0.5),
        (0.2, 0.7, 0),
        (0.3, 0.4, 1),
        (0.3, 0.5, 0.5),
        (0.8, 0.55, 0.25),
        (0.8, 0.6, 0),
        (0.0, 1.0, 0),
    ],
)
def test_trust_ends_the_sooner_the_noisier_labels_are(noise_rate, memorised, trust):
    assert trust_in(memorised, noise_rate) == pytest.approx(trust)


class TestForesees:
    def test_it_is_the_majority_of_the_ten_nearest_others(self):
        rng = np.random.default_rng(1)
        labels = rng.integers(3, size=250)
        hidden = (rng.normal(size=(250, 5)) + labels[:, None]).astype(np.float32)
        rows = np.arange(0, 250, 3)
        expected = []
        for i in rows:
            distance = np.square(hidden - hidden[i]).sum(axis=1)
            distance[i] = np.inf
            votes = labels[np.argsort(distance)[:10]].tolist()
            expected.append(min(set(votes), key=lambda k: (-votes.count(k), k)) == labels[i])
        np.testing.assert_array_equal(foresees(hidden, labels, rows), expected)
        assert 0.5 < np.mean(expected) < 0.95

    def test_two_instances_vote_for_each_other(self):
        hidden = np.array([[0.0], [1.0]], dtype=np.float32)
        assert foresees(hidden, np.array([1, 1]), np.arange(2)).tolist() == [True, True]
        assert foresees(hidden, np.array([0, 1]), np.arange(2)).tolist() == [False, False]


class TestContradicts:
    def test_the_classifier_and_its_neighbours_together_contradict(self):
        believed = np.where(np.arange(N) % 10 == 0, (TRUTH + 2) % C, TRUTH)
        errs = believed != TRUTH
        found = contradicts(said(TRUTH, hidden=places(TRUTH)), believed)
        np.testing.assert_array_equal(found, errs)
        picked = np.array([0, 3, 10, 999])
        np.testing.assert_array_equal(contradicts(said(TRUTH, hidden=places(TRUTH)), believed, picked), errs[picked])

    def test_what_a_classifier_repeats_against_its_neighbours_is_no_contradiction(self):
        """But where half of an instance's ten neighbours are labelled wrong, too, as chance has it."""
        found = contradicts(said(NOISY, hidden=places(TRUTH)), TRUTH)
        assert not found[~WRONG].any()
        assert found[WRONG].mean() < 0.1

    def test_where_it_says_what_is_believed_nobody_is_asked(self):
        assert not contradicts(said(TRUTH, hidden=places(NOISY)), TRUTH).any()

    def test_unseen_instances_ask_the_seen_but_are_nobodys_neighbours(self):
        """Of two places one holds unseen instances only, and is the nearer one to all of them."""
        hidden = np.repeat([0.0, 1.0, 50.0], [20, 20, 20])[:, None] + 0.001 * np.arange(60)[:, None]
        labels = np.repeat([0, 1, 2], 20)
        layer = HiddenLayer(said(labels, labels, hidden=hidden), np.arange(20, 40))
        np.testing.assert_array_equal(layer.voted(np.arange(60)), np.repeat([0, 0, 2], 20))


class TestDiscount:
    PROBS = np.array([[0.96, 0.03, 0.01], [0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])

    def test_a_label_stands_against_the_next_class_with_at_most_one_to_m(self):
        found = discount(self.PROBS, np.array([0, 0, 0]), 0.5)
        np.testing.assert_allclose(found[0], np.array([0.06, 0.03, 0.01]) / 0.1, rtol=1e-6)
        np.testing.assert_allclose(found[1:], self.PROBS[1:], rtol=1e-6)

    def test_a_classifier_that_contradicts_the_label_is_left_alone(self):
        np.testing.assert_allclose(discount(self.PROBS, np.array([1, 2, 2]), 0.9), self.PROBS, rtol=1e-6)

    def test_nothing_memorised_is_nothing_taken_off(self):
        np.testing.assert_allclose(discount(self.PROBS, np.array([0, 0, 1]), 0.0), self.PROBS, rtol=1e-5)

    def test_all_memorised_leaves_the_label_no_better_than_the_next_class(self):
        found = discount(np.array([[1.0, 0.0], [0.3, 0.7]]), np.array([0, 1]), 1.0)
        np.testing.assert_allclose(found, 0.5, rtol=1e-6)
