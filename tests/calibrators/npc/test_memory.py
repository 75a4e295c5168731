"""How far a classifier repeats wrong labels, and whether it knows more than the experts."""

import numpy as np
import pytest

from truelabel import Predictions
from truelabel.calibrators.npc.memory import Memory, MemorySettings, foreseen, judge, repeated, weight_of_worse

N, C = 1000, 4
TRUTH = np.arange(N) % C
WRONG = np.arange(N) % 5 == 0  # 200 labels of all classes
NOISY = np.where(WRONG, (TRUTH + 1) % C, TRUTH)
SURE = np.where(WRONG, 0.999, 0.001).astype(np.float32)  # the experts know which labels are wrong
NONE = np.full(N, 1e-6, dtype=np.float32)


def said(classes: np.ndarray, labels: np.ndarray = NOISY, **parts) -> Predictions:
    return Predictions(0.05 + 0.8 * np.eye(C)[classes], labels=labels, **parts)


def judged(wrong, predictions, guessed=TRUTH, unseen=None, expected=1.0, proven=True, **settings) -> Memory:
    contradicts = settings.pop("contradicts", None)
    rng = np.random.default_rng(0)
    with_settings = MemorySettings(**settings)
    rate = float(wrong.mean())
    parts = {"expected": expected, "noise_rate": rate, "proven": proven, "contradicts": contradicts}
    return judge(wrong, guessed, predictions, unseen, rng, with_settings, **parts)


def places(classes: np.ndarray, seed: int = 0) -> np.ndarray:
    """A hidden layer with one far away place for each class."""
    return 100 * np.eye(C)[classes] + np.random.default_rng(seed).normal(size=(len(classes), C))


class TestWrongLabels:
    """200 of 1000 labels are surely wrong; the presumption that none is repeated counts as much as 10."""

    def test_who_repeats_them_all_memorised(self):
        found = judged(SURE, said(NOISY))
        assert found.share == pytest.approx(200 / 210, abs=0.01)
        assert found.trust == pytest.approx(0, abs=0.01)
        assert found.most < 0.1

    def test_who_predicts_the_truth_memorised_nothing(self):
        found = judged(SURE, said(TRUTH))
        assert found.share == pytest.approx(0, abs=0.01)
        assert found.trust == pytest.approx(1, abs=0.05)
        assert found.most > 1

    def test_memory_that_damaged_little_beside_what_experts_miss_is_forgiven(self):
        trust = [judged(SURE, said(NOISY), expected=expected).trust for expected in (0.9, 0.7, 0.3)]
        assert trust[0] < 0.1 < trust[1] < trust[2]

    def test_another_wrong_class_is_no_repetition(self):
        assert judged(SURE, said(np.where(WRONG, (TRUTH + 2) % C, TRUTH))).share == pytest.approx(0, abs=0.01)

    def test_who_repeats_half_of_them_has_memorised_half(self):
        half = np.where(WRONG & (np.arange(N) % 2 == 0), NOISY, TRUTH)
        assert judged(SURE, said(half)).share == pytest.approx(100 / 210, abs=0.02)

    def test_where_no_label_is_wrong_the_presumption_stands(self):
        assert judged(NONE, said(NOISY)).share == pytest.approx(0, abs=0.01)
        assert judged(NONE, said(NOISY), presumed=0.4).share == pytest.approx(0.4, abs=0.01)

    def test_a_heavier_presumption_takes_more_wrong_labels_to_outweigh(self):
        light, heavy = (judged(SURE, said(NOISY), weight=weight).share for weight in (0.01, 0.5))
        assert heavy == pytest.approx(200 / 700, abs=0.02)
        assert heavy < light

    def test_noise_that_is_not_proven_by_its_form_weighs_less(self):
        proven, assumed = (judged(SURE, said(NOISY), proven=proven).share for proven in (True, False))
        assert assumed < proven - 0.05

    def test_instances_that_were_not_trained_on_are_not_judged(self):
        seen = np.arange(N) < 500
        unseen = np.flatnonzero(~seen)
        honest_elsewhere = said(np.where(seen, NOISY, TRUTH))
        assert judged(SURE, honest_elsewhere).share == pytest.approx(100 / 210, abs=0.02)
        assert judged(SURE, honest_elsewhere, unseen=unseen).share == pytest.approx(100 / 105, abs=0.02)
        assert judged(SURE, said(np.where(seen, TRUTH, NOISY)), unseen=unseen).share == pytest.approx(0, abs=0.01)


