import functools

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

from truelabel import NPC, Predictions
from truelabel.calibrators.npc import Belief, ExpertPrior, VotePrior, prior
from truelabel.calibrators.npc.heads import HeadSettings
from truelabel.calibrators.npc.prior import confident_references, memorisation, trust_in
from truelabel.progress import Progress


def believe(which, said, seed=0):
    torch.manual_seed(seed)
    return which.believe(said, device=torch.device("cpu"), seed=seed, progress=Progress(False))


class TestVotePrior:
    def test_references_are_the_most_confident_of_each_predicted_class_in_each_batch(self):
        probs = np.array(
            [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8], [0.6, 0.4], [0.95, 0.05], [0.51, 0.49], [0.1, 0.9]]
        )

        class InOrder:
            def permutation(self, n):
                return np.arange(n)

        said = Predictions(probs)
        assert confident_references(said, said.hard, 4, InOrder()).tolist() == [0, 3, 5, 7]
        assert confident_references(said, said.hard, 8, InOrder()).tolist() == [5, 7]
        assert confident_references(said, said.hard, 1, InOrder()).tolist() == list(range(8))

    def test_references_of_a_random_order_are_the_best_of_their_batch(self, problem):
        rng = np.random.default_rng(5)
        said = Predictions(rng.dirichlet(np.ones(4), size=300))
        order = np.random.default_rng(3).permutation(300)
        expected = set()
        for batch in np.array_split(order, [128, 256]):
            for k in range(4):
                members = [i for i in batch if said.hard[i] == k]
                expected.add(max(members, key=lambda i: said.probs[i].max()))
        assert set(confident_references(said, said.hard, 128, np.random.default_rng(3))) == expected

    @pytest.mark.parametrize("space", ["hidden", "features"])
    def test_the_vote_is_that_of_scikit_learns_distance_weighted_neighbours(self, space):
        rng = np.random.default_rng(0)
        x, probs = rng.normal(size=(600, 3)), rng.dirichlet(np.ones(4), size=600)
        other = {"features": rng.normal(size=(600, 2))} if space == "hidden" else {}
        said = Predictions(probs, **{space: x}, **other)
        belief = believe(VotePrior(k=7), said, seed=11)
        chosen = confident_references(said, said.hard, 128, np.random.default_rng(11))
        vote = KNeighborsClassifier(7, weights="distance").fit(x[chosen], said.hard[chosen])
        np.testing.assert_allclose(belief.shares, vote.predict_proba(x), atol=1e-4)
        assert belief.facts["references"] == len(chosen)

    def test_fewer_references_than_neighbours_all_vote(self):
        said = Predictions([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], hidden=[[0.0], [1.0], [0.2]])
        belief = believe(VotePrior(k=10), said)
        assert belief.facts["k"] == {"hidden layer": 2}
        np.testing.assert_allclose(belief.shares[2], [0.8, 0.2], atol=1e-5)

    def test_without_any_space_it_says_what_is_missing(self):
        with pytest.raises(ValueError, match="needs the classifier's hidden layer"):
            believe(VotePrior(), Predictions([[0.9, 0.1], [0.2, 0.8]]))


@pytest.fixture
def evidence(monkeypatch):
    """The experts as they are weighed, in the order of the prior's report."""
    seen: list[list[np.ndarray]] = []

    def spying(experts, labels, asked, pool=prior.pool_by_likelihood):
        seen.append([np.array(p) for p in experts])
        return pool(experts, labels, asked)

    monkeypatch.setattr(prior, "pool_by_likelihood", spying)
    return seen


