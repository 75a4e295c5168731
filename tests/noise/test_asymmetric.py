import numpy as np
import pytest
from scipy import stats

from truelabel.noise import MAPS, Asymmetric

Y = np.arange(20_000) % 10


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "cifar10"])
def test_only_the_mapped_pairs_are_flipped(name):
    noisy = Asymmetric(0.4, name).corrupt(None, Y, seed=0)
    for k in range(10):
        members = k == Y
        if k not in MAPS[name]:
            assert not noisy.flipped[members].any()
            continue
        assert set(noisy.labels[members]) == {k, MAPS[name][k]}
        assert stats.binomtest(int(noisy.flipped[members].sum()), int(members.sum()), 0.4).pvalue > 0.001


def test_the_maps_are_the_papers():
    fashion = ["t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]
    cifar = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    assert MAPS["mnist"] == {2: 7, 3: 8, 5: 6, 6: 5}
    assert {fashion[a]: fashion[b] for a, b in MAPS["fashion-mnist"].items()} == {
        "t-shirt": "shirt",
        "pullover": "coat",
        "sandal": "sneaker",
    }
    assert {cifar[a]: cifar[b] for a, b in MAPS["cifar10"].items()} == {
        "truck": "automobile",
        "bird": "airplane",
        "deer": "horse",
        "cat": "dog",
        "dog": "cat",
    }


def test_a_user_gives_a_map():
    transition = Asymmetric(0.25, {1: 0}).corrupt(None, Y, seed=0, n_classes=12).transition
    expected = np.eye(12)
    expected[1, [0, 1]] = 0.25, 0.75
    np.testing.assert_allclose(transition, expected, atol=1e-6)


def test_it_can_be_hashed_and_compared():
    assert Asymmetric(0.4, {1: 0}) == Asymmetric(0.4, {1: 0}) != Asymmetric(0.4, {0: 1})
    assert len({Asymmetric(0.4, {1: 0}), Asymmetric(0.4, {1: 0})}) == 1


def test_a_bad_map_is_refused():
    with pytest.raises(ValueError, match="pass a dict"):
        Asymmetric(0.4, "imagenet")
    with pytest.raises(ValueError, match="to itself"):
        Asymmetric(0.4, {3: 3})
    with pytest.raises(ValueError, match="there are 10 classes"):
        Asymmetric(0.4, {3: 10}).corrupt(None, Y, seed=0)
