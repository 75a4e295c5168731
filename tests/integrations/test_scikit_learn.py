from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from truelabel import NPC, CalibratedClassifier, Predictions
from truelabel.calibrators import KNN
from truelabel.calibrators.npc import calibrator
from truelabel.experts import heads, panel

IRIS, SPECIES = load_iris(return_X_y=True)


def noisy(y, rate, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(y)) < rate, rng.choice(np.unique(y), len(y)), y)


def tree():
    return DecisionTreeClassifier(random_state=0)


def quick(**parameters):
    """Return a calibrator that takes no time: the paper's recipe, which trains no heads."""
    return NPC("paper", progress=False, random_state=0, **parameters)


@pytest.fixture
def hurried(monkeypatch):
    """The default recipe in full, with few steps in each of its parts."""
    quick = partial(heads.HeadSettings, epochs=1, least_steps=20)
    monkeypatch.setattr(calibrator, "PanelSettings", lambda k: panel.PanelSettings(k=k, heads=quick()))
    short = replace(calibrator.RECIPES["default"], epochs=1, least_steps=20)
    monkeypatch.setitem(calibrator.RECIPES, "default", short)


@pytest.mark.usefixtures("hurried")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([CalibratedClassifier(), CalibratedClassifier(tree(), KNN(k=3))])
def test_it_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def test_it_corrects_a_tree_that_memorised_noisy_iris():
    y = noisy(SPECIES, 0.4)
    wrapped = tree().fit(IRIS, y).score(IRIS, SPECIES)
    calibrated = CalibratedClassifier(tree(), random_state=0).fit(IRIS, y)
    assert calibrated.score(IRIS, SPECIES) > max(0.9, wrapped + 0.1)


def test_it_corrects_a_tree_on_digits_it_has_not_seen():
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, train_size=900, random_state=0)
    y = noisy(y, 0.4)
    calibrated = CalibratedClassifier(tree(), random_state=0).fit(X, y)
    assert calibrated.score(X_new, y_new) > max(0.85, tree().fit(X, y).score(X_new, y_new) + 0.2)


def test_probabilities_go_with_classes_and_predictions():
    names = np.array(["setosa", "versicolor", "virginica"])[noisy(SPECIES, 0.2)]
    model = CalibratedClassifier(tree(), quick()).fit(IRIS, names)
    probs = model.predict_proba(IRIS)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert probs.shape == (150, 3)
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(model.predict(IRIS), model.classes_[probs.argmax(axis=1)])
    assert model.calibrator_.class_names_ == ("setosa", "versicolor", "virginica")


def test_it_is_the_calibrator_on_what_the_classifier_says():
    y = noisy(SPECIES, 0.2)
    probs = tree().fit(IRIS, y).predict_proba(IRIS)
    by_hand = quick().fit(Predictions(probs, IRIS, labels=y)).calibrate(Predictions(probs, IRIS))
    model = CalibratedClassifier(tree(), quick()).fit(IRIS, y)
    np.testing.assert_allclose(model.predict_proba(IRIS), by_hand, atol=1e-6)


