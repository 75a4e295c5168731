import numpy as np
import pytest

from truelabel import demo

NOISY, KNN, PAPER, NPC, CLEAN = (
    "classifier trained on noisy labels",
    "k-NN vote",
    "NPC, paper recipe",
    "NPC",
    "classifier trained on clean labels",
)


def test_over_five_seeds_npc_is_at_least_three_points_above_classifier_vote_and_paper_recipe():
    """One test, so that workers that share the tests between them run the five seeds once."""
    found = [demo.run(seed, progress=False) for seed in range(5)]
    for one in found:
        assert one.noise_rate == pytest.approx(demo.NOISE_RATE, abs=0.03)
        assert one.fitted >= 0.95, "the network has to memorise the noisy labels"
        for name, confusion in zip((NOISY, NPC), one.confusions.values(), strict=True):
            np.testing.assert_allclose(confusion.sum(axis=1), 1)
            assert np.diag(confusion).mean() == pytest.approx(one.accuracy[name], abs=0.01)
    mean = {name: np.mean([one.accuracy[name] for one in found]) for name in (NOISY, KNN, PAPER, NPC, CLEAN)}
    assert mean[NPC] >= max(mean[NOISY], mean[KNN], mean[PAPER]) + 0.03, mean
    assert mean[CLEAN] > 0.97
