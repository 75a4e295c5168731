import numpy as np
import pytest

from truelabel.label_noise.evenness import evenly_wrong


def labels_of(probs: np.ndarray, seed: int = 0) -> np.ndarray:
    """Draw a label from each row of probabilities."""
    chance = np.random.default_rng(seed).random((len(probs), 1))
    return (chance > probs.cumsum(axis=1)).sum(axis=1).clip(max=probs.shape[1] - 1)


def two_classes(first: np.ndarray) -> np.ndarray:
    return np.stack([first, 1 - first], axis=1).astype(np.float32)


PLACES = np.linspace(0, 1, 4_000)


def test_one_rate_of_wrong_labels_in_classes_apart_is_noise() -> None:
    probs = two_classes(np.where(PLACES < 0.5, 0.75, 0.25))
    assert evenly_wrong(probs, labels_of(probs), wrong=0.25)


@pytest.mark.parametrize(
    ("first", "wrong"),
    [
        (PLACES, 0.1),  # a ramp from one class to the other: the surest fifth of each has 10 % of the other's labels
        (0.3 + 0.4 * PLACES, 0.34),  # features too weak to be sure anywhere, but still a ramp
        (1 / (1 + np.exp(-6 * (2 * PLACES - 1))), 0.004),  # clean classes that overlap
    ],
)
def test_classes_that_overlap_are_no_noise(first: np.ndarray, wrong: float) -> None:
    probs = two_classes(first)
    assert not evenly_wrong(probs, labels_of(probs), wrong)


def test_experts_that_know_only_how_common_labels_are_prove_nothing() -> None:
    probs = two_classes(np.full(4_000, 0.6))
    assert not evenly_wrong(probs, labels_of(probs), wrong=0.4)


def test_clean_labels_in_classes_apart_prove_no_noise() -> None:
    probs = two_classes(np.where(PLACES < 0.5, 0.99, 0.01))
    labels = (PLACES >= 0.5).astype(int)
    assert not evenly_wrong(probs, labels, wrong=0.0)
