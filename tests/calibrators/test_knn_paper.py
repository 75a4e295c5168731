import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from truelabel import Predictions
from truelabel.calibrators import PaperKNN
from truelabel.calibrators.npc import VotePrior
from truelabel.calibrators.npc.given import Given

RNG = np.random.default_rng(0)
N, C = 300, 4
LABELS = RNG.integers(C, size=N)
HIDDEN = (RNG.normal(size=(N, 5)) + LABELS[:, None]).astype(np.float32)
PROBS = RNG.dirichlet(np.ones(C), N)
NEW = (RNG.normal(size=(80, 5)) + 1).astype(np.float32)
SAID = Predictions(PROBS, hidden=HIDDEN, labels=LABELS)


def surest(rows):
    """Return the most confident of some rows for each predicted class."""
    predicted = PROBS[rows].argmax(axis=1)
    return sorted(max(rows[predicted == k], key=lambda row: PROBS[row].max()) for k in np.unique(predicted))


def test_the_surest_instance_of_each_predicted_class_votes_with_its_prediction():
    rows = surest(np.arange(N))  # all instances are one batch
    knn = PaperKNN(3, batch_size=N).fit(SAID)
    assert knn.references_.tolist() == rows
    vote = KNeighborsClassifier(3, weights="distance", algorithm="brute").fit(HIDDEN[rows], PROBS[rows].argmax(axis=1))
    np.testing.assert_allclose(knn.calibrate(Predictions(PROBS[:80], hidden=NEW)), vote.predict_proba(NEW), atol=1e-4)


def test_every_batch_has_its_reference_points():
    found = PaperKNN(batch_size=30, random_state=3).fit(SAID)
    order = np.random.default_rng(3).permutation(N)
    expected = sorted(row for start in range(0, N, 30) for row in surest(order[start : start + 30]))
    assert found.references_.tolist() == expected


def test_it_is_the_prior_of_the_papers_recipe():
    belief = VotePrior().believe(Given(SAID, seed=5))
    np.testing.assert_array_equal(PaperKNN(random_state=5).fit(SAID).calibrate(SAID), belief.shares)


def test_the_noisy_labels_are_not_read():
    other = Predictions(PROBS, hidden=HIDDEN, labels=(LABELS + 1) % C)
    answers = [PaperKNN(random_state=0).fit(said).calibrate(said) for said in (SAID, other)]
    np.testing.assert_array_equal(*answers)


def test_it_reads_the_hidden_layer_and_features_where_there_is_none():
    both = Predictions(PROBS, np.zeros((N, 2)), hidden=HIDDEN)
    by_layer = PaperKNN(random_state=0).fit(both).calibrate(Predictions(PROBS[:80], hidden=NEW))
    split = Predictions(PROBS, {"a": HIDDEN[:, :2], "b": HIDDEN[:, 2:]})
    new = Predictions(PROBS[:80], {"a": NEW[:, :2], "b": NEW[:, 2:]}, hidden=np.zeros((80, 7)))
    np.testing.assert_array_equal(by_layer, PaperKNN(random_state=0).fit(split).calibrate(new))


def test_fewer_reference_points_than_neighbours_all_vote():
    probs = PaperKNN(10, batch_size=N).fit(SAID).calibrate(SAID)
    assert (probs > 0).sum(axis=1).max() == C


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="k must be at least 1, not 0"):
        PaperKNN(0).fit(SAID)
    with pytest.raises(ValueError, match="batch_size must be at least 1, not 0"):
        PaperKNN(batch_size=0).fit(SAID)
    with pytest.raises(ValueError, match=r"needs the classifier's hidden layer; pass Predictions\(hidden=…\)"):
        PaperKNN().fit(Predictions(PROBS))
    with pytest.raises(ValueError, match=r"fitted on the classifier's hidden layer; pass Predictions\(hidden=…\)"):
        PaperKNN().fit(SAID).calibrate(Predictions(PROBS, HIDDEN))
    with pytest.raises(ValueError, match="hidden has 3 columns, but the calibrator was fitted on 5"):
        PaperKNN().fit(SAID).calibrate(Predictions(PROBS, hidden=HIDDEN[:, :3]))
    with pytest.raises(ValueError, match="fitted on the view 'features', which is missing"):
        PaperKNN().fit(Predictions(PROBS, HIDDEN)).calibrate(Predictions(PROBS, hidden=HIDDEN))