class TestExpertPrior:
    def test_it_finds_the_truth_behind_noisy_labels(self, problem):
        made = problem()
        belief = believe(ExpertPrior(), made.said)
        assert (belief.shares.argmax(axis=1) == made.truth).mean() > 0.95
        np.testing.assert_allclose(belief.shares.sum(axis=1), 1, atol=1e-5)
        assert belief.facts["noise_rate"] == pytest.approx(made.moved.mean(), abs=0.08)

    def test_columns_of_different_units_are_brought_to_the_same_scale(self, problem):
        made = problem(n=200)
        rng = np.random.default_rng(0)
        units = np.column_stack([made.x, 1e4 * rng.normal(size=(200, 2))])
        belief = believe(ExpertPrior(), made.said.replace(features=units))
        assert belief.facts["views"] == {"features": "columns"}
        assert (belief.shares.argmax(axis=1) == made.truth).mean() > 0.95

    def test_many_small_columns_of_noise_are_left_small(self, problem):
        made = problem(n=200)
        rng = np.random.default_rng(0)
        components = np.column_stack([made.x, 1e-2 * rng.normal(size=(200, 60))])
        belief = believe(ExpertPrior(), made.said.replace(features=components))
        assert belief.facts["views"]["features"] in ("whole", "unit")

    def test_many_neighbours_vote_where_labels_are_noise_and_few_where_places_are_small(self):
        """Alternating stripes of five points each can only be told by few neighbours."""
        rng = np.random.default_rng(0)
        line = np.sort(rng.random(400))[:, None]
        stripes = (np.arange(400) // 20) % 2
        halves = np.where(rng.random(400) < 0.4, 1 - np.arange(400) // 200, np.arange(400) // 200)
        probs = np.full((400, 2), 0.5)
        few = believe(ExpertPrior(), Predictions(probs, line, labels=stripes)).facts["k"]["features"]
        many = believe(ExpertPrior(), Predictions(probs, line, labels=halves)).facts["k"]["features"]
        assert few <= 10
        assert many >= 40

    def test_k_is_the_users_where_given(self, problem):
        assert believe(ExpertPrior(k=3), problem(n=60).said).facts["k"] == {"features": 3}

    def test_more_neighbours_than_references_all_vote(self, problem):
        belief = believe(ExpertPrior(k=70, reference=40), problem(n=100).said)
        assert belief.facts["k"]["features"] < belief.facts["references"] <= 42
        assert np.isfinite(belief.shares).all()

    def test_a_view_of_noise_gets_no_weight_and_is_left_out(self, problem):
        made = problem()
        views = {"noise": np.random.default_rng(0).normal(size=(300, 8)), "signal": made.x}
        belief = believe(ExpertPrior(), made.said.replace(features=views))
        assert set(belief.scales) == {"signal"}
        assert belief.facts["weights"]["noise vote"] + belief.facts["weights"]["noise head"] < 0.05
        assert (belief.shares.argmax(axis=1) == made.truth).mean() > 0.97

    def test_two_views_that_each_know_a_part_are_both_used(self):
        rng = np.random.default_rng(0)
        truth = rng.integers(4, size=500)
        views = {
            "half": rng.normal(size=(500, 2)) + 6 * (truth % 2)[:, None],
            "other half": rng.normal(size=(500, 2)) + 6 * (truth // 2)[:, None],
        }
        belief = believe(ExpertPrior(), Predictions(np.eye(4)[truth], views, labels=truth))
        assert set(belief.scales) == set(views)
        assert (belief.shares.argmax(axis=1) == truth).mean() > 0.95

    def test_no_expert_sees_the_label_of_the_instance_it_is_asked_about(self, problem, evidence, monkeypatch):
        """Scale, k and the heads' epochs are given: choosing them looks at all labels.

        One of the k + 1 votes is the share of each label in all, which an instance moves by 1/n.
        """
        monkeypatch.setattr("truelabel.scale.Scale.NAMES", ("whole",))
        settings = HeadSettings(epochs=1, least_steps=1)
        monkeypatch.setattr(prior, "out_of_fold", functools.partial(prior.out_of_fold, settings=settings))
        made = problem(n=100, probs=np.full((100, 3), 1 / 3))
        believe(ExpertPrior(k=5), made.said)
        for row in (0, 42, 99):
            flipped = made.noisy.copy()
            flipped[row] = (flipped[row] + 1) % 3
            believe(ExpertPrior(k=5), made.said.replace(labels=flipped))
            for before, after in zip(evidence[0], evidence[-2], strict=True):
                np.testing.assert_allclose(after[row], before[row], atol=1.01 / 100 / 6)
        vote_before, vote_after = evidence[0][0], evidence[-2][0]
        assert np.abs(vote_after - vote_before).max() > 0.1

    def test_votes_are_the_smoothed_shares_of_the_other_instances(self, problem, evidence, monkeypatch):
        monkeypatch.setattr("truelabel.scale.Scale.NAMES", ("whole",))
        made = problem(n=80)
        believe(ExpertPrior(k=5), made.said)
        distances = np.linalg.norm(made.x[:, None] - made.x[None], axis=2) + np.diag(np.full(80, np.inf))
        nearest = np.argsort(distances, axis=1)[:, :5]
        base = np.bincount(made.noisy, minlength=3) / 80
        by_label, by_prediction, *_ = evidence[0]
        np.testing.assert_allclose(by_label, (np.eye(3)[made.noisy][nearest].sum(axis=1) + base) / 6, atol=1e-5)
        np.testing.assert_allclose(by_prediction, (made.said.probs[nearest].sum(axis=1) + base) / 6, atol=1e-5)

    def test_a_capped_reference_set_votes_for_all(self, problem):
        made = problem(n=500)
        belief = believe(ExpertPrior(reference=100), made.said)
        assert belief.facts["references"] == pytest.approx(100, abs=3)
        assert belief.shares.shape == (500, 3)
        assert (belief.shares.argmax(axis=1) == made.truth).mean() > 0.95

    def test_without_labels_the_predictions_take_their_place(self, problem):
        made = problem()
        belief = believe(ExpertPrior(), made.said.replace(labels=None))
        assert (belief.shares.argmax(axis=1) == made.truth).mean() > 0.95
        assert belief.facts["memorisation"] is None
        assert belief.facts["noise_rate"] == pytest.approx(made.moved.mean(), abs=0.08)
        assert belief.trust == 0

    def test_a_strong_classifier_that_is_out_of_sample_gets_the_weight(self, problem):
        made = problem()
        rng = np.random.default_rng(0)
        weak = 0.15 * made.x + rng.normal(size=made.x.shape)
        strong = np.full((300, 3), 0.15) + 0.55 * np.eye(3)[made.truth]
        said = made.said.replace(features=weak, probs=strong, out_of_sample=True)
        belief = believe(ExpertPrior(), said)
        weights = belief.facts["weights"]
        assert weights["classifier"] > 0.5
        assert weights["classifier"] > 3 * max(w for name, w in weights.items() if name != "classifier")
        assert belief.trust == 1
        assert (belief.shares.argmax(axis=1) == made.truth).mean() > 0.93

    def test_a_classifier_that_memorised_gets_none(self, problem):
        made = problem()
        belief = believe(ExpertPrior(), made.said)
        assert belief.facts["weights"]["classifier"] == 0
        assert belief.facts["memorisation"] > 0.95
        assert belief.trust == 0

    def test_an_honest_classifier_is_trusted(self, problem):
        made = problem()
        belief = believe(ExpertPrior(), made.said.replace(probs=0.1 + 0.7 * np.eye(3)[made.truth]))
        assert belief.facts["memorisation"] < 0.1
        assert belief.trust == 1

    def test_without_features_it_says_what_is_missing(self):
        with pytest.raises(ValueError, match="needs features that did not see the noisy labels"):
            believe(ExpertPrior(), Predictions([[0.9, 0.1], [0.2, 0.8]], labels=[0, 1]))


@pytest.mark.parametrize(
    ("in_sample", "out_of_fold", "expected"),
    [(1.0, 0.6, 1.0), (0.8, 0.6, 0.5), (0.6, 0.6, 0.0), (0.4, 0.6, 0.0), (1.0, 1.0, 0.0)],
)
def test_memorisation_is_the_share_of_the_unforeseeable_that_was_fitted(in_sample, out_of_fold, expected):
    assert memorisation(in_sample, out_of_fold) == pytest.approx(expected)


@pytest.mark.parametrize(("memorised", "trust"), [(0.0, 1), (0.1, 1), (0.3, 0.5), (0.5, 0), (1.0, 0)])
def test_trust_falls_as_memorisation_rises(memorised, trust):
    assert trust_in(memorised) == pytest.approx(trust)


class Oracle:
    """A prior of the user's own."""

    def __init__(self, shares):
        self.shares = shares

    def believe(self, predictions, *, device, seed, progress):
        assert len(predictions) == len(self.shares)
        return Belief(self.shares, facts={"noise_rate": 0.123})


def test_a_prior_of_the_users_own_is_what_the_calibrator_believes(problem):
    made = problem(n=200)
    elsewhere = (made.truth + 1) % 3
    npc = NPC(prior=Oracle(np.eye(3, dtype=np.float32)[elsewhere]), random_state=0).fit(made.said)
    assert (npc.predict(made.said) == elsewhere).mean() > 0.97
    assert npc.report_.noise_rate == 0.123
    assert npc.report_.memorisation is None


@pytest.mark.parametrize("which", [VotePrior(k=3, batch_size=64), ExpertPrior(k=4, reference=99)])
def test_priors_are_cloned_with_their_parameters(which):
    assert clone(which).get_params() == which.get_params()
