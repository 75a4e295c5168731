import warnings
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neural_network import MLPClassifier

from truelabel import NPC, Predictions
from truelabel.calibrators.npc import ExpertPrior
from truelabel.calibrators.npc.given import Given
from truelabel.calibrators.npc.settings import Settings
from truelabel.experts import votes
from truelabel.experts.heads import HeadSettings
from truelabel.experts.panel import Panel, PanelSettings


def believe(said, seed=0, settings=None, **given):
    torch.manual_seed(seed)
    return ExpertPrior(settings).believe(Given(said, seed=seed, **given))


def right(belief, truth) -> float:
    return (belief.shares.argmax(axis=1) == truth).mean()


def honest(made) -> Predictions:
    return made.said.replace(probs=0.1 + 0.7 * np.eye(3)[made.truth])


@pytest.fixture
def heard(monkeypatch):
    """What the experts on the views say of the last belief asked for."""
    seen: dict[str, np.ndarray] = {}

    def spying(*arguments, ask=Panel.ask):
        panel = ask(*arguments)
        seen.update({" ".join(name): said for name, said in zip(panel.names, panel.foretold, strict=True)})
        return panel

    monkeypatch.setattr(Panel, "ask", spying)
    return seen


class TestTheBelief:
    def test_it_finds_the_truth_behind_noisy_labels(self, problem):
        made = problem()
        belief = believe(made.said)
        assert right(belief, made.truth) > 0.95
        np.testing.assert_allclose(belief.shares.sum(axis=1), 1, atol=1e-5)
        assert belief.facts["noise_rate"] == pytest.approx(made.moved.mean(), abs=0.08)
        low, high = belief.facts["noise_interval"]
        assert low < made.moved.mean() < high

    def test_it_knows_how_labels_come_out(self):
        """Labels of class 0 become 1, those of class 1 become 2, and the third class is spared."""
        rng = np.random.default_rng(0)
        truth = rng.permutation(np.repeat([0, 1, 2], [800, 400, 400]))
        noisy = np.where((rng.random(1600) < 0.3) & (truth < 2), truth + 1, truth)
        x = 6 * np.eye(3)[truth] + rng.normal(size=(1600, 3))
        belief = believe(Predictions(np.eye(3)[noisy], x, labels=noisy))
        # What goes one way is not quite told from what goes both: the upper end keeps the classes' shares.
        np.testing.assert_allclose(belief.transition, [[0.7, 0.3, 0], [0, 0.7, 0.3], [0, 0, 1]], atol=0.2)
        np.testing.assert_allclose(belief.noise.lower, [[0.7, 0.3, 0], [0, 0.7, 0.3], [0, 0, 1]], atol=0.06)
        np.testing.assert_allclose(belief.noise.shares, [0.5, 0.25, 0.25], atol=0.03)
        assert belief.facts["noise_rate"] == pytest.approx((noisy != truth).mean(), abs=0.05)

    def test_without_labels_the_predictions_take_their_place(self, problem):
        made = problem()
        belief = believe(made.said.replace(labels=None))
        assert right(belief, made.truth) > 0.95
        assert belief.facts["memorisation"] is None
        assert belief.facts["noise_rate"] == pytest.approx(made.moved.mean(), abs=0.08)
        assert belief.reliance == belief.facts["weights"]["classifier"] == 0

    def test_a_capped_reference_set_votes_for_all(self, problem):
        made = problem(n=500)
        belief = believe(made.said, settings=Settings(panel=PanelSettings(reference=100)))
        assert belief.facts["references"] == pytest.approx(100, abs=3)
        assert belief.shares.shape == (500, 3)
        assert right(belief, made.truth) > 0.95

    def test_without_features_it_says_what_is_missing(self):
        with pytest.raises(ValueError, match="needs features that did not see the noisy labels"):
            believe(Predictions([[0.9, 0.1], [0.2, 0.8]], labels=[0, 1]))