def test_one_seed_gives_one_result_and_reaches_the_calibrator():
    y = noisy(SPECIES, 0.2)
    one, same, other = (
        CalibratedClassifier(tree(), quick(), random_state=seed).fit(IRIS, y).predict_proba(IRIS) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-6


def test_the_calibrator_that_was_passed_stays_unfitted():
    given = quick()
    model = CalibratedClassifier(tree(), given, random_state=7).fit(IRIS, SPECIES)
    assert not hasattr(given, "network_")
    assert (given.random_state, model.calibrator_.random_state) == (0, 7)


def test_a_frozen_classifier_is_left_alone():
    frozen = LogisticRegression(max_iter=1000).fit(IRIS, SPECIES)
    before = frozen.coef_.copy()
    other = noisy(SPECIES, 0.5)
    model = CalibratedClassifier(FrozenEstimator(frozen), quick()).fit(IRIS, other)
    assert model.estimator_.estimator is frozen
    np.testing.assert_array_equal(frozen.coef_, before)
    np.testing.assert_array_equal(model.estimator_.predict(IRIS), frozen.predict(IRIS))


def test_an_unfitted_classifier_is_cloned_and_fitted():
    given = tree()
    model = CalibratedClassifier(given, quick()).fit(IRIS, SPECIES)
    assert not hasattr(given, "tree_")
    assert model.estimator_.score(IRIS, SPECIES) == 1


def test_a_frozen_classifier_of_other_classes_is_refused():
    frozen = FrozenEstimator(tree().fit(IRIS, SPECIES))
    with pytest.raises(ValueError, match="the frozen classifier knows other classes than y"):
        CalibratedClassifier(frozen, quick()).fit(IRIS, SPECIES + 1)
    with pytest.raises(ValueError, match="the frozen classifier knows other classes than y"):
        CalibratedClassifier(frozen, quick()).fit(IRIS[:100], SPECIES[:100])


def test_columns_of_a_classifier_in_another_order_are_put_right():
    class Reversed(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.inner_ = tree().fit(X, y)
            self.classes_ = self.inner_.classes_[::-1]
            return self

        def predict_proba(self, X):
            return self.inner_.predict_proba(X)[:, ::-1]

    model = CalibratedClassifier(FrozenEstimator(Reversed().fit(IRIS, SPECIES)), quick()).fit(IRIS, SPECIES)
    np.testing.assert_array_equal(model._said(IRIS, IRIS).hard, SPECIES)


def test_it_works_in_a_pipeline_and_a_grid_search():
    y = noisy(SPECIES, 0.2)
    pipeline = make_pipeline(StandardScaler(), CalibratedClassifier(tree(), quick(epochs=1)))
    grid = {
        "calibratedclassifier__estimator__max_depth": [1, 3],
        "calibratedclassifier__calibrator__k": np.array([5, 10]),
    }
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(IRIS, y)
    assert set(search.best_params_) == set(grid)
    fitted = search.best_estimator_[-1]
    assert fitted.estimator_.max_depth == search.best_params_["calibratedclassifier__estimator__max_depth"]
    assert fitted.calibrator_.k == search.best_params_["calibratedclassifier__calibrator__k"]
    assert search.score(IRIS, SPECIES) > 0.6


def test_a_clone_has_its_parameters_and_none_of_its_state():
    model = CalibratedClassifier(tree(), quick(rho=3), embed=PCA(2), random_state=5).fit(IRIS, SPECIES)
    copy = clone(model)
    assert not hasattr(copy, "estimator_")
    assert copy.get_params()["calibrator__rho"] == 3
    assert copy.get_params()["embed__n_components"] == 2
    np.testing.assert_array_equal(copy.fit(IRIS, SPECIES).predict_proba(IRIS), model.predict_proba(IRIS))


def test_embed_makes_the_view_without_labels():
    class Watched(PCA):
        def fit(self, X, y=None):
            assert y is None
            return super().fit(X)

    model = CalibratedClassifier(tree(), quick(), embed=Watched(2)).fit(IRIS, SPECIES)
    assert model.calibrator_.view_widths_ == {"features": 2}
    np.testing.assert_array_equal(model._said(IRIS, IRIS).features, model.embed_.transform(IRIS))


def test_texts_are_taken_with_an_embedding():
    rng = np.random.default_rng(0)
    words = {"sport": ["ball", "goal", "team", "match"], "food": ["bread", "soup", "salt", "oven"]}
    truth = np.array(["sport", "food"] * 100)
    texts = [" ".join(rng.choice([*words[topic], "the", "a", "today"], 8)) for topic in truth]
    labels = noisy(truth, 0.4)
    model = CalibratedClassifier(
        make_pipeline(TfidfVectorizer(), MultinomialNB()),
        random_state=0,
        embed=make_pipeline(TfidfVectorizer(), TruncatedSVD(4, random_state=0)),
    ).fit(texts, labels)
    assert model.predict(texts).shape == (200,)
    assert model.score(texts, truth) > 0.9
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        clone(model).fit(texts, None)


@pytest.mark.filterwarnings("error")
def test_a_frozen_classifier_gets_the_data_frame_it_knows():
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    frozen = FrozenEstimator(tree().fit(frame, SPECIES))
    model = CalibratedClassifier(frozen, KNN(k=5)).fit(frame, noisy(SPECIES, 0.2))
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.predict_proba(frame).shape == (150, 3)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba; wrap it in CalibratedClassifierCV first"):
        CalibratedClassifier(LinearSVC()).fit(IRIS, SPECIES)
    with pytest.raises(ValueError, match="y has one class only; a classifier needs samples of at least 2 classes"):
        CalibratedClassifier(tree()).fit(IRIS, np.ones(150))
    with pytest.raises(NotFittedError):
        CalibratedClassifier().predict(IRIS)
