"""T(x) from exact and from inexact inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from truelabel.transitions import solve_transition
from truelabel.transitions.solve import project_to_simplex

EVEN = np.full((3, 3), 1 / 3)


def random_problem(n: int, c: int, seed: int) -> tuple[np.ndarray, ...]:
    """H, p(ŷ | x), p(ŷ | ỹ, x) and T of n instances that have nothing in common."""
    rng = np.random.default_rng(seed)
    p, T = rng.dirichlet(np.ones(c), size=n) * 0.9 + 0.1 / c, rng.dirichlet(np.full(c, 0.5), size=(n, c))
    G = 0.4 * rng.dirichlet(np.ones(c), size=(n, c)) + 0.6 * np.eye(c)
    joint = p[:, :, None] * (T @ G)  # p(y, ŷ | x)
    q = joint.sum(axis=1)
    return (joint / q[:, None]).transpose(0, 2, 1), q, G, T


def test_the_proposition_gives_t_back_from_a_joint_that_is_written_down(written: Any) -> None:
    found = solve_transition(written.H, written.q, written.G, EVEN, ridge=0)
    np.testing.assert_allclose(found.transition, written.T, atol=1e-6)
    assert found.condition.max() < 2
    np.testing.assert_allclose(found.determined, 1)
    assert found.residual.max() < 1e-9
    assert np.abs(found.transition - written.T.transpose(0, 2, 1)).max() > 0.1  # T[y, ỹ], not its transpose


def test_many_instances_are_solved_at_once_each_for_itself() -> None:
    H, q, G, T = random_problem(500, 6, seed=0)
    found = solve_transition(H, q, G, np.eye(6), ridge=0)
    np.testing.assert_allclose(found.transition, T, atol=1e-6)
    alone = solve_transition(H[7:8], q[7:8], G[7:8], np.eye(6), ridge=0)
    np.testing.assert_allclose(alone.transition[0], found.transition[7], atol=1e-9)
    np.testing.assert_allclose(found.condition, np.linalg.cond(G))


def test_h_of_single_precision_is_good_to_four_digits(written: Any) -> None:
    H, q, G = (part.astype(np.float32) for part in (written.H, written.q, written.G))
    np.testing.assert_allclose(solve_transition(H, q, G, EVEN, ridge=0).transition, written.T, atol=1e-4)


def test_rows_are_distributions_and_the_best_there_are_when_the_inputs_contradict_each_other() -> None:
    """Against SciPy's solver of the same problem, row by row."""
    H, q, G, _ = random_problem(6, 4, seed=1)
    rng = np.random.default_rng(2)
    H = rng.dirichlet(np.ones(4), size=(6, 4))  # no T explains these
    reference, ridge = rng.dirichlet(np.ones(4), size=4), 0.02
    found = solve_transition(H, q, G, reference, ridge)
    assert found.transition.min() >= 0
    np.testing.assert_allclose(found.transition.sum(axis=2), 1, atol=1e-12)
    assert (found.transition == 0).any()
    assert found.solved.all()
    for i, y in np.ndindex(6, 4):
        p = H[i, :, y] @ q[i]
        r = H[i, :, y] * q[i] / p

        def loss(t: np.ndarray, i: int = i, y: int = y, p: float = p, r: np.ndarray = r) -> float:
            return float(p * np.sum((t @ G[i] - r) ** 2) + ridge * np.sum((t - reference[y]) ** 2))

        best = minimize(
            loss,
            np.full(4, 0.25),
            method="SLSQP",
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda t: t.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        np.testing.assert_allclose(found.transition[i, y], best.x, atol=1e-5)


class TestNearRankOne:
    def test_where_the_prediction_ignores_the_label_the_reference_stands(self, written: Any) -> None:
        G = np.repeat(written.q[:, None], 3, axis=1)  # ŷ is a function of x
        H = np.repeat(written.p[:, None], 3, axis=1)  # ... so it says nothing of y
        reference = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.0, 0.1, 0.9]])
        for ridge in (0, 0.01):
            found = solve_transition(H, written.q, G, reference, ridge)
            np.testing.assert_allclose(found.transition, np.broadcast_to(reference, (4, 3, 3)), atol=1e-9)
            np.testing.assert_allclose(found.determined, 0, atol=1e-9)
            assert found.condition.min() > 1e12
            assert np.isfinite(found.condition).all()

    def test_errors_are_not_blown_up(self, stubborn: Any) -> None:
        """Errors of 0.01 in H change T by a multiple without the regulariser, and hardly with it."""
        error = 0.01 * np.random.default_rng(0).dirichlet(np.ones(3), size=(4, 3))
        H = 0.99 * stubborn.H + error
        assert solve_transition(H, stubborn.q, stubborn.G, EVEN, 0).condition.min() > 30

        def moved(ridge: float) -> float:
            off, on = (solve_transition(h, stubborn.q, stubborn.G, EVEN, ridge) for h in (stubborn.H, H))
            return float(np.abs(off.transition - on.transition).max())

        assert moved(0) > 0.2
        assert moved(0.03) < 0.01
        assert solve_transition(H, stubborn.q, stubborn.G, EVEN, 0.03).determined.max() < 0.02

    def test_exact_inputs_are_enough_even_then(self, stubborn: Any) -> None:
        found = solve_transition(stubborn.H, stubborn.q, stubborn.G, EVEN, ridge=0)
        np.testing.assert_allclose(found.transition, stubborn.T, atol=1e-6)


def test_what_is_determined_falls_with_the_ridge_as_in_the_closed_form() -> None:
    """If ŷ = ỹ, all directions count alike: p_j / (p_j + ridge) for row j, and the rows count with p_j."""
    p = np.array([0.5, 0.3, 0.2])
    T = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    joint = p[:, None] * T
    q = joint.sum(axis=0)
    found = solve_transition((joint / q).T[None], q[None], np.eye(3)[None], EVEN, ridge=0.1)
    assert found.determined[0] == pytest.approx(sum(p * p / (p + 0.1)))
    np.testing.assert_allclose(found.transition[0], (p[:, None] * T + 0.1 * EVEN) / (p[:, None] + 0.1), atol=1e-9)


def test_a_class_that_cannot_be_there_has_the_references_row(written: Any) -> None:
    H, q, G = written.H.copy(), written.q, written.G
    H[0] = [[1.0, 0.0, 0.0]] * 3
    for ridge in (0, 0.01):
        found = solve_transition(H, q, G, EVEN, ridge).transition
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found[0, 1:], 1 / 3, atol=1e-9)


def test_a_negative_ridge_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match="ridge must be at least 0, not -1"):
        solve_transition(written.H, written.q, written.G, EVEN, -1)


@pytest.mark.parametrize(
    ("point", "nearest"),
    [
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
        ([2.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
        ([0.5, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]),
        ([0.9, 0.5, -0.7], [0.7, 0.3, 0.0]),
        ([-1.0, -1.0, -1.5], [0.5, 0.5, 0.0]),
    ],
)
def test_the_nearest_point_of_the_simplex(point: list[float], nearest: list[float]) -> None:
    found = project_to_simplex(torch.tensor([point], dtype=torch.float64))
    np.testing.assert_allclose(found[0], nearest, atol=1e-12)
