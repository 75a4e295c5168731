import functools

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from truelabel import NPC, Predictions
from truelabel.calibrators.npc import ExpertPrior, expert_prior, votes
from truelabel.calibrators.npc.expert_prior import heeded, in_sample
from truelabel.calibrators.npc.heads import HeadSettings
from truelabel.calibrators.npc.memorisation import HiddenLayer, Judgement
from truelabel.progress import Progress


def believe(said, seed=0, k=None, reference=50_000, **settings):
    torch.manual_seed(seed)
    prior = ExpertPrior(k=k, reference=reference)
    return prior.believe(said, device=torch.device("cpu"), seed=seed, progress=Progress(False), **settings)


def right(belief, truth) -> float:
    return (belief.shares.argmax(axis=1) == truth).mean()


@pytest.fixture
def heard(monkeypatch):
    """What the experts on the views say, as they are pooled, of the last belief asked for."""
    seen: dict[str, list[np.ndarray]] = {}

    def spying(*arguments, ask=ExpertPrior._ask, **settings):
        experts = ask(*arguments, **settings)
        seen.update({" ".join(name): said for name, said in zip(experts.names, experts.said, strict=True)})
        return experts

    monkeypatch.setattr(ExpertPrior, "_ask", spying)
    return seen


class TestTheBelief:
    def test_it_finds_the_truth_behind_noisy_labels(self, problem):
        made = problem()
        belief = believe(made.said)
        assert right(belief, made.truth) > 0.95
        np.testing.assert_allclose(belief.shares.sum(axis=1), 1, atol=1e-5)
        assert belief.facts["noise_rate"] == pytest.approx(made.moved.mean(), abs=0.08)

    def test_it_knows_how_labels_come_out(self):
        """Labels of class 0 become 1, those of class 1 become 2, and the third class is spared."""
        rng = np.random.default_rng(0)
        truth = rng.permutation(np.repeat([0, 1, 2], [800, 400, 400]))
        noisy = np.where((rng.random(1600) < 0.3) & (truth < 2), truth + 1, truth)
        x = 6 * np.eye(3)[truth] + rng.normal(size=(1600, 3))
        belief = believe(Predictions(np.eye(3)[noisy], x, labels=noisy))
        np.testing.assert_allclose(belief.transition, [[0.7, 0.3, 0], [0, 0.7, 0.3], [0, 0, 1]], atol=0.06)
        np.testing.assert_allclose(belief.class_shares, [0.5, 0.25, 0.25], atol=0.02)
        assert belief.facts["noise_rate"] == pytest.approx((noisy != truth).mean(), abs=0.05)

    def test_without_labels_the_predictions_take_their_place(self, problem):
        made = problem()
        belief = believe(made.said.replace(labels=None))
        assert right(belief, made.truth) > 0.95
        assert belief.facts["memorisation"] is None
        assert belief.facts["noise_rate"] == pytest.approx(made.moved.mean(), abs=0.08)
        assert belief.trust == belief.facts["weights"]["classifier"] == 0

    def test_a_capped_reference_set_votes_for_all(self, problem):
        made = problem(n=500)
        belief = believe(made.said, reference=100)
        assert belief.facts["references"] == pytest.approx(100, abs=3)
        assert belief.shares.shape == (500, 3)
        assert right(belief, made.truth) > 0.95

    def test_without_features_it_says_what_is_missing(self):
        with pytest.raises(ValueError, match="needs features that did not see the noisy labels"):
            believe(Predictions([[0.9, 0.1], [0.2, 0.8]], labels=[0, 1]))


