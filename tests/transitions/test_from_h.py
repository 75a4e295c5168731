"""T(x) where p(ŷ | ỹ, x), or H as well, are learned from what was drawn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from truelabel import NPC, Predictions
from truelabel.transitions import TransitionFromH, from_h, npc_transitions


def by_place(found: TransitionFromH, said: Predictions, where: np.ndarray) -> np.ndarray:
    """Mean T(x) of each place."""
    T = np.concatenate(list(found.transition(said)))
    np.testing.assert_allclose(T.sum(axis=2), 1, atol=1e-9)
    assert T.min() >= 0
    return np.stack([T[where == x].mean(axis=0) for x in range(where.max() + 1)])


@pytest.fixture(scope="module")
def fitted(written: Any) -> SimpleNamespace:
    where, _, said = written.draw(6000)
    found = TransitionFromH(ridge=1e-3, average="soft", random_state=0).fit(written.calibrator(where), said)
    return SimpleNamespace(found=found, said=said, where=where)


class TestLearnedFromDraws:
    """H is exact; p(ŷ | ỹ, x) and p(ŷ | x) are learned from 6,000 draws.

    Stated errors: 0.03 for an entry of T(x) on average, 0.15 at worst, 0.05 at worst for the average T.
    """

    def test_t_of_each_place_is_found(self, written: Any, fitted: Any) -> None:
        error = np.abs(by_place(fitted.found, fitted.said, fitted.where) - written.T)
        assert error.mean() < 0.03
        assert error.max() < 0.15
        assert np.abs(fitted.found.reference_ - written.T).mean() > 0.1  # which is not where it comes from

    def test_the_average_is_that_of_the_joint(self, written: Any, fitted: Any) -> None:
        assert np.abs(fitted.found.average_ - written.average).max() < 0.05
        np.testing.assert_allclose(fitted.found.average_.sum(axis=1), 1)

    def test_the_conditioning_is_reported(self, written: Any, fitted: Any) -> None:
        found = fitted.found.conditioning_
        assert found.condition == pytest.approx(np.median(np.linalg.cond(written.G)), rel=0.25)
        assert found.condition <= found.condition_90 < 3
        assert found.determined > 0.97
        assert found.unsolved == 0
        assert set(found.to_dict()) == {"condition", "condition_90", "determined", "residual", "unsolved"}
        assert "99% of T(x) is decided by H" in str(found)

    def test_new_instances_need_no_labels(self, written: Any, fitted: Any) -> None:
        where, _, said = written.draw(400, seed=1)
        found = TransitionFromH(ridge=1e-3, random_state=0)
        found.__dict__.update(fitted.found.__dict__, calibrator_=written.calibrator(where))
        assert np.abs(by_place(found, said.replace(labels=None), where) - written.T).mean() < 0.03


def test_a_prediction_that_hardly_depends_on_the_label_leaves_the_reference(stubborn: Any) -> None:
    where, _, said = stubborn.draw(3000)
    found = TransitionFromH(random_state=0).fit(stubborn.calibrator(where), said)
    assert found.conditioning_.condition > 15
    assert found.conditioning_.determined < 0.1
    assert np.abs(found.average_ - found.reference_).max() < 0.1


def test_the_default_npc_finds_the_noise_where_places_have_one_class_each(written: Any) -> None:
    """H learned too. Stated error: 0.05 for an entry of the average T at worst."""
    rng = np.random.default_rng(0)
    T = np.array([[0.7, 0.3, 0.0], [0.1, 0.8, 0.1], [0.0, 0.35, 0.65]])
    y = np.arange(1500) % 3
    noisy = (rng.random((1500, 1)) > T[y].cumsum(axis=1)).sum(axis=1)
    x = 6 * np.eye(3)[y] + rng.normal(size=(1500, 3))
    said = Predictions(np.eye(3)[noisy] * 0.94 + 0.02, x, labels=noisy)
    npc = NPC(random_state=0).fit(said)
    found = TransitionFromH(random_state=0).fit(npc, said)
    assert np.abs(found.average_ - T).max() < 0.05
    assert np.abs(np.eye(3) - T).max() == 0.35
    names = npc_transitions(npc, found)
    np.testing.assert_array_equal(names["NPC, T from H"], found.average_)
    np.testing.assert_array_equal(names["NPC, counted"], found.reference_)


def test_a_matrix_that_the_calibrator_estimated_itself_is_listed_if_it_has_one() -> None:
    found = SimpleNamespace(average_=np.eye(2), reference_=np.eye(2))
    assert list(npc_transitions(SimpleNamespace(), found, "here")) == ["here, T from H", "here, counted"]
    own = np.array([[0.9, 0.1], [0.2, 0.8]])
    np.testing.assert_array_equal(
        npc_transitions(SimpleNamespace(transition_matrix_=own), found)["NPC, estimated T"], own
    )


class TestParts:
    """With p(ŷ | ỹ, x) given, everything can be worked out by hand."""

    class Exact:
        """Knows p(ŷ | ỹ, x) and p(ŷ | x), and notes which rows it was asked for."""

        def __init__(self, written: Any, where: np.ndarray) -> None:
            self.G, self.q, self.where = written.G, written.q, where
            self.asked: list[slice] = []

        def fit(self, predictions: Predictions) -> TestParts.Exact:
            return self

        def transition(self, predictions: Predictions, rows: slice) -> tuple[np.ndarray, np.ndarray]:
            self.asked.append(rows)
            return self.G[self.where[rows]], self.q[self.where[rows]]

    def fitted(self, written: Any, **parameters: Any) -> tuple[TransitionFromH, Predictions, np.ndarray]:
        where, _, said = written.draw(500)
        given = self.Exact(written, where)
        return TransitionFromH(given=given, **parameters).fit(written.calibrator(where, 300), said), said, where

    def test_exact_parts_give_exact_t(self, written: Any) -> None:
        found, said, where = self.fitted(written, ridge=0, average="soft")
        T = np.concatenate(list(found.transition(said)))
        np.testing.assert_allclose(T, written.T[where], atol=1e-6)

    def test_nothing_of_the_size_of_all_instances_is_held(self, written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(from_h, "BLOCK_CELLS", 9 * 64)
        found, said, where = self.fitted(written, ridge=0)
        assert max(rows.stop - rows.start for rows in found.given_.asked) == 64
        pieces = list(found.transition(said))
        assert [len(piece) for piece in pieces] == [64, 64, 64, 64, 44, 64, 64, 64, 8]
        np.testing.assert_allclose(np.concatenate(pieces), written.T[where], atol=1e-6)

    def test_the_average_is_over_the_calibrated_class_or_over_all(self, written: Any) -> None:
        hard, said, where = self.fitted(written, ridge=0)
        # A classifier that is sure of ŷ: p(y | x) is the row of H that belongs to it.
        p = written.H[where, said.hard]
        np.testing.assert_allclose(
            hard.average_,
            [written.T[where[p.argmax(axis=1) == y], y].mean(axis=0) for y in range(3)],
            atol=1e-6,
        )
        soft, _, _ = self.fitted(written, ridge=0, average="soft")
        weighted = [p[:, y] @ written.T[where, y] / p[:, y].sum() for y in range(3)]
        np.testing.assert_allclose(soft.average_, weighted, atol=1e-6)

    def test_a_large_ridge_gives_the_reference_which_is_counted_or_given(self, written: Any) -> None:
        counted, said, where = self.fitted(written, ridge=1e9)
        classes = written.H[where, said.hard].argmax(axis=1)
        shares = [[np.mean(said.labels[classes == y] == k) for k in range(3)] for y in range(3)]
        np.testing.assert_allclose(counted.reference_, shares)
        np.testing.assert_allclose(counted.average_, shares, atol=1e-6)
        given, _, _ = self.fitted(written, ridge=1e9, reference=np.eye(3)[[1, 2, 0]])
        np.testing.assert_allclose(given.average_, np.eye(3)[[1, 2, 0]], atol=1e-6)

    def test_the_classifiers_own_probabilities_can_be_taken(self, written: Any) -> None:
        """It is sure of ŷ, so that T(x) explains ŷ alone: T of an instance with ŷ = ỹ = k is close to e_k."""
        where, _, said = written.draw(500)
        identity = self.Exact(SimpleNamespace(G=np.repeat(np.eye(3)[None], 4, axis=0), q=written.q), where)
        found = TransitionFromH(given=identity, ridge=0, probs="classifier").fit(written.calibrator(where), said)
        T = np.concatenate(list(found.transition(said)))
        np.testing.assert_allclose(T, np.repeat(np.eye(3)[said.hard][:, None], 3, axis=1), atol=1e-6)

    def test_mistakes_are_named(self, written: Any) -> None:
        where, _, said = written.draw(100)
        h = written.calibrator(where)
        with pytest.raises(ValueError, match='average must be "hard" or "soft"'):
            TransitionFromH(average="median").fit(h, said)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match='probs must be "learned" or "classifier"'):
            TransitionFromH(probs="mine").fit(h, said)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="T is about noisy labels"):
            TransitionFromH().fit(h, said.replace(labels=None))
        with pytest.raises(ValueError, match="reference is for 2 classes, but there are 3"):
            self.fitted(written, reference=np.eye(2))
        with pytest.raises(NotFittedError, match="call fit first"):
            next(TransitionFromH().transition(said))
