import numpy as np
import pytest
from scipy import stats

from truelabel.noise import Symmetric

Y = np.arange(20_000) % 10


@pytest.mark.parametrize("rate", [0.2, 0.8])
def test_the_stated_share_of_labels_is_flipped(rate):
    flips = Symmetric(rate).corrupt(None, Y, seed=0).flipped.sum()
    assert stats.binomtest(int(flips), len(Y), rate).pvalue > 0.001


def test_all_other_classes_are_equally_likely():
    noisy = Symmetric(0.5).corrupt(None, Y, seed=1)
    for k in range(10):
        counts = np.bincount(noisy.labels[(k == Y) & noisy.flipped], minlength=10)
        assert counts[k] == 0
        assert stats.chisquare(np.delete(counts, k)).pvalue > 0.0005


def test_its_transition_matrix_is_known_exactly():
    transition = Symmetric(0.36).corrupt(None, Y, seed=0).transition
    np.testing.assert_allclose(np.diag(transition), 0.64, atol=1e-6)
    np.testing.assert_allclose(transition[~np.eye(10, dtype=bool)], 0.04, atol=1e-6)
