"""What a prior is given, and what is refused before it is asked."""

import numpy as np
import pytest

from truelabel import Predictions
from truelabel.calibrators.npc.given import (
    Given,
    comparable,
    join,
    sample_weights,
    transition_matrix,
    trusted_classes,
    withhold,
)

PROBS = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.2, 0.6]])
X = np.arange(8.0).reshape(4, 2)
SAID = Predictions(PROBS, X, labels=[0, 1, 2, 2])


class TestExtras:
    def test_there_are_none_beside_predictions_alone(self):
        assert Given(SAID).extras == {}
        assert Given(SAID, seed=3, sample="picked").extras == {}

    @pytest.mark.parametrize(
        ("part", "name"),
        [
            ({"unseen": np.array([3])}, "validation"),
            ({"unlabelled": SAID}, "unlabelled"),
            ({"trusted": np.full(4, -1)}, "trusted"),
            ({"transition": np.eye(3)}, "label_transition"),
        ],
    )
    def test_each_has_the_name_that_it_has_in_npc(self, part, name):
        (value,) = part.values()
        extras = Given(SAID, **part).extras
        assert list(extras) == [name]
        assert extras[name] is value


class TestSampleWeights:
    def test_a_word_has_no_weights(self):
        assert sample_weights("random", np.array([0, -1]), 2) is None
        assert sample_weights([3, 0], np.array([0, -1]), 2).tolist() == [3, 0]

    @pytest.mark.parametrize(
        ("sample", "complaint"),
        [
            ("all", 'must be "random", "picked" or an array of weights, not \'all\''),
            ([1.0], "but there are 2 instances"),
            ([0.0, 1.0], "above 0 for each trusted instance"),
            ([1.0, -1.0], "never negative"),
            ([1.0, np.inf], "or infinite"),
        ],
    )
    def test_weights_that_make_no_sense_are_refused(self, sample, complaint):
        with pytest.raises(ValueError, match=complaint):
            sample_weights(sample, np.array([0, -1]), 2)


class TestTrustedClasses:
    @pytest.mark.parametrize("given", [[0, -1, 2, 1], np.array([0.0, -1.0, 2.0, 1.0]), np.array([0, -1, 2, 1], "int8")])
    def test_whole_numbers_of_any_kind_are_classes(self, given):
        found = trusted_classes(given, 4, 3)
        assert found.dtype == np.int64
        assert found.tolist() == [0, -1, 2, 1]

    @pytest.mark.parametrize(
        ("trusted", "complaint"),
        [
            (np.zeros(3), r"trusted has shape \(3,\), but there are 4 instances; pass a class or −1 for each"),
            (np.zeros((4, 3)), r"trusted has shape \(4, 3\)"),
            (np.full(4, 3), "classes from 0 to 2, or −1 where none is known"),
            (np.full(4, -2), "classes from 0 to 2, or −1"),
            (np.full(4, 0.5), "classes from 0 to 2, or −1"),
            (np.full(4, np.nan), "trusted|classes"),
            (["cat"] * 4, "trusted must hold real numbers"),
        ],
    )
    def test_anything_else_is_refused(self, trusted, complaint):
        with pytest.raises(ValueError, match=complaint):
            trusted_classes(trusted, 4, 3)


class TestTransitionMatrix:
    def test_rows_of_probabilities_are_taken(self):
        matrix = [[0.9, 0.1, 0], [0, 1, 0], [0.25, 0.25, 0.5]]
        np.testing.assert_array_equal(transition_matrix(matrix, 3), matrix)

    @pytest.mark.parametrize(
        ("matrix", "complaint"),
        [
            (np.eye(2), r"label_transition has shape \(2, 2\), but there are 3 classes; pass a 3×3 matrix"),
            (np.full((3, 3), 0.5), "at least 0, and 1 in sum"),
            ([[1.5, -0.5, 0], [0, 1, 0], [0, 0, 1]], "at least 0, and 1 in sum"),
            (np.array([[0.9, 0, 0], [0.1, 1, 0], [0, 0, 1]]), "rows of label_transition are p"),
            ([["a"] * 3] * 3, "label_transition must hold real numbers"),
        ],
        ids=["too small", "too large a sum", "negative", "columns", "names"],
    )
    def test_anything_else_is_refused(self, matrix, complaint):
        with pytest.raises(ValueError, match=complaint):
            transition_matrix(matrix, 3)


class TestComparable:
    def test_other_instances_of_the_same_classes_and_views_are(self):
        comparable(SAID, SAID[:2], "unlabelled")
        comparable(SAID, SAID.replace(labels=None, class_names=list("abc")), "unlabelled")

    @pytest.mark.parametrize(
        ("other", "error", "complaint"),
        [
            (PROBS, TypeError, r"unlabelled is a truelabel\.Predictions, not ndarray; wrap the arrays first"),
            (Predictions(np.full((4, 2), 0.5), X), ValueError, "unlabelled has 2 classes, but the training set has 3"),
            (Predictions(PROBS, X, class_names=list("bac")), ValueError, "unlabelled names other classes"),
            (Predictions(PROBS), ValueError, r"unlabelled has the views {}, but the training set has {'features': 2}"),
            (Predictions(PROBS, X[:, :1]), ValueError, r"unlabelled has the views {'features': 1}"),
            (Predictions(PROBS, {"pixels": X}), ValueError, r"unlabelled has the views {'pixels': 2}"),
        ],
        ids=["an array", "classes", "names", "no views", "width", "view"],
    )
    def test_anything_else_is_refused(self, other, error, complaint):
        with pytest.raises(error, match=complaint):
            comparable(SAID.replace(class_names=list("abc")), other, "unlabelled")


def test_what_is_withheld_is_even_and_the_rest_stays():
    shown = withhold(SAID, np.array([True, False, False, True]))
    np.testing.assert_allclose(shown.probs[[0, 3]], 1 / 3, rtol=1e-6)
    np.testing.assert_allclose(shown.probs[[1, 2]], PROBS[[1, 2]], rtol=1e-6)
    np.testing.assert_allclose(SAID.probs, PROBS, rtol=1e-6)
    np.testing.assert_array_equal(shown.labels, SAID.labels)


def test_a_joined_set_keeps_the_order():
    both = join(SAID, SAID[::-1])
    np.testing.assert_array_equal(both.labels, [0, 1, 2, 2, 2, 2, 1, 0])
    np.testing.assert_array_equal(both.views["features"][4:], X[::-1])