class TestRepeated:
    @pytest.mark.parametrize("share", [0.0, 0.25, 0.6, 1.0])
    def test_it_is_the_share_that_labels_were_repeated_with_though_none_is_surely_wrong(self, share):
        """Labels that are wrong with one chance of two, or none; right ones are repeated nine times of ten."""
        rng = np.random.default_rng(0)
        chance = rng.choice([0.05, 0.5, 0.8], size=40_000)
        wrong = rng.random(40_000) < chance
        fits = rng.random(40_000) < np.where(wrong, share, 0.9)
        assert repeated(chance, fits, 0.0, 1.0) == (pytest.approx(share, abs=0.05), pytest.approx(0.9, abs=0.02))

    @pytest.mark.parametrize("presumed", [0.0, 0.5, 1.0])
    def test_wrong_labels_move_it_whatever_was_presumed(self, presumed):
        """From an end, too, that a share that is multiplied would never leave."""
        for fits in (True, False):
            found, _ = repeated(np.full(1000, 0.99), np.full(1000, fits), presumed, 10.0)
            assert found == pytest.approx(float(fits), abs=0.03)


class TestForeseen:
    """Labels a share of which is memorised; it would say half of the rest. The experts foresee three of ten."""

    @staticmethod
    def found(memorised: float, chance_of_wrong: float = 0.4) -> float:
        rng = np.random.default_rng(0)
        wrong = rng.random(20_000) < chance_of_wrong
        fits = (rng.random(20_000) < memorised) | (~wrong & (rng.random(20_000) < 0.5 / (1 - chance_of_wrong)))
        return foreseen(np.where(wrong, 0.9, 0.1), fits, 0.3)

    def test_who_memorised_nothing_foresees_what_it_says(self):
        assert self.found(0.0) == pytest.approx(0.2, abs=0.06)

    def test_of_what_is_memorised_nothing_is_known(self):
        assert 0 < self.found(0.5) < 0.8 * self.found(0.0)
        assert self.found(0.99) < 0.01

    def test_few_labels_prove_nothing(self):
        fits = np.arange(20) % 5 > 0
        assert foreseen(np.full(20, 0.4), fits, 0.3) <= 0


class TestWeightOfWorse:
    def test_one_as_good_has_all_the_weight_and_much_worse_ones_none(self):
        assert weight_of_worse(0, 0.7) == pytest.approx(1)
        assert weight_of_worse(1.1, 0.7) == 0

    def test_it_is_the_weight_of_least_variance(self):
        for more, shared in ((0.3, 0.5), (0.6, 0.2), (0.1, 0.7)):
            weights = np.linspace(0, 0.5, 5001)
            covariance = shared * np.sqrt(1 + more)
            variance = (1 - weights) ** 2 + weights**2 * (1 + more) + 2 * weights * (1 - weights) * covariance
            assert weight_of_worse(more, shared) == pytest.approx(2 * weights[variance.argmin()], abs=1e-3)


