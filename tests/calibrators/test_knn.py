import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

from truelabel import Predictions
from truelabel.calibrators import KNN

RNG = np.random.default_rng(0)
LABELS = RNG.integers(4, size=300)
X = (RNG.normal(size=(300, 5)) + LABELS[:, None]).astype(np.float32)
PROBS = RNG.dirichlet(np.ones(4), 300)
NEW = (RNG.normal(size=(80, 5)) + 1).astype(np.float32)


@pytest.mark.parametrize("weights", ["distance", "uniform"])
@pytest.mark.parametrize("k", [1, 10, 299])
def test_it_is_the_vote_of_scikit_learn(weights, k):
    expected = KNeighborsClassifier(k, weights=weights, algorithm="brute").fit(X, LABELS)
    knn = KNN(k, weights=weights).fit(Predictions(PROBS, X, labels=LABELS))
    asked = Predictions(PROBS[:80], NEW)
    np.testing.assert_allclose(knn.calibrate(asked), expected.predict_proba(NEW), atol=1e-4)


def test_an_instance_met_before_has_its_own_label():
    known = Predictions(PROBS, X, labels=LABELS)
    np.testing.assert_array_equal(KNN(10).fit(known).calibrate(known), np.eye(4)[LABELS])


def test_several_views_are_put_side_by_side():
    split = {"a": X[:, :2], "b": X[:, 2:]}
    knn = KNN().fit(Predictions(PROBS, split, labels=LABELS))
    whole = KNN().fit(Predictions(PROBS, X, labels=LABELS))
    one = knn.calibrate(Predictions(PROBS[:80], {"a": NEW[:, :2], "b": NEW[:, 2:]}))
    np.testing.assert_array_equal(one, whole.calibrate(Predictions(PROBS[:80], NEW)))


def test_without_labels_the_predictions_vote():
    expected = KNeighborsClassifier(10, weights="distance", algorithm="brute").fit(X, PROBS.argmax(axis=1))
    found = KNN().fit(Predictions(PROBS, X)).calibrate(Predictions(PROBS[:80], NEW))
    np.testing.assert_allclose(found, expected.predict_proba(NEW), atol=1e-4)


def test_a_class_that_no_label_has_gets_no_vote():
    labels = LABELS.clip(max=2)
    found = KNN().fit(Predictions(PROBS, X, labels=labels)).calibrate(Predictions(PROBS[:80], NEW))
    assert found.shape == (80, 4)
    assert (found[:, 3] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("k", [0, 300, 301])
def test_k_lies_between_one_and_the_number_of_instances(k):
    with pytest.raises(ValueError, match=rf"k must be at least 1 and below .* \(300\), not {k}\."):
        KNN(k).fit(Predictions(PROBS, X, labels=LABELS))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match='weights must be "distance" or "uniform", not \'near\''):
        KNN(weights="near").fit(Predictions(PROBS, X))
    with pytest.raises(ValueError, match="needs features to find neighbours in"):
        KNN().fit(Predictions(PROBS))
    with pytest.raises(ValueError, match=r"labels holds one class only \(class 1\)"):
        KNN().fit(Predictions(PROBS, X, labels=np.ones(300, int)))
    with pytest.raises(TypeError, match=r"fit takes a truelabel\.Predictions, not ndarray"):
        KNN().fit(X)
    with pytest.raises(NotFittedError, match="this KNN is not fitted yet; call fit first"):
        KNN().calibrate(Predictions(PROBS, X))
    knn = KNN().fit(Predictions(PROBS, X, labels=LABELS))
    with pytest.raises(ValueError, match="features has 3 columns, but the calibrator was fitted on 5"):
        knn.calibrate(Predictions(PROBS, X[:, :3]))
    with pytest.raises(ValueError, match="probs has 2 classes, but the calibrator was fitted on 4"):
        knn.calibrate(Predictions(np.full((300, 2), 0.5), X))
    with pytest.raises(ValueError, match="fitted on the view 'features', which is missing"):
        knn.calibrate(Predictions(PROBS))
