"""RoG: Gaussian classes with wrong labels, the generative classifier by hand, weights, and what it refuses."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from truelabel import Predictions
from truelabel.calibrators import RoG
from truelabel.calibrators.rog import mixture_weights


def gaussian_classes(n=1500, c=5, d=12, rate=0.4, seed=0):
    """Gaussian classes with one covariance, and labels of which a share are wrong, by turns."""
    rng = np.random.default_rng(seed)
    root = np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)
    centres = 7 * np.random.default_rng(7).normal(size=(c, d)) / np.sqrt(d) * 2
    truth = np.arange(n) % c
    x = centres[truth] + rng.normal(size=(n, d)) @ root.T
    noisy = np.where(rng.random(n) < rate, (truth + rng.integers(1, c, size=n)) % c, truth)
    return x, truth, noisy


def flat(labels, c):
    return np.full((len(labels), c), 1 / c)


def test_means_and_covariance_are_near_the_clean_ones_under_forty_percent_wrong_labels():
    x, truth, noisy = gaussian_classes()
    rog = RoG(random_state=0).fit(Predictions(flat(noisy, 5), hidden=x, labels=noisy))
    classifier = rog.classifiers_["hidden"]
    reduced = classifier.reduction(x.astype(np.float32))

    def estimates(labels):
        means = np.stack([reduced[labels == k].mean(axis=0) for k in range(5)])
        centred = reduced - means[labels]
        return means, centred.T @ centred / len(reduced)

    (clean_means, clean), (plain_means, plain) = estimates(truth), estimates(noisy)
    assert np.linalg.norm(classifier.means - clean_means) < 0.1 * np.linalg.norm(plain_means - clean_means)
    assert np.linalg.norm(classifier.covariance - clean) < 0.1 * np.linalg.norm(plain - clean)


def test_it_predicts_the_truth_where_labels_are_wrong():
    x, truth, noisy = gaussian_classes()
    said = Predictions(np.eye(5)[noisy], hidden=x, labels=noisy)
    assert np.mean(RoG(random_state=0).fit(said).predict(said) == truth) > 0.99
    assert np.mean(said.hard == truth) < 0.65


def test_on_clean_gaussians_it_is_linear_discriminant_analysis():
    x, truth, _ = gaussian_classes(n=6000, c=3, d=4)
    truth = np.where(np.arange(6000) % 7 == 0, 0, truth)  # shares that are not even
    x = x[np.argsort(truth, kind="stable")] * [1, 10, 100, 0.1] + 5
    x += np.random.default_rng(0).normal(size=x.shape) * [2, 20, 200, 0.2]
    labels = np.sort(truth)
    lda = LinearDiscriminantAnalysis(solver="lsqr").fit(x, labels)
    rog = RoG(random_state=0, support=1.0).fit(Predictions(flat(labels, 3), x, labels=labels))
    np.testing.assert_allclose(rog.calibrate(Predictions(flat(labels, 3), x)), lda.predict_proba(x), atol=0.01)


def test_two_classes_by_hand():
    """Means -1 and 1, variance 1/4: the log odds at f are 8f."""
    f = np.repeat([-1.5, -1.0, -0.5, 0.5, 1.0, 1.5], [1, 1, 1, 1, 1, 1] * 1).repeat(50)[:, None]
    labels = (f[:, 0] > 0).astype(int)
    rog = RoG(support=1.0).fit(Predictions(flat(labels, 2), f, labels=labels))
    variance = f[labels == 1].var()
    asked = np.array([[0.0], [0.1], [-0.2]])
    odds = np.exp(2 * asked[:, 0] / variance)
    found = rog.calibrate(Predictions(flat(asked, 2), asked))
    np.testing.assert_allclose(found[:, 1], odds / (1 + odds), atol=1e-4)


def test_the_layer_that_says_more_about_held_out_labels_counts_more():
    x, _, noisy = gaussian_classes()
    rubbish = np.random.default_rng(3).normal(size=(len(x), 6))
    rog = RoG(random_state=0).fit(Predictions(flat(noisy, 5), {"good": x, "rubbish": rubbish}, labels=noisy))
    assert list(rog.weights_) == ["good", "rubbish"]
    assert rog.weights_["good"] > 0.95
    assert sum(rog.weights_.values()) == pytest.approx(1)


def test_the_answer_is_the_weighted_mean_of_the_layers():
    x, _, noisy = gaussian_classes(n=600)
    said = Predictions(flat(noisy, 5), {"a": x, "b": x[:, :2]}, labels=noisy)
    both = RoG(support=1.0).fit(said)
    alone = [RoG([name], support=1.0).fit(said).calibrate(said) for name in ("a", "b")]
    both.weights_ = {"a": 0.3, "b": 0.7}
    np.testing.assert_allclose(both.calibrate(said), 0.3 * alone[0] + 0.7 * alone[1], atol=1e-5)


def test_weights_may_be_chosen_on_predictions_that_were_kept_apart():
    """A hidden layer that holds the labels themselves looks good on its own training set, and not on others."""
    x, _, noisy = gaussian_classes()
    memorised = np.eye(5)[noisy] + 0.01 * np.random.default_rng(0).normal(size=(len(x), 5))
    said = Predictions(flat(noisy, 5), x, hidden=memorised, labels=noisy)
    apart_x, _, apart_noisy = gaussian_classes(n=600, seed=1)
    guesses = np.eye(5)[np.random.default_rng(2).integers(5, size=600)]
    apart = Predictions(flat(apart_noisy, 5), apart_x, hidden=guesses, labels=apart_noisy)
    inside, outside = (RoG(random_state=0, validation=way).fit(said).weights_ for way in (0.1, apart))
    assert inside["hidden"] > 0.4
    assert outside["hidden"] < 0.15


def test_mixture_weights_are_the_most_likely():
    """One expert says 0.8 to 3 of 4 and 0.2 to one, the other 0.5 to all: the optimum is at w = 5/6."""
    likelihood = np.array([[0.8, 0.5], [0.8, 0.5], [0.8, 0.5], [0.2, 0.5]])
    grid = np.linspace(0, 1, 100_001)
    best = grid[np.log(likelihood[:, :1] * grid + likelihood[:, 1:] * (1 - grid)).sum(axis=0).argmax()]
    np.testing.assert_allclose(mixture_weights(likelihood, 5000), [best, 1 - best], atol=1e-3)
    assert best == pytest.approx(5 / 6, abs=1e-4)


def test_without_labels_the_predictions_take_their_place():
    x, _, noisy = gaussian_classes(n=400)
    with_labels = RoG(random_state=0).fit(Predictions(flat(noisy, 5), x, labels=noisy))
    without = RoG(random_state=0).fit(Predictions(np.eye(5)[noisy], x))
    asked = Predictions(flat(noisy, 5), x)
    np.testing.assert_array_equal(with_labels.calibrate(asked), without.calibrate(asked))


@pytest.mark.parametrize(("n", "d", "c"), [(6, 3, 2), (30, 200, 10), (60, 500, 3)])
def test_few_instances_and_many_columns_are_taken(n, d, c):
    rng = np.random.default_rng(0)
    labels = np.arange(n) % c
    x = rng.normal(size=(n, d)) + 3 * np.eye(c, d)[labels]
    probs = (
        RoG()
        .fit(Predictions(flat(labels, c), hidden=x, labels=labels))
        .calibrate(Predictions(flat(labels, c), hidden=x))
    )
    assert np.isfinite(probs).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-5)


def test_a_class_that_no_label_has_gets_no_probability():
    x, _, noisy = gaussian_classes(n=300)
    noisy = noisy.clip(max=3)
    probs = RoG().fit(Predictions(flat(noisy, 5), x, labels=noisy)).calibrate(Predictions(flat(noisy, 5), x))
    assert (probs[:, 4] == 0).all()


def test_constant_columns_are_left_out():
    x, _, noisy = gaussian_classes(n=300)
    padded = np.concatenate([x, np.full((300, 4), 7.0)], axis=1)
    one, other = (
        RoG(random_state=0)
        .fit(Predictions(flat(noisy, 5), view, labels=noisy))
        .calibrate(Predictions(flat(noisy, 5), view))
        for view in (x, padded)
    )
    np.testing.assert_allclose(one, other, atol=1e-3)


def test_bad_input_is_refused():
    x, _, noisy = gaussian_classes(n=100)
    said = Predictions(flat(noisy, 5), x, labels=noisy)
    with pytest.raises(ValueError, match="RoG models the classifier's hidden layer; pass Predictions"):
        RoG().fit(Predictions(flat(noisy, 5), labels=noisy))
    with pytest.raises(ValueError, match=r"the layer 'hidden' is missing; pass Predictions\(hidden=…\)"):
        RoG(["hidden"]).fit(said)
    with pytest.raises(ValueError, match=r"'block2' is missing; pass Predictions\(features=\{'block2': …\}\)"):
        RoG(["block2"]).fit(said)
    with pytest.raises(ValueError, match="validation has no labels to judge the layers by"):
        RoG(validation=Predictions(flat(noisy, 5), x)).fit(said)
    both = said.replace(hidden=x)
    with pytest.raises(ValueError, match="validation has 2 columns of hidden, but the predictions have 12"):
        RoG(validation=both.replace(hidden=x[:, :2])).fit(both)
    fitted = RoG().fit(Predictions(flat(noisy, 5), hidden=x, labels=noisy))
    with pytest.raises(ValueError, match="the layer 'hidden' is missing"):
        fitted.calibrate(Predictions(flat(noisy, 5), x))
    with pytest.raises(ValueError, match="hidden has 3 columns, but the calibrator was fitted on 12"):
        fitted.calibrate(Predictions(flat(noisy, 5), hidden=x[:, :3]))


@pytest.mark.parametrize(
    "parameters", [{"components": 0}, {"starts": 0}, {"steps": 0}, {"support": 1.5}, {"validation": 1.0}]
)
def test_a_parameter_out_of_range_is_named(parameters):
    x, _, noisy = gaussian_classes(n=100)
    with pytest.raises(ValueError, match=f"^{next(iter(parameters))} must"):
        RoG(**parameters).fit(Predictions(flat(noisy, 5), x, labels=noisy))


def test_there_is_one_component_for_every_ten_instances_at_most():
    x = np.random.default_rng(0).normal(size=(109, 20))
    labels = np.arange(109) % 3
    for n, components in ((109, 10), (60, 6), (9, 1)):
        rog = RoG(random_state=0).fit(Predictions(flat(labels[:n], 3), x[:n], labels=labels[:n]))
        assert rog.classifiers_["features"].covariance.shape == (components, components)