class TestTheSecondVote:
    """Neighbours vote once more, with what is believed of them."""

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_under_heavy_noise_it_finds_truth_that_the_first_missed(self, seed, monkeypatch):
        """Digits, of which six labels in ten are drawn anew."""
        x, truth = load_digits(return_X_y=True)
        rng = np.random.default_rng(seed)
        rows = rng.choice(len(x), 800, replace=False)
        x, truth = x[rows], truth[rows]
        noisy = np.where(rng.random(800) < 0.6, rng.integers(10, size=800), truth)
        said = Predictions(np.eye(10)[noisy], x, labels=noisy)
        twice = right(believe(said), truth)
        monkeypatch.setattr(expert_prior, "ROUNDS", 0)
        assert twice > right(believe(said), truth) + 0.02

    def test_known_classes_of_neighbours_are_heard(self, problem, monkeypatch):
        """The ten nearest of an instance are looked up, and found to be of another class than all labels say."""
        made = problem(n=300, rate=0)
        near = np.argsort(np.linalg.norm(made.x - made.x[0], axis=1))[1:11]
        known = np.full(300, -1)
        known[near] = (made.truth[0] + 1) % 3
        heard = believe(made.said, known=known).shares[0, made.truth[0]]
        monkeypatch.setattr(expert_prior, "ROUNDS", 0)
        assert heard < believe(made.said, known=known).shares[0, made.truth[0]]

    def test_a_view_of_noise_has_no_vote(self, problem, monkeypatch):
        asked = []
        monkeypatch.setattr(
            votes.Vote, "of_beliefs", lambda vote, believed: asked.append(vote.scale.mean.shape) or believed
        )
        made = problem()
        views = {"noise": np.random.default_rng(0).normal(size=(300, 8)), "signal": made.x}
        believe(made.said.replace(features=views))
        assert asked == [(4,)] * expert_prior.ROUNDS

    def test_there_is_none_where_a_classifier_has_all_the_weight(self, problem, monkeypatch):
        made = problem(rate=0)
        monkeypatch.setattr(expert_prior, "likelihood_weights", lambda said, labels: np.eye(len(said))[-1])
        known = np.roll(made.truth, 1)
        belief = believe(made.said.replace(probs=0.02 + 0.94 * np.eye(3)[known], labels=known, out_of_sample=True))
        weights = belief.facts["weights"]
        assert weights == {"classifier": 1, "features vote": 0, "features head": 0}
        assert right(belief, known) == 1

    @pytest.mark.parametrize(("foresees", "part"), [(0.83, 0.5), (0.8, 0.5), (0.75, 0.25), (0.7, 0), (0.4, 0)])
    def test_it_is_heard_the_less_the_fewer_labels_it_foresees(self, foresees, part):
        assert heeded(0.8, foresees) == pytest.approx(part)

    def test_neighbours_of_other_classes_are_not_heard(self, monkeypatch):
        """Points in twenty dimensions, classes by distance from the middle: heads see them, neighbours do not."""
        rng = np.random.default_rng(0)
        x = rng.normal(size=(1200, 20))
        truth = (np.linalg.norm(x, axis=1) > np.sqrt(19.4)).astype(int)
        noisy = np.where(rng.random(1200) < 0.2, 1 - truth, truth)
        said = Predictions(np.eye(2)[noisy], np.column_stack([x, np.square(x)]), labels=noisy)
        heard = right(believe(said), truth)
        monkeypatch.setattr(expert_prior, "MISSED", np.inf)
        assert heard > right(believe(said), truth) + 0.02


class TestThePace:
    @pytest.mark.parametrize("rate", [0.3, 0.45])
    def test_it_is_full_where_a_fifth_of_the_labels_or_more_is_wrong(self, rate, problem):
        assert believe(problem(rate=rate).said).pace == 1

    def test_it_is_tiny_where_labels_are_clean(self, problem):
        belief = believe(problem(rate=0).said)
        assert belief.facts["noise_rate"] < 0.005
        assert 0 <= belief.pace < 0.001

    def test_it_is_a_quarter_at_half_that_noise(self, problem):
        belief = believe(problem(n=1500, rate=0.1).said)
        assert belief.facts["noise_rate"] == pytest.approx(0.1, abs=0.02)
        assert belief.pace == pytest.approx(0.25, abs=0.1)
        assert belief.pace == pytest.approx(25 * belief.facts["noise_rate"] ** 2)