class TestSwitches:
    """Each part can be left out, and then is."""

    def test_denoise(self, problem):
        belief = believe(problem().said, settings=Settings(denoise=False))
        assert belief.facts["noise_rate"] == pytest.approx(0, abs=1e-9)
        np.testing.assert_array_equal(belief.transition, np.eye(3))

    def test_own_label(self, problem):
        """Scale, k and the heads' epochs are given, so that one label says nothing but of its own instance."""
        made = problem(n=150, rate=0.45, probs=np.full((150, 3), 1 / 3))
        heads = HeadSettings(epochs=1, least_steps=1)
        change = {}
        for own in (True, False):
            settings = Settings(panel=PanelSettings(k=5, heads=heads, swaps=False), rounds=0, own_label=own)
            flipped = made.noisy.copy()
            flipped[7] = (flipped[7] + 1) % 3
            pair = [believe(made.said.replace(labels=labels), settings=settings) for labels in (made.noisy, flipped)]
            change[own] = np.abs(pair[0].shares[7] - pair[1].shares[7]).max()
        assert change[True] > 5 * change[False]

    def test_rounds(self, problem, monkeypatch):
        asked = []
        monkeypatch.setattr(Panel, "vote_again", lambda *args, vote=Panel.vote_again: asked.append(0) or vote(*args))
        for rounds, calls in ((0, 0), (1, 2), (3, 4)):
            asked.clear()
            believe(problem().said, settings=Settings(rounds=rounds))
            assert len(asked) == calls

    def test_trust(self, problem):
        """A classifier that memorised is believed, or one that did not is not heard."""
        made = problem()
        whole = believe(made.said, settings=Settings(trust="whole"))
        judged = believe(made.said)
        none = believe(honest(made), settings=Settings(trust="none"))
        assert right(whole, made.noisy) > 0.95 > right(judged, made.noisy)
        assert whole.reliance > 0.5
        assert none.reliance == none.facts["weights"]["classifier"] == 0
        assert believe(honest(made)).reliance > 0.1

    def test_votes(self, problem, heard):
        belief = believe(problem().said, settings=Settings(panel=PanelSettings(votes=False)))
        assert list(heard) == ["features head"]
        assert "features vote" not in belief.facts["weights"]

    def test_swaps(self):
        x = np.random.default_rng(0).uniform(0, 3, size=(1500, 2)).astype(np.float32)
        truth, nearest = x[:, 0].astype(np.int64), np.clip(np.round(x[:, 0]), 1, 2)
        other = np.where(x[:, 0] < nearest, truth + 1, truth - 1)
        noisy = np.where(np.abs(x[:, 0] - nearest) < 0.3, other, truth)
        said = Predictions(np.eye(3)[noisy], x, labels=noisy)
        with_swaps, without = (
            believe(said, settings=Settings(panel=PanelSettings(swaps=swaps))) for swaps in (True, False)
        )
        assert with_swaps.swapped is not None
        assert without.swapped is None
        assert right(with_swaps, truth) > right(without, truth) + 0.2


class TestTheLabelTransition:
    T = np.array([[0.7, 0.3, 0.0], [0.0, 0.7, 0.3], [0.3, 0.0, 0.7]])

    def test_one_that_is_known_is_used(self, problem):
        """Labels go round the classes; six of a hundred labels are known to be wrong that nobody could foresee."""
        made = problem(n=200, rate=0)
        belief = believe(made.said, transition=self.T)
        np.testing.assert_array_equal(belief.transition, self.T)
        assert belief.facts["noise_rate"] == pytest.approx(0.3, abs=1e-6)
        assert belief.facts["noise_interval"] == pytest.approx((0.3, 0.3), abs=1e-6)

    def test_npc_hands_it_on_and_reports_it(self, problem):
        npc = NPC(label_transition=self.T, random_state=0, epochs=1, progress=False).fit(problem(n=90).said)
        np.testing.assert_array_equal(npc.transition_matrix_, self.T)
        assert npc.report_.noise_rate == pytest.approx(0.3, abs=1e-6)

    def test_it_is_checked(self, problem):
        for wrong, complaint in ((np.eye(2), "has shape"), (np.ones((3, 3)), "1 in sum")):
            npc = NPC(label_transition=wrong, progress=False)
            with pytest.raises(ValueError, match=f"label_transition.*{complaint}|{complaint}"):
                npc.fit(problem(n=90).said)
            assert not hasattr(npc, "network_")

    def test_where_most_labels_of_a_class_are_wrong_it_tells_what_they_hide(self):
        """Class 0 has the label 1 six times of ten, and class 1 always: only T can tell them apart."""
        rng = np.random.default_rng(0)
        truth = rng.permutation(np.arange(600) % 3)
        noisy = np.where((truth == 0) & (rng.random(600) < 0.6), 1, truth)
        x = 6 * np.eye(3)[truth] + rng.normal(size=(600, 3))
        said = Predictions(np.eye(3)[noisy], x, labels=noisy)
        transition = np.array([[0.4, 0.6, 0], [0, 1, 0], [0, 0, 1]])
        assert right(believe(said, transition=transition), truth) > 0.95 > right(believe(said), truth)


