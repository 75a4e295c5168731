"""Heads that learn from votes through what is known of the annotators."""

import numpy as np
import pytest
import torch

from truelabel.copies import Copies, find_copies
from truelabel.experts.heads import HeadSettings
from truelabel.experts.through_votes import through_votes
from truelabel.progress import Progress
from truelabel.scale import Scale, moments

N = 600


def foretold(
    x: np.ndarray,
    log_likelihood: np.ndarray,
    reference: np.ndarray,
    seed: int = 0,
    copies: Copies | None = None,
    settings: HeadSettings | None = None,
) -> np.ndarray:
    return through_votes(
        x,
        Scale("whole", *moments(x)),
        log_likelihood,
        reference,
        device=torch.device("cpu"),
        seed=seed,
        progress=Progress(False),
        copies=copies,
        settings=settings,
    )


@pytest.fixture(scope="module")
def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=N)
    return (rng.normal(size=(N, 3)) + 3 * truth[:, None]).astype(np.float32), truth


def test_known_mistakes_are_learned_through(points: tuple[np.ndarray, np.ndarray]) -> None:
    x, truth = points
    rng = np.random.default_rng(1)
    confusion = np.array([[0.35, 0.65], [0.02, 0.98]])  # most of class 0 is labelled 1
    given = (rng.random(N) < confusion[truth, 1]).astype(int)
    found = foretold(x, np.log(confusion.T[given]), np.arange(N))
    assert np.mean(given == truth) < 0.75
    assert np.mean(found.argmax(axis=1) == truth) > 0.95


def test_an_instance_is_not_foretold_from_its_own_votes(points: tuple[np.ndarray, np.ndarray]) -> None:
    x, _ = points
    rng = np.random.default_rng(2)
    given = rng.integers(2, size=N)  # nothing to learn but by heart
    found = foretold(x, np.log(np.where(np.eye(2)[given] == 1, 0.999, 0.001)), np.arange(N))
    assert abs(np.mean(found.argmax(axis=1) == given) - 0.5) < 0.08


def test_instances_without_votes_are_foretold_and_do_not_teach(points: tuple[np.ndarray, np.ndarray]) -> None:
    x, truth = points
    log_likelihood = np.log(np.where(np.eye(2)[truth] == 1, 0.9, 0.1))
    reference = np.arange(0, N, 2)
    found = foretold(x, log_likelihood, reference)
    assert np.mean(found.argmax(axis=1)[1::2] == truth[1::2]) > 0.95
    other = log_likelihood.copy()
    other[1::2] = other[1::2, ::-1]
    np.testing.assert_array_equal(foretold(x, other, reference), found)


def test_it_is_repeatable_and_leaves_torchs_random_numbers_alone(points: tuple[np.ndarray, np.ndarray]) -> None:
    x, truth = points
    log_likelihood = np.log(np.where(np.eye(2)[truth] == 1, 0.9, 0.1))
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    first = foretold(x, log_likelihood, np.arange(N))
    assert torch.equal(before, torch.random.get_rng_state())
    np.testing.assert_array_equal(foretold(x, log_likelihood, np.arange(N)), first)
    assert not np.array_equal(foretold(x, log_likelihood, np.arange(N), seed=1), first)
    np.testing.assert_allclose(first.sum(axis=1), 1, atol=1e-5)


def test_no_row_is_foretold_by_a_head_that_saw_the_votes_for_a_copy() -> None:
    x = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    x = x[np.r_[np.arange(60), np.arange(10)]]
    copies = find_copies({"x": x})
    assert copies is not None
    said = np.random.default_rng(1).normal(size=(70, 2))
    one = HeadSettings(epochs=1, least_steps=1)
    before = foretold(x, said, np.arange(65), copies=copies, settings=one)
    for row in (0, 4, 9):  # copies are the rows 60, 64, which is in the reference, and 69, which is not
        other = said.copy()
        other[row] = other[row, ::-1] + 1.0 * np.arange(2)
        after = foretold(x, other, np.arange(65), copies=copies, settings=one)
        np.testing.assert_array_equal(after[[row, 60 + row]], before[[row, 60 + row]])
        assert np.abs(after - before).max() > 1e-5
