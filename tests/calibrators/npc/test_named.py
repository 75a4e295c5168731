"""H where the truth is known, and a classifier that names classes knows what x does not tell."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from truelabel import NPC, Predictions
from truelabel.calibrators.npc.named import evidence_of_names

C = 3
CONFUSION = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.05, 0.15, 0.8]])  # p(ŷ | y), whatever x is


def soft(classes: np.ndarray, sure: float = 0.97) -> np.ndarray:
    """Probabilities that name these classes."""
    return np.where(np.eye(C, dtype=bool)[classes], sure, (1 - sure) / (C - 1)).astype(np.float32)


def made(n: int, seed: int) -> SimpleNamespace:
    """Blobs that overlap, labels of which a fifth is wrong, and a classifier that saw something else than x."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, C, n)
    centres = 1.2 * np.eye(C, 4)
    x = (centres[truth] + rng.normal(size=(n, 4))).astype(np.float32)
    named = np.array([rng.choice(C, p=CONFUSION[y]) for y in truth])
    labels = np.where(rng.random(n) < 0.2, (truth + rng.integers(1, C, n)) % C, truth)
    by_x = np.exp(-0.5 * np.square(x[:, None] - centres).sum(axis=2))
    by_x /= by_x.sum(axis=1, keepdims=True)
    h = by_x[:, None, :] * CONFUSION.T
    said = Predictions(soft(named), x, labels=labels, out_of_sample=True)
    return SimpleNamespace(said=said, named=named, by_x=by_x, h=h / h.sum(axis=2, keepdims=True), truth=truth)


@pytest.fixture(scope="module")
def found() -> SimpleNamespace:
    train, new = made(6_000, 0), made(2_000, 1)
    npc = NPC(random_state=0, progress=False).fit(train.said)
    asked = Predictions(new.said.probs, new.said.views["features"])
    return SimpleNamespace(npc=npc, new=new, asked=asked, h=np.concatenate(list(npc.transition(asked))))


class TestH:
    def test_it_is_near_the_true_one_where_the_classifier_names_a_class(self, found: SimpleNamespace) -> None:
        rows = np.arange(len(found.h)), found.new.named
        assert np.abs(found.h[rows] - found.new.h[rows]).mean() < 0.05

    def test_it_is_nearly_as_near_for_the_classes_that_it_does_not_name(self, found: SimpleNamespace) -> None:
        assert np.abs(found.h - found.new.h).mean() < 0.07

    def test_the_best_h_that_ignores_what_is_named_is_three_times_as_far(self, found: SimpleNamespace) -> None:
        ignoring = np.abs(found.new.by_x[:, None] - found.new.h).mean()
        assert ignoring > 2.5 * np.abs(found.h - found.new.h).mean()

    def test_predictions_are_the_sum_over_it(self, found: SimpleNamespace) -> None:
        summed = np.einsum("nk,nkj->nj", found.asked.probs, found.h)
        np.testing.assert_allclose(found.npc.calibrate(found.asked), summed, atol=1e-5)

    def test_predictions_are_nearly_as_good_as_they_can_be(self, found: SimpleNamespace) -> None:
        best = found.new.h[np.arange(len(found.h)), found.new.named].argmax(axis=1)
        right = np.mean(found.npc.calibrate(found.asked).argmax(axis=1) == found.new.truth)
        assert right > np.mean(best == found.new.truth) - 0.02


class TestEvidenceOfNames:
    def test_a_classifier_whose_sureness_tells_is_heard_by_its_probabilities(self) -> None:
        problem = made(2_000, 0)
        experts = [np.full((2_000, C), 1 / C, dtype=np.float32)]
        weights = np.array([0.5, 0.5], dtype=np.float32)
        right = problem.named == problem.said.labels
        probs = np.where(right[:, None], soft(problem.named, 0.9), soft(problem.named, 0.6)).astype(np.float32)
        assert evidence_of_names(experts, weights, probs, problem.said.labels) is None

    def test_one_that_is_always_as_sure_is_heard_by_the_class_it_names(self) -> None:
        problem = made(2_000, 0)
        experts = [np.full((2_000, C), 1 / C, dtype=np.float32)]
        found = evidence_of_names(experts, np.array([0.5, 0.5], np.float32), problem.said.probs, problem.said.labels)
        assert found is not None
        assert found.weight > 0
        assert (found.evidence.argmax(axis=1) == np.arange(C)).all()

    def test_a_class_that_is_never_named_is_evidence_like_the_others(self) -> None:
        rng = np.random.default_rng(0)
        named = rng.integers(0, 2, 500)
        labels = np.where(rng.random(500) < 0.8, named, 2)
        experts = [np.full((500, C), 1 / C, dtype=np.float32)]
        found = evidence_of_names(experts, np.array([0.5, 0.5], np.float32), soft(named), labels)
        assert found is not None
        np.testing.assert_allclose(found.evidence[2], found.evidence[0][[1, 2, 0]], atol=1e-3)
