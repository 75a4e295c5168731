import numpy as np
from scipy import stats

from truelabel.noise.drawing import average_transition, draw


def test_draws_follow_the_probabilities():
    p = np.array([0.5, 0.2, 0.0, 0.3])
    counts = np.bincount(draw(np.tile(p, (20_000, 1)), np.random.default_rng(0)), minlength=4)
    assert counts[2] == 0
    assert stats.chisquare(counts[[0, 1, 3]], 20_000 * p[[0, 1, 3]]).pvalue > 0.001


def test_a_certain_class_is_always_drawn():
    for k in range(3):
        assert (draw(np.tile(np.eye(3, dtype=np.float32)[k], (1000, 1)), np.random.default_rng(k)) == k).all()


def test_the_average_is_taken_within_each_class():
    rows = np.array([[0.8, 0.2, 0.0], [0.6, 0.4, 0.0], [0.1, 0.9, 0.0]])
    expected = [[0.7, 0.3, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(average_transition(rows, np.array([0, 0, 1])), expected)