class TestTheExperts:
    def test_no_one_sees_the_label_of_the_instance_it_is_asked_about(self, problem, heard, monkeypatch):
        """Scale, k and the heads' epochs are given: choosing them looks at all labels.

        One of the k + 1 votes is the share of each label in all, which an instance moves by 1/n.
        """
        monkeypatch.setattr(votes, "SCALES", ("whole",))
        settings = HeadSettings(epochs=1, least_steps=1)
        short = functools.partial(expert_prior.out_of_fold, settings=settings)
        monkeypatch.setattr(expert_prior, "out_of_fold", short)
        made = problem(n=100, probs=np.full((100, 3), 1 / 3))
        believe(made.said, k=5)
        before = dict(heard)
        assert set(before) == {"features vote", "features head"}
        for row in (0, 42, 99):
            flipped = made.noisy.copy()
            flipped[row] = (flipped[row] + 1) % 3
            believe(made.said.replace(labels=flipped), k=5)
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
        assert believe(problem(n=60).said, k=3).facts["k"] == {"features": 3}

    def test_more_neighbours_than_references_all_vote(self, problem):
        belief = believe(problem(n=100).said, k=70, reference=40)
        assert belief.facts["k"]["features"] < belief.facts["references"] <= 42
        assert np.isfinite(belief.shares).all()

    def test_columns_of_different_units_are_brought_to_the_same_scale(self, problem):
        made = problem(n=200)
        units = np.column_stack([made.x, 1e4 * np.random.default_rng(0).normal(size=(200, 2))])
        belief = believe(made.said.replace(features=units))
        assert belief.facts["views"] == {"features": "columns"}
        assert belief.scales["features"].name == "columns"
        assert right(belief, made.truth) > 0.95


class TestTheClassifier:
    def test_who_memorised_gets_no_weight(self, problem):
        made = problem(n=600)
        belief = believe(made.said)
        assert belief.facts["memorisation"] > 0.9
        assert belief.facts["weights"]["classifier"] == 0
        assert belief.trust == 0
        assert belief.withheld is None

    def test_who_is_honest_and_in_sample_gets_up_to_two_thirds(self, problem, monkeypatch):
        chosen = []

        def spying(experts, labels, weights=expert_prior.likelihood_weights):
            chosen.append(weights(experts, labels))
            return chosen[-1]

        monkeypatch.setattr(expert_prior, "likelihood_weights", spying)
        made = problem()
        belief = believe(made.said.replace(probs=0.1 + 0.7 * np.eye(3)[made.truth]))
        weights = belief.facts["weights"]
        assert belief.facts["memorisation"] < 0.1
        assert belief.trust == weights["classifier"] > 0.3
        assert weights["classifier"] <= 2 / 3 * sum(weights.values()) + 1e-6
        without, joint = chosen
        assert (len(without), len(joint)) == (2, 3)
        assert sum(weights.values()) == pytest.approx(without.sum(), rel=1e-5)

    def test_who_is_strong_and_out_of_sample_gets_the_weight_that_the_labels_choose(self, problem):
        made = problem()
        weak = 0.15 * made.x + np.random.default_rng(0).normal(size=made.x.shape)
        strong = np.full((300, 3), 0.15) + 0.55 * np.eye(3)[made.truth]
        belief = believe(made.said.replace(features=weak, probs=strong, out_of_sample=True))
        weights = belief.facts["weights"]
        assert weights["classifier"] > 0.5
        assert weights["classifier"] > 3 * max(w for name, w in weights.items() if name != "classifier")
        assert belief.trust == weights["classifier"]
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
        started = belief.trust + sum(weight for _, weight in belief.start.values())
        assert started == pytest.approx(total if outside else 1)
        assert belief.trust / started == pytest.approx(weights["classifier"] / total)

    def test_the_more_it_memorised_the_less_it_is_heard_in_counting(self, problem, monkeypatch):
        """It objects to every wrong label, so that T would be the identity if nobody else were heard."""
        made = problem()
        said = made.said.replace(hidden=made.x)
        monkeypatch.setattr(HiddenLayer, "contradicts", lambda *args: (made.noisy != made.truth)[args[-1]])

        def counted(memorised):
            monkeypatch.setattr(expert_prior, "judge", lambda *_, **__: Judgement(memorised, 1.0, 0.5))
            return believe(said).transition

        full, half, none = counted(0.1), counted(0.2), counted(0.3)
        assert np.diag(full).min() > 0.95
        assert np.diag(none).max() < 0.9
        np.testing.assert_allclose(half, (full + none) / 2)

    def test_who_is_weak_and_out_of_sample_gets_little(self, problem):
        made = problem()
        random = np.random.default_rng(0).dirichlet(np.ones(3), size=300)
        belief = believe(made.said.replace(probs=random, out_of_sample=True))
        weights = belief.facts["weights"]
        assert weights["classifier"] < 0.1 * sum(weights.values())
        assert right(belief, made.truth) > 0.95

    def test_who_half_memorised_gets_a_part(self, problem):
        """Of the labels that are surely wrong it repeats about a half, so that trust is between its ends."""
        made = problem(n=1500)
        half = np.where(made.moved & (np.arange(1500) % 2 == 0), made.noisy, made.truth)
        honest = believe(made.said.replace(probs=0.1 + 0.7 * np.eye(3)[made.truth]))
        belief = believe(made.said.replace(probs=0.1 + 0.7 * np.eye(3)[half]))
        assert belief.facts["memorisation"] == pytest.approx(0.5, abs=0.08)
        assert 0.05 < belief.trust < 0.9 * honest.trust
        assert belief.facts["noise_rate"] == pytest.approx(made.moved.mean(), abs=0.04)