class TestTheSecondVote:
    """Neighbours vote once more, with what is believed of them."""

    @pytest.mark.parametrize("seed", [0, 1])
    def test_under_heavy_noise_it_finds_truth_that_the_first_missed(self, seed):
        """Digits, of which six labels in ten are drawn anew."""
        x, truth = load_digits(return_X_y=True)
        rng = np.random.default_rng(seed)
        rows = rng.choice(len(x), 800, replace=False)
        x, truth = x[rows], truth[rows]
        noisy = np.where(rng.random(800) < 0.6, rng.integers(10, size=800), truth)
        said = Predictions(np.eye(10)[noisy], x, labels=noisy)
        assert right(believe(said), truth) > right(believe(said, settings=Settings(rounds=0)), truth) + 0.02

    def test_known_classes_of_neighbours_are_heard(self, problem):
        """The ten nearest of an instance are looked up, and found to be of another class than all labels say."""
        made = problem(n=300)
        near = np.argsort(np.linalg.norm(made.x - made.x[0], axis=1))[1:11]
        known = np.full(300, -1)
        known[near] = (made.truth[0] + 1) % 3
        told = {"trusted": known, "sample": "picked"}
        again, once = (believe(made.said, settings=Settings(rounds=rounds), **told) for rounds in (3, 0))
        assert again.shares[0, made.truth[0]] < once.shares[0, made.truth[0]]

    def test_a_view_of_noise_has_no_vote(self, problem, monkeypatch):
        asked = []
        monkeypatch.setattr(
            votes.Vote, "of_beliefs", lambda vote, believed: asked.append(vote.scale.mean.shape) or believed
        )
        made = problem()
        views = {"noise": np.random.default_rng(0).normal(size=(300, 8)), "signal": made.x}
        believe(made.said.replace(features=views))
        assert set(asked) == {(4,)}

    def test_there_is_none_where_a_classifier_has_all_the_weight(self, problem, monkeypatch):
        made = problem(rate=0)
        monkeypatch.setattr(Panel, "weights", lambda panel, *_: np.eye(len(panel.names), dtype=np.float32)[-1])
        known = np.roll(made.truth, 1)
        belief = believe(made.said.replace(probs=0.02 + 0.94 * np.eye(3)[known], labels=known, out_of_sample=True))
        weights = belief.facts["weights"]
        assert weights == {"classifier": 1, "features vote": 0, "features head": 0}
        assert right(belief, known) == 1


