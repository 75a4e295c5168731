"""`fit(validation=…)`: a classifier that memorised its training set is judged on instances it has not seen."""

from types import SimpleNamespace

import numpy as np
import pytest

from truelabel import NPC, Predictions
from truelabel.calibrators.npc.given import join

C = 4
CENTRES = 1.2 * np.random.default_rng(99).normal(size=(C, 5))


def drawn(n: int, seed: int, *, memorised: bool = False) -> SimpleNamespace:
    """Overlapping blobs, 30 % wrong labels; a classifier that repeats them, or is right nine times of ten."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(C, size=n)
    x = (CENTRES[truth] + rng.normal(size=(n, 5))).astype(np.float32)
    noisy = np.where(rng.random(n) < 0.3, (truth + rng.integers(1, C, size=n)) % C, truth)
    good = np.where(rng.random(n) < 0.1, (truth + rng.integers(1, C, size=n)) % C, truth)
    probs = 0.04 + 0.84 * np.eye(C)[noisy if memorised else good]
    return SimpleNamespace(truth=truth, noisy=noisy, said=Predictions(probs, x, labels=noisy))


@pytest.fixture(scope="module")
def train():
    return drawn(600, 0, memorised=True)


@pytest.fixture(scope="module")
def validation():
    return drawn(300, 1)


@pytest.fixture(scope="module")
def without(train):
    return NPC(random_state=0).fit(train.said)


@pytest.fixture(scope="module")
def with_validation(train, validation):
    return NPC(random_state=0).fit(train.said, validation=validation.said)


@pytest.fixture
def trained(monkeypatch):
    """What the autoencoder would be trained with."""
    seen = {}

    def spying(vae, source, predictions, shares, concentrations, **settings):
        seen.update(predictions=predictions, shares=shares)
        return [0.0]

    monkeypatch.setattr("truelabel.calibrators.npc.calibrator.train", spying)
    return seen


class TestWhatItBrings:
    def test_a_classifier_that_memorised_is_heard_again_where_it_generalises(self, without, with_validation):
        test = drawn(2000, 2)
        by_classifier = (test.said.hard == test.truth).mean()
        alone = (without.predict(test.said) == test.truth).mean()
        judged = (with_validation.predict(test.said) == test.truth).mean()
        assert judged > alone - 0.005
        assert judged > by_classifier

    def test_the_labels_of_the_validation_set_weigh_the_classifier(self, train, validation, without, with_validation):
        assert without.report_.weights["classifier"] < 0.2
        weights = with_validation.report_.weights
        assert weights["classifier"] > 0.3 * sum(weights.values())
        random = np.random.default_rng(0).dirichlet(np.ones(C), size=300)
        useless = NPC(random_state=0, epochs=1).fit(train.said, validation=validation.said.replace(probs=random))
        weights = useless.report_.weights
        assert weights["classifier"] < 0.1 * sum(weights.values())

    def test_memorisation_is_that_of_the_training_set(self, with_validation):
        assert with_validation.report_.memorisation > 0.7

    def test_what_a_memorising_classifier_says_of_its_training_set_is_withheld(self, train, validation, trained):
        NPC(random_state=0).fit(train.said, validation=validation.said)
        shown = trained["predictions"].probs
        np.testing.assert_allclose(shown[:600], 1 / C)
        np.testing.assert_allclose(shown[600:], validation.said.probs, rtol=1e-6)
        assert (train.said.hard == train.noisy).all()

    def test_what_an_honest_one_says_is_not(self, validation, trained):
        honest = drawn(600, 3)
        NPC(random_state=0).fit(honest.said, validation=validation.said)
        np.testing.assert_array_equal(trained["predictions"].probs[:600], honest.said.probs)

    def test_the_calibrator_learns_from_both(self, train, validation, trained):
        NPC(random_state=0).fit(train.said, validation=validation.said)
        assert len(trained["shares"]) == len(trained["predictions"]) == 900
        believed = trained["shares"].argmax(axis=1)
        assert (believed[600:] == validation.truth).mean() > (validation.noisy == validation.truth).mean() + 0.1


class TestTheReport:
    def test_it_is_about_the_training_set_alone(self, train, with_validation):
        report = with_validation.report_
        assert report.n == 600
        assert report.agreement == 1
        changed = (with_validation.predict(train.said) != train.said.hard).mean()
        assert report.changed == pytest.approx(changed)
        assert report.changed > 0.1

    def test_disagreement_is_that_of_prior_and_training_predictions(self, train, validation, trained):
        npc = NPC(random_state=0).fit(train.said, validation=validation.said)
        expected = (trained["shares"][:600].argmax(axis=1) != train.said.hard).mean()
        assert npc.report_.disagreement == pytest.approx(expected)

    def test_nothing_of_the_validation_set_is_kept_for_the_next_fit(self, train, validation):
        few = train.said[:100]
        npc = NPC(random_state=0, epochs=1).fit(few, validation=validation.said)
        after = npc.fit(few).calibrate(few)
        np.testing.assert_array_equal(after, NPC(random_state=0, epochs=1).fit(few).calibrate(few))


class TestJoin:
    def test_training_comes_first_and_validation_after(self, train, validation):
        both = join(train.said, validation.said)
        assert len(both) == 900
        for rows, part in ((slice(0, 600), train.said), (slice(600, 900), validation.said)):
            np.testing.assert_array_equal(both.probs[rows], part.probs)
            np.testing.assert_array_equal(both.labels[rows], part.labels)
            np.testing.assert_array_equal(both.views["features"][rows], part.views["features"])

    def test_views_are_put_together_by_name(self):
        x, y = np.zeros((2, 1)), np.ones((2, 3))
        seen = Predictions(np.full((2, 2), 0.5), {"a": x, "b": y}, labels=[0, 1])
        unseen = Predictions(np.full((2, 2), 0.5), {"b": y + 1, "a": x + 1}, labels=[1, 0])
        both = join(seen, unseen)
        np.testing.assert_array_equal(both.views["a"], [[0], [0], [1], [1]])
        np.testing.assert_array_equal(both.views["b"], np.repeat([[1], [2]], 2, axis=0) * np.ones((1, 3)))

    def test_what_only_one_has_is_left_out(self, train, validation):
        hidden, inputs = train.said.views["features"], np.zeros((600, 2, 2))
        seen = train.said.replace(hidden=hidden, inputs=inputs, class_names=list("abcd"))
        both = join(seen, validation.said.replace(inputs=np.ones((300, 2, 2))))
        assert both.hidden is None
        assert both.inputs.shape == (900, 2, 2)
        assert both.class_names == ("a", "b", "c", "d")
        other = validation.said.views["features"]
        both = join(seen, validation.said.replace(hidden=other))
        np.testing.assert_array_equal(both.hidden, np.concatenate([hidden, other]))

    def test_mistakes_are_named(self, train, validation):
        said, held_out = train.said, validation.said
        x = held_out.views["features"]

        def fit(seen, unseen, recipe="default"):
            NPC(recipe, epochs=1).fit(seen, validation=unseen)

        with pytest.raises(
            TypeError, match=r"validation is a truelabel\.Predictions, not tuple; wrap the arrays first"
        ):
            fit(said, (x, validation.noisy))
        for one, other in ((said.replace(labels=None), held_out), (said, held_out.replace(labels=None))):
            with pytest.raises(ValueError, match="judges the classifier by noisy labels; pass labels in both"):
                fit(one, other)
        with pytest.raises(ValueError, match="validation has 5 classes, but the training set has 4"):
            fit(said, Predictions(np.full((300, 5), 0.2), x, labels=validation.noisy))
        with pytest.raises(ValueError, match=r"validation has the views {'features': 4}, but .* has {'features': 5}"):
            fit(said, held_out.replace(features=x[:, :4]))
        with pytest.raises(ValueError, match=r"validation has the views {'pixels': 5}, but .* has {'features': 5}"):
            fit(said, held_out.replace(features={"pixels": x}))
        with pytest.raises(ValueError, match="the paper's recipe has no use for validation; leave it out"):
            fit(said, held_out, "paper")

    def test_other_class_names_are_refused(self, train, validation):
        with pytest.raises(ValueError, match="class"):
            join(train.said.replace(class_names=list("abcd")), validation.said.replace(class_names=list("dcba")))

    def test_another_hidden_layer_is_named(self, train, validation):
        hidden = validation.said.views["features"]
        with pytest.raises(ValueError, match="hidden"):
            join(train.said.replace(hidden=train.said.views["features"]), validation.said.replace(hidden=hidden[:, :2]))

    def test_a_training_set_that_is_out_of_sample_stays_so(self, validation):
        said = drawn(200, 4).said.replace(out_of_sample=True)
        npc = NPC(random_state=0, epochs=1).fit(said, validation=validation.said)
        assert npc.report_.memorisation == 0