class TestInSampleWeights:
    """Two experts and the classifier, last. The experts alone have 0.6 and 0.4, which is 1 in all."""

    ALONE = np.array([0.6, 0.4], dtype=np.float32)

    @pytest.mark.parametrize(
        ("joint", "most", "expected"),
        [
            ([0.5, 0.25, 0.25], 2 / 3, [0.5, 0.25, 0.25]),
            ([1.0, 0.5, 0.5], 2 / 3, [0.5, 0.25, 0.25]),  # twice as sharp: halved
            ([0.2, 0.2, 0.4], 1 / 2, [0.25, 0.25, 0.5]),
            ([0.0, 0.0, 3.0], 2 / 3, [0.2, 0.4 / 3, 2 / 3]),  # too much: the experts as they are alone
            ([0.0, 0.2, 0.8], 1 / 2, [0.225, 0.275, 0.5]),  # 5/8 of the joint ones, 3/8 of the experts alone
            ([0.7, 0.7, 0.0], 1 / 2, [0.5, 0.5, 0.0]),
            ([0.0, 0.0, 0.0], 1 / 2, [0.0, 0.0, 0.0]),
        ],
    )
    def test_they_are_the_joint_ones_as_far_as_the_classifier_may_be_heard(self, joint, most, expected):
        found = in_sample(np.array(joint, dtype=np.float32), self.ALONE, most)
        np.testing.assert_allclose(found, expected, atol=1e-6)

    def test_a_classifier_that_is_barely_too_loud_changes_little(self):
        joint = np.array([0.5, 0.0, 0.501], dtype=np.float32)
        np.testing.assert_allclose(in_sample(joint, self.ALONE, 0.5), [0.5, 0.0, 0.5], atol=2e-3)

    @pytest.mark.parametrize("total", [0.1, 1.0, 3.7])
    def test_their_sum_is_that_of_the_experts_and_the_classifier_has_no_more_than_is_allowed(self, total):
        rng = np.random.default_rng(0)
        for most in rng.uniform(0.4, 0.8, size=50):
            joint, without = rng.gamma(0.5, size=5), rng.gamma(0.5, size=4)
            without *= total / without.sum()
            found = in_sample(joint, without, most)
            assert found.sum() == pytest.approx(total, rel=1e-5)
            assert found[-1] <= most * total + 1e-6
            assert (found >= 0).all()


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
        for name, (_, weight) in belief.start.items():
            assert weight == pytest.approx(weights[f"{name} vote"] + weights[f"{name} head"])

    @pytest.mark.parametrize("seed", [0, 1, 2])
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
            npc = NPC(random_state=0).fit(said[:1000])
            accuracy[name] = (npc.predict(said[1000:]) == truth[1000:]).mean()
        assert 0.8 < accuracy["alone"] < 0.99
        assert accuracy["both"] > accuracy["alone"] - 0.005
        weights = npc.report_.weights
        assert weights["noise vote"] + weights["noise head"] < 0.1 * sum(weights.values())