class TestTheExperts:
    def test_no_one_sees_the_label_of_the_instance_it_is_asked_about(self, problem, heard, monkeypatch):
        """Scale, k and the heads' epochs are given: choosing them looks at all labels.

        One of the k + 1 votes is the share of each label in all, which an instance moves by 1/n.
        """
        monkeypatch.setattr(votes, "SCALES", ("whole",))
        quick = Settings(panel=PanelSettings(k=5, heads=HeadSettings(epochs=1, least_steps=1)))
        made = problem(n=100, probs=np.full((100, 3), 1 / 3))
        believe(made.said, settings=quick)
        before = dict(heard)
        assert set(before) == {"features vote", "features head"}
        for row in (0, 42, 99):
            flipped = made.noisy.copy()
            flipped[row] = (flipped[row] + 1) % 3
            believe(made.said.replace(labels=flipped), settings=quick)
            for name in before:
                np.testing.assert_allclose(heard[name][row], before[name][row], atol=1.01 / 100 / 6)
                assert np.abs(heard[name] - before[name]).max() > 1e-3

    def test_many_neighbours_vote_where_labels_are_noise_and_few_where_places_are_small(self):
        """Alternating stripes of twenty points each can only be told by few neighbours."""
        rng = np.random.default_rng(0)
        line = np.sort(rng.random(400))[:, None]
        stripes = (np.arange(400) // 20) % 2
        halves = np.where(rng.random(400) < 0.4, 1 - np.arange(400) // 200, np.arange(400) // 200)
        probs = np.full((400, 2), 0.5)
        few = believe(Predictions(probs, line, labels=stripes)).facts["k"]["features"]
        many = believe(Predictions(probs, line, labels=halves)).facts["k"]["features"]
        assert few <= 10
        assert many >= 40

    def test_k_is_the_users_where_given(self, problem):
        npc = NPC(k=3, random_state=0, epochs=1, progress=False).fit(problem(n=60).said)
        assert npc.report_.k == {"features": 3}

    def test_columns_of_different_units_are_brought_to_the_same_scale(self, problem):
        made = problem(n=200)
        units = np.column_stack([made.x, 1e4 * np.random.default_rng(0).normal(size=(200, 2))])
        belief = believe(made.said.replace(features=units))
        assert belief.facts["views"] == {"features": "columns"}
        assert belief.scales["features"].name == "columns"
        assert right(belief, made.truth) > 0.95


class TestTheClassifier:
    def test_who_memorised_is_hardly_heard(self, problem):
        made = problem(n=600)
        belief = believe(made.said)
        assert belief.facts["memorisation"] > 0.7
        assert belief.facts["weights"]["classifier"] < 0.15
        assert belief.reliance < 0.15
        assert belief.withheld is None

    def test_who_is_honest_and_in_sample_gets_up_to_two_thirds(self, problem):
        belief = believe(honest(problem()))
        weights = belief.facts["weights"]
        assert belief.facts["memorisation"] < 0.1
        assert weights["classifier"] > 0.2
        assert weights["classifier"] <= 2 / 3 * sum(weights.values()) + 1e-6
        assert belief.reliance <= weights["classifier"]

    def test_who_is_strong_and_out_of_sample_gets_the_weight_that_the_labels_choose(self, problem):
        made = problem()
        weak = 0.15 * made.x + np.random.default_rng(0).normal(size=made.x.shape)
        strong = np.full((300, 3), 0.15) + 0.55 * np.eye(3)[made.truth]
        belief = believe(made.said.replace(features=weak, probs=strong, out_of_sample=True))
        weights = belief.facts["weights"]
        assert weights["classifier"] > 0.5
        assert weights["classifier"] > 3 * max(w for name, w in weights.items() if name != "classifier")
        assert belief.named is not None  # it is always as sure
        assert belief.reliance > 0.5
        assert belief.facts["memorisation"] == 0
        assert right(belief, made.truth) > 0.93

    @pytest.mark.parametrize("outside", [False, True])
    def test_weights_above_one_make_the_start_no_surer_unless_it_is_known_to_be_right(self, outside, problem):
        """Flat probabilities get weight above one; from labels that the classifier saw, it is no evidence."""
        made = problem(rate=0)
        flat = np.full((300, 3), 0.3) + 0.1 * np.eye(3)[made.truth]
        belief = believe(made.said.replace(probs=flat, out_of_sample=outside))
        weights = belief.facts["weights"]
        total = sum(weights.values())
        assert total > 1.5
        started = belief.reliance + sum(weight for _, weight in belief.start.values())
        assert started == pytest.approx(total if outside else 1)
        assert belief.reliance / started == pytest.approx(weights["classifier"] / total)

    def test_who_is_weak_and_out_of_sample_gets_little(self, problem):
        made = problem()
        random = np.random.default_rng(0).dirichlet(np.ones(3), size=300)
        belief = believe(made.said.replace(probs=random, out_of_sample=True))
        weights = belief.facts["weights"]
        assert weights["classifier"] < 0.1 * sum(weights.values())
        assert right(belief, made.truth) > 0.95

    def test_who_half_memorised_gets_a_part(self, problem):
        made = problem(n=1500)
        half = np.where(made.moved & (np.arange(1500) % 2 == 0), made.noisy, made.truth)
        belief = believe(made.said.replace(probs=0.1 + 0.7 * np.eye(3)[half]))
        assert belief.facts["memorisation"] == pytest.approx(0.4, abs=0.1)
        assert belief.reliance < believe(honest(made)).reliance
        assert belief.facts["noise_rate"] == pytest.approx(made.moved.mean(), abs=0.06)

    def test_what_it_says_of_new_instances_shows_what_it_memorised(self, problem):
        """Two of three classes lie in each other. No label is wrong, and none can be known that was not seen."""
        rng = np.random.default_rng(0)
        labels = np.arange(900) % 3
        x = np.array([0.0, 1.0, 30.0])[labels, None] + rng.normal(size=(900, 1))
        nearest = np.abs(x - [0.0, 1.0, 30.0]).argmin(axis=1)
        memorised = Predictions(0.02 + 0.94 * np.eye(3)[labels], x, labels=labels)[:600]
        unlabelled = Predictions(0.02 + 0.94 * np.eye(3)[nearest], x)[600:]
        alone, shown = believe(memorised), believe(memorised, unlabelled=unlabelled)
        assert shown.facts["memorisation"] > alone.facts["memorisation"] + 0.2
        assert shown.facts["weights"]["classifier"] < alone.facts["weights"]["classifier"]

    def test_npc_checks_and_hands_on_unlabelled_predictions(self, problem):
        made, other = problem(n=90), problem(n=30, seed=1)
        npc = partial(NPC, random_state=0, epochs=1, progress=False)
        npc().fit(made.said, unlabelled=other.said.replace(labels=None))
        with pytest.raises(ValueError, match="unlabelled has the views"):
            npc().fit(made.said, unlabelled=other.said.replace(features=other.x[:, :2]))


class TestUselessFeatures:
    """A good classifier of digits whose labels are right, and features that know little or nothing."""

    @pytest.fixture(scope="class")
    @classmethod
    def digits(cls):
        x, y = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))
        x, y = x[order] / 16, y[order]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            network = MLPClassifier((64,), max_iter=30, random_state=0).fit(x[:900], y[:900])
        return x, y, network.predict_proba(x)

    @pytest.mark.parametrize("kind", ["random columns", "two principal components"])
    def test_they_leave_its_answers_alone(self, digits, kind):
        x, y, probs = digits
        random = np.random.default_rng(1).normal(size=(len(x), 8))
        features = random if kind == "random columns" else PCA(2, random_state=0).fit_transform(x)
        said = Predictions(probs, features, labels=y)
        npc = NPC(random_state=0, progress=False).fit(said[:900])
        before, after = ((one == y[900:]).mean() for one in (said[900:].hard, npc.predict(said[900:])))
        assert before > 0.9
        assert after > before - 0.01


