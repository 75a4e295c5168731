import numpy as np
import pytest
import torch

from truelabel.networks import MLP
from truelabel.noise import SimilarityReflected
from truelabel.noise.similarity_reflected import flip_least_confident

SCORES = np.array(
    [
        [0.9, 0.05, 0.05],  # sure
        [0.1, 0.2, 0.7],  # true class 1 at 0.2: second least confident, goes to 2
        [0.5, 0.3, 0.2],  # true class 0
        [0.15, 0.8, 0.05],  # true class 2 at 0.05: least confident, goes to 1
        [0.4, 0.25, 0.35],  # true class 2 at 0.35: third, goes to 0
    ]
)
Y = np.array([0, 1, 0, 2, 2])


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(0.0, [0, 1, 0, 2, 2]), (0.2, [0, 1, 0, 1, 2]), (0.4, [0, 2, 0, 1, 2]), (0.5, [0, 2, 0, 1, 0])],
)
def test_the_least_confident_go_to_their_next_best_class(rate, expected):
    noisy = SimilarityReflected(rate, scores=SCORES).corrupt(None, Y, seed=0)
    assert noisy.labels.tolist() == expected
    assert np.array_equal(noisy.probabilities, np.eye(3)[expected])


def test_its_transition_matrix_counts_the_flips():
    transition = SimilarityReflected(0.4, scores=SCORES).corrupt(None, Y, seed=0).transition
    np.testing.assert_allclose(transition, [[1, 0, 0], [0, 0, 1], [0, 0.5, 0.5]])


@pytest.mark.parametrize(("n", "rate", "count"), [(100, 0.07, 7), (100, 0.29, 29), (7, 0.4, 3)])
def test_the_number_of_flips_is_n_times_the_rate_rounded_up(n, rate, count):
    scores = np.random.default_rng(0).random((n, 3))
    y = np.zeros(n, dtype=np.int64)
    assert (flip_least_confident(scores, y, rate) != y).sum() == count


def three_clouds(n=300):
    """Class 1 lies between 0 and 2, so its neighbours are what a classifier confuses."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return (rng.normal(size=(n, 2)) + np.column_stack([2.5 * y, np.zeros(n)])).astype(np.float32), y


def test_a_trained_classifier_confuses_neighbouring_classes():
    x, y = three_clouds()
    noisy = SimilarityReflected(0.3, network="mlp", epochs=4, device="cpu").corrupt(x, y, seed=0)
    assert noisy.flipped.sum() == 90
    assert noisy.transition[0, 1] > 5 * noisy.transition[0, 2]
    assert noisy.transition[2, 1] > 5 * noisy.transition[2, 0]
    # What is flipped lies nearer to the class it goes to than what is not.
    zero = y == 0
    assert x[zero & noisy.flipped, 0].mean() > x[zero & ~noisy.flipped, 0].mean() + 0.5


def test_training_is_deterministic_and_leaves_torch_and_the_module_alone():
    x, y = three_clouds(129)
    module = MLP(2, 3, hidden=(8,))
    weights = {name: value.clone() for name, value in module.state_dict().items()}
    noise = SimilarityReflected(0.3, network=module, epochs=2, device="cpu")
    state = torch.random.get_rng_state()
    first = noise.corrupt(x, y, seed=0)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert np.array_equal(first.labels, noise.corrupt(x, y, seed=0).labels)
    assert all(torch.equal(value, weights[name]) for name, value in module.state_dict().items())


def test_a_last_batch_of_one_row_does_not_stop_batchnorm():
    x = np.random.default_rng(0).random((129, 1, 8, 8)).astype(np.float32)
    noise = SimilarityReflected(0.1, network="cnn-tiny", epochs=1, device="cpu")
    assert noise.corrupt(x, np.arange(129) % 2, seed=0).flipped.sum() == 13


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="or scores="):
        SimilarityReflected(0.3).corrupt(None, Y, seed=0)
    with pytest.raises(ValueError, match=r"scores has shape \(5, 3\), but there are 4 labels"):
        SimilarityReflected(0.3, scores=SCORES).corrupt(None, Y[1:], seed=0)
    with pytest.raises(ValueError, match="at least 1"):
        SimilarityReflected(0.3, epochs=0)