class TestTheHiddenLayer:
    def test_one_that_foresees_the_labels_is_no_sign_of_memory(self):
        assert judged(NONE, said(NOISY, hidden=places(NOISY))).share == pytest.approx(0, abs=0.01)

    def test_one_apart_from_the_labels_that_are_fitted_is_a_sign(self):
        hidden = np.random.default_rng(0).normal(size=(N, 3))
        assert judged(NONE, said(NOISY, hidden=hidden)).share > 0.9

    def test_it_cannot_outvote_many_wrong_labels(self):
        """In a layer that holds the noisy labels apart, all of them are foreseen; and yet wrong ones are repeated."""
        assert judged(SURE, said(NOISY, hidden=places(NOISY))).share == pytest.approx(200 / 210, abs=0.01)

    def test_that_of_unseen_instances_is_not_looked_at(self):
        seen = np.arange(N) < 500
        elsewhere = 100 * np.random.default_rng(0).normal(size=(N, C))
        predictions = said(NOISY, hidden=np.where(seen[:, None], places(NOISY), elsewhere))
        assert judged(NONE, predictions).share > 0.2
        assert judged(NONE, predictions, unseen=np.flatnonzero(~seen)).share == pytest.approx(0, abs=0.01)

    def test_what_it_foresees_is_the_majority_of_the_ten_nearest_others(self):
        """No label is wrong, so that what is presumed from the layer is what comes out."""
        rng = np.random.default_rng(1)
        labels = rng.integers(3, size=250)
        hidden = (rng.normal(size=(250, 5)) + labels[:, None]).astype(np.float32)
        foreseen = []
        for i in range(250):
            distance = np.square(hidden - hidden[i]).sum(axis=1)
            distance[i] = np.inf
            votes = labels[np.argsort(distance)[:10]].tolist()
            foreseen.append(min(set(votes), key=lambda k: (-votes.count(k), k)) == labels[i])
        predictions = Predictions(np.eye(3)[labels], labels=labels, hidden=hidden)
        found = judged(np.full(250, 1e-9), predictions, guessed=labels)
        knows = np.mean(foreseen)
        assert 0.5 < knows < 0.95
        assert found.share == pytest.approx((1 - knows) / (1 - knows), abs=0.01)
        half = judged(
            np.full(250, 1e-9), predictions.replace(probs=np.eye(3)[(labels + ~np.array(foreseen)) % 3]), labels
        )
        assert half.share == pytest.approx(0, abs=0.01)


class TestNewInstances:
    """How often it contradicts the experts on instances whose label it has seen, and on others."""

    @pytest.mark.parametrize(("contradicts", "share"), [((0.2, 0.05), 0.75), ((0.2, 0.2), 0), ((0.2, 0.3), 0)])
    def test_what_it_says_against_the_experts_only_where_it_saw_the_label_is_memory(self, contradicts, share):
        assert judged(NONE, said(NOISY), contradicts=contradicts).share == pytest.approx(share, abs=0.01)

    def test_they_do_not_excuse_wrong_labels_that_are_repeated(self):
        assert judged(SURE, said(NOISY), contradicts=(0.2, 0.2)).share > 0.9

    def test_who_contradicts_nobody_is_not_judged_by_it(self):
        assert judged(NONE, said(NOISY), contradicts=(0.0, 0.1)).share == pytest.approx(0, abs=0.01)


class TestKnowingMore:
    """The classifier says all labels, none of which is wrong; the experts expect a share of them."""

    @staticmethod
    def knows(foretold: float, expected: float | None = None, **settings) -> float:
        guessed = np.where(np.arange(N) % 100 < round(100 * foretold), TRUTH, (TRUTH + 1) % C)
        expected = foretold if expected is None else expected
        return judged(NONE, said(TRUTH, TRUTH), guessed, expected=expected, proven=False, **settings).knows_more

    @pytest.mark.parametrize(("foretold", "more"), [(1.0, 0), (0.97, 0.5), (0.94, 1), (0.5, 1)])
    def test_it_rises_with_what_it_foresees_beyond_the_experts(self, foretold, more):
        assert self.knows(foretold) == pytest.approx(more, abs=0.01)

    @pytest.mark.parametrize(("expected", "more"), [(0.6, 1), (0.57, 0.5), (0.54, 0), (0.3, 0)])
    def test_who_agrees_with_the_experts_more_often_than_they_are_right_has_learned_their_mistakes(
        self, expected, more
    ):
        assert self.knows(0.6, expected) == pytest.approx(more, abs=0.01)

    def test_how_much_more_is_enough_can_be_set(self):
        assert self.knows(0.97, knows_more=0.03) == pytest.approx(1, abs=0.01)

    def test_who_memorised_knows_nothing_more_by_it(self):
        """All labels are fitted, the wrong ones from memory, and the experts expect the right ones."""
        assert judged(SURE, said(NOISY), expected=1.0).knows_more < 0.05

    def test_a_hidden_layer_tells_what_it_knows(self):
        guessed = np.where(np.arange(N) % 2 == 0, TRUTH, (TRUTH + 1) % C)
        knows, fits = (
            judged(NONE, said(TRUTH, TRUTH, hidden=hidden), guessed, expected=0.5, proven=False).knows_more
            for hidden in (places(TRUTH), np.random.default_rng(0).normal(size=(N, 3)))
        )
        assert knows == pytest.approx(1, abs=0.01)
        assert fits == pytest.approx(0, abs=0.01)
