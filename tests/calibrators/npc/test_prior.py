import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

from truelabel import NPC, Predictions
from truelabel.calibrators.npc import Belief, ExpertPrior, VotePrior
from truelabel.calibrators.npc.given import Given
from truelabel.calibrators.npc.prior import confident_references
from truelabel.calibrators.npc.settings import Settings
from truelabel.label_noise import LabelNoise


def believe(which, said, seed=0):
    torch.manual_seed(seed)
    return which.believe(Given(said, seed=seed))


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

    @pytest.mark.parametrize(
        ("extra", "name"),
        [({"trusted": np.full(4, -1)}, "trusted"), ({"transition": np.eye(2)}, "label_transition")],
    )
    def test_what_it_has_no_use_for_it_refuses_by_name(self, extra, name):
        said = Predictions(np.full((4, 2), 0.5), hidden=np.zeros((4, 1)))
        with pytest.raises(ValueError, match=f"the paper's recipe has no use for {name}; leave it out"):
            VotePrior().believe(Given(said, **extra))

    def test_without_any_space_it_says_what_is_missing(self):
        with pytest.raises(ValueError, match="needs the classifier's hidden layer"):
            believe(VotePrior(), Predictions([[0.9, 0.1], [0.2, 0.8]]))


class Oracle:
    """A prior of the user's own."""

    def __init__(self, shares):
        self.shares = shares

    def believe(self, given):
        assert len(given.predictions) == len(self.shares)
        return Belief(self.shares, facts={"noise_rate": 0.123})


@pytest.fixture
def trained(monkeypatch):
    """What the autoencoder would be trained with."""
    seen = {}

    def spying(vae, source, predictions, shares, concentrations, **settings):
        seen.update(settings, predictions=predictions, shares=shares, vae=vae)
        return [0.0]

    monkeypatch.setattr("truelabel.calibrators.npc.calibrator.train", spying)
    return seen


def test_a_belief_that_says_no_more_than_shares_is_learned_at_the_full_rate_from_nothing(problem, trained):
    made = problem(n=60)
    npc = NPC(prior=Oracle(np.eye(3, dtype=np.float32)[made.truth]), learning_rate=0.02).fit(made.said)
    assert trained["learning_rate"] == 0.02
    assert trained["predictions"] is made.said
    assert trained["vae"].reliance.item() == 0
    assert npc.transition_matrix_ is None
    assert npc.class_shares_ is None


def test_a_belief_sets_pace_and_start_and_what_is_withheld(problem, trained):
    made = problem(n=60)
    withheld, transition = np.arange(60) < 25, np.eye(3)
    belief = Belief(
        np.eye(3, dtype=np.float32)[made.truth],
        reliance=0.4,
        own_word=0.3,
        pace=0.25,
        withheld=withheld,
        noise=LabelNoise.known(transition, np.array([0.5, 0.3, 0.2])),
        transition=transition,
    )

    class Careful:
        def believe(self, given):
            return belief

    npc = NPC(prior=Careful(), learning_rate=0.02).fit(made.said)
    assert npc.belief_ is belief
    assert trained["learning_rate"] == pytest.approx(0.005)
    assert trained["own_word"] == 0.3
    assert trained["vae"].reliance.item() == pytest.approx(0.4)
    assert trained["shares"] is belief.shares
    shown = trained["predictions"].probs
    np.testing.assert_allclose(shown[withheld], 1 / 3)
    np.testing.assert_array_equal(shown[~withheld], made.said.probs[~withheld])
    assert (made.said.probs.max(axis=1) > 0.9).all()
    assert npc.transition_matrix_ is transition
    np.testing.assert_array_equal(npc.class_shares_, [0.5, 0.3, 0.2])


def test_a_prior_of_the_users_own_is_what_the_calibrator_believes(problem):
    made = problem(n=200)
    elsewhere = (made.truth + 1) % 3
    npc = NPC(prior=Oracle(np.eye(3, dtype=np.float32)[elsewhere]), random_state=0).fit(made.said)
    assert (npc.predict(made.said) == elsewhere).mean() > 0.97
    assert npc.report_.noise_rate == 0.123
    assert npc.report_.memorisation is None


@pytest.mark.parametrize("which", [VotePrior(k=3, batch_size=64), ExpertPrior(Settings(rounds=1))])
def test_priors_are_cloned_with_their_parameters(which):
    assert clone(which).get_params() == which.get_params()


class Told:
    """A prior that says what it was given."""

    def believe(self, given):
        self.given = given
        return Belief(np.full((len(given.predictions), 3), 1 / 3, dtype=np.float32))


def test_a_prior_is_given_all_that_fit_was_told(problem, trained):
    train, validation, other = problem(n=60), problem(n=20, seed=1), problem(n=30, seed=2)
    trusted, transition = np.where(np.arange(60) < 5, train.truth, -1), 0.7 * np.eye(3) + 0.1
    prior = Told()
    npc = NPC(prior=prior, label_transition=transition, random_state=3, device="cpu", progress=False)
    told = {"validation": validation.said, "unlabelled": other.said, "trusted": trusted}
    npc.fit(train.said, **told, trusted_sample="picked")
    given = prior.given
    assert set(given.extras) == {"validation", "unlabelled", "trusted", "label_transition"}
    np.testing.assert_array_equal(given.predictions.labels, np.r_[train.noisy, validation.noisy])
    np.testing.assert_array_equal(given.unseen, np.arange(60, 80))
    np.testing.assert_array_equal(given.trusted, np.r_[trusted, np.full(20, -1)])
    np.testing.assert_array_equal(given.transition, transition)
    assert given.unlabelled is other.said
    assert given.sample == "picked"
    assert given.device.type == "cpu"
    assert len(trained["shares"]) == 80
    seed = given.seed
    npc.fit(train.said)
    assert prior.given.extras.keys() == {"label_transition"}
    assert prior.given.seed == seed


def test_a_prior_as_the_contract_says_works_with_a_validation_set(problem):
    train, validation = problem(n=150), problem(n=60, seed=1)
    truth = np.r_[train.truth, validation.truth]
    npc = NPC(prior=Oracle(np.eye(3, dtype=np.float32)[truth]), random_state=0, progress=False)
    npc.fit(train.said, validation=validation.said)
    assert (npc.predict(train.said) == train.truth).mean() > 0.97
    assert npc.report_.n == 150


def test_a_prior_that_fails_leaves_nothing_fitted(problem):
    class Broken:
        def believe(self, given):
            raise RuntimeError("no idea")

    npc = NPC(prior=Broken(), progress=False)
    with pytest.raises(RuntimeError, match="no idea"):
        npc.fit(problem(n=60).said)
    assert not [name for name in vars(npc) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        npc.predict(problem(n=60).said)


def test_training_that_fails_leaves_nothing_fitted(problem, monkeypatch):
    def failing(*arguments, **settings):
        raise RuntimeError("out of memory")

    monkeypatch.setattr("truelabel.calibrators.npc.calibrator.train", failing)
    npc = NPC(prior=Told(), progress=False)
    with pytest.raises(RuntimeError, match="out of memory"):
        npc.fit(problem(n=60).said)
    assert not [name for name in vars(npc) if name.endswith("_")]