class TestSeveralViews:
    def test_one_of_noise_gets_no_weight_and_is_left_out(self, problem):
        made = problem()
        views = {"noise": np.random.default_rng(0).normal(size=(300, 8)), "signal": made.x}
        belief = believe(made.said.replace(features=views))
        assert set(belief.scales) == set(belief.start) == {"signal"}
        assert belief.facts["weights"]["noise vote"] == belief.facts["weights"]["noise head"] == 0
        assert right(belief, made.truth) > 0.97

    def test_two_that_each_know_a_part_are_both_used(self):
        rng = np.random.default_rng(0)
        truth = rng.integers(4, size=500)
        views = {
            "half": rng.normal(size=(500, 2)) + 6 * (truth % 2)[:, None],
            "other half": rng.normal(size=(500, 2)) + 6 * (truth // 2)[:, None],
        }
        belief = believe(Predictions(np.eye(4)[truth], views, labels=truth))
        assert list(belief.scales) == list(belief.start) == list(views)
        assert right(belief, truth) > 0.95

    def test_a_head_starts_with_the_weight_of_all_experts_on_its_view(self, problem):
        made = problem()
        belief = believe(made.said.replace(features={"a": made.x[:, :2], "b": made.x[:, 1:]}))
        weights = belief.facts["weights"]
        total = max(1, sum(weights.values()))
        for name, (_, weight) in belief.start.items():
            assert weight == pytest.approx((weights[f"{name} vote"] + weights[f"{name} head"]) / total)

    @pytest.mark.parametrize("seed", [0, 1])
    def test_one_of_noise_does_no_damage(self, seed):
        """Blobs that overlap, 30 % wrong labels and a classifier that repeats them; judged on 2000 other instances."""
        rng = np.random.default_rng(seed)
        truth = rng.integers(4, size=3000)
        x = 2 * np.random.default_rng(99).normal(size=(4, 5))[truth] + rng.normal(size=(3000, 5))
        noisy = np.where(rng.random(3000) < 0.3, (truth + rng.integers(1, 4, size=3000)) % 4, truth)
        alone = Predictions(0.02 + 0.92 * np.eye(4)[noisy], {"signal": x}, labels=noisy)
        both = alone.replace(features={"noise": rng.normal(size=(3000, 20)), "signal": x})
        accuracy = {}
        for name, said in {"alone": alone, "both": both}.items():
            npc = NPC(random_state=0, progress=False).fit(said[:1000])
            accuracy[name] = (npc.predict(said[1000:]) == truth[1000:]).mean()
        assert 0.8 < accuracy["alone"] < 0.99
        assert accuracy["both"] > accuracy["alone"] - 0.005
        weights = npc.report_.weights
        assert weights["noise vote"] + weights["noise head"] < 0.1 * sum(weights.values())


def test_the_pace_is_full_where_a_fifth_of_the_labels_is_wrong_and_falls_with_the_square(problem):
    paces = [believe(problem(n=900, rate=rate).said) for rate in (0.3, 0.1, 0.0)]
    assert paces[0].pace == 1
    assert paces[1].pace == pytest.approx(0.25, abs=0.12)
    assert paces[2].pace == Settings().least_pace
    assert believe(problem(n=300, rate=0.1).said, settings=Settings(full_pace=1e-3)).pace == 1
