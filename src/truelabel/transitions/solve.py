"""The proposition turned round: T(x) from H(x), p(ŷ | x) and p(ŷ | ỹ, x), for many instances at once.

Write p for p(y | x), G for the matrix p(ŷ = k | ỹ = i, x) and J for the joint p(y = j, ŷ = k | x), which is
H_kj p(ŷ = k | x). If ŷ is independent of y given ỹ and x, then J = diag(p) T G. Row j of T is therefore sought as

    argmin over the simplex of  p_j ‖t G − J_j / p_j‖² + ridge ‖t − t₀‖²,

where t₀ is row j of a reference. On the simplex t − t₀ sums to 0, so only G with its rows' mean taken out counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from truelabel.arrays import Array

MOST_STEPS = 2_000
CLOSE = 1e-9  # largest change of an entry at which a row counts as solved
LOOK = 20  # steps from one look at who is done to the next
TINY = 1e-14  # below it, relative to the largest, an eigenvalue is taken for 0


@dataclass(frozen=True)
class Solution:
    """T(x) of a block of n instances, and how well the data decided it.

    Attributes
    ----------
    transition : (n, c, c) array
        T[i, y, ỹ] = p(ỹ | y, x_i); rows are not negative and sum to 1.
    condition : (n,) array
        Condition number of the matrix p(ŷ | ỹ, x): its largest singular value through its smallest.
    determined : (n,) array
        In [0, 1]: how much of T the equations decided; the rest is the reference's. 0 where ŷ does not depend on ỹ.
    residual : (n,) array
        Root mean square of p(y, ŷ | x) − diag(p(y | x)) T G.
    solved : (n,) bool array
        Whether the iteration came to rest.
    """

    transition: Array
    condition: Array
    determined: Array
    residual: Array
    solved: Array


def solve_transition(H: Array, probs: Array, given: Array, reference: Array, ridge: float) -> Solution:
    """Solve for T(x) of a block of instances, in float64.

    Parameters
    ----------
    H : (n, c, c) array
        H[i, k, j] = p(y = j | ŷ = k, x_i).
    probs : (n, c) array
        p(ŷ | x).
    given : (n, c, c) array
        given[i, ỹ, ŷ] = p(ŷ | ỹ, x_i).
    reference : (c, c) array
        T₀[y, ỹ], which the regulariser pulls towards; rows sum to 1.
    ridge : float
        Weight of the regulariser, at least 0.

    Examples
    --------
    Labels are right in 80 % of the cases, and the classifier repeats the label in 90 %.

    >>> import numpy as np
    >>> from truelabel.transitions import solve_transition
    >>> T, G = np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> joint = np.diag([0.7, 0.3]) @ T @ G
    >>> said = joint.sum(axis=0)
    >>> found = solve_transition((joint / said).T[None], said[None], G[None], np.eye(2), ridge=0)
    >>> found.transition[0].round(6)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    >>> found.condition.round(2)
    array([1.25])
    """
    if ridge < 0:
        raise ValueError(f"ridge must be at least 0, not {ridge}.")
    G, start = _tensor(given), _tensor(reference)
    c = G.shape[1]
    joint = (_tensor(H) * _tensor(probs).unsqueeze(2)).transpose(1, 2)
    share = joint.sum(dim=2)
    centre = torch.eye(c, dtype=torch.float64) - 1 / c
    gram = centre @ G @ G.transpose(1, 2) @ centre
    target = (joint - share.unsqueeze(2) * (start @ G)) @ G.transpose(1, 2) @ centre
    values, vectors = torch.linalg.eigh(gram)
    # The smallest eigenvalue belongs to the direction (1, …, 1), which no step takes.
    values = values.clamp_min(0)
    weighted = share.unsqueeze(2) * values[:, None, 1:]
    regularised = weighted + ridge
    inverse = torch.where(regularised > TINY * max(float(values.max()), 1.0), 1 / regularised, 0.0)
    free = ((target @ vectors)[:, :, 1:] * inverse) @ vectors[:, :, 1:].transpose(1, 2)
    T, solved = _on_simplex(start + free, start, gram, target, share, values[:, 1], values[:, -1], ridge)
    singular = torch.linalg.svdvals(G)
    residual = (joint - share.unsqueeze(2) * (T @ G)).square().mean(dim=(1, 2)).sqrt()
    decided = (share * (weighted * inverse).mean(dim=2)).sum(dim=1)
    return Solution(
        transition=T.numpy(),
        condition=(singular[:, 0] / singular[:, -1].clamp_min(torch.finfo(torch.float64).eps)).numpy(),
        determined=(decided / share.sum(dim=1)).numpy(),
        residual=residual.numpy(),
        solved=solved.numpy(),
    )


def project_to_simplex(rows: Tensor) -> Tensor:
    """Return the nearest point with entries ≥ 0 that sum to 1, for each row of the last dimension.

    Held, Wolfe and Crowder, "Validation of Subgradient Optimization", 1974: subtract the one number that makes the
    positive part sum to 1; sorting finds it.
    """
    ordered = rows.sort(dim=-1, descending=True).values
    count = torch.arange(1, rows.shape[-1] + 1, dtype=rows.dtype)
    excess = (ordered.cumsum(dim=-1) - 1) / count
    kept = (ordered > excess).sum(dim=-1, keepdim=True).clamp_min(1)
    return (rows - excess.gather(-1, kept - 1)).clamp_min(0)


def _on_simplex(
    T: Tensor, start: Tensor, gram: Tensor, target: Tensor, share: Tensor, least: Tensor, most: Tensor, ridge: float
) -> tuple[Tensor, Tensor]:
    """Bring the unconstrained solutions to the simplex by accelerated projected gradient steps.

    Nesterov's constant momentum for strongly convex functions, with the constants of each row's own problem.
    Instances whose unconstrained solution has no negative entry are done already.
    """
    done = T.amin(dim=(1, 2)) >= 0
    active = torch.nonzero(~done)[:, 0]
    T = project_to_simplex(T)
    now = earlier = T[active]
    for step in range(MOST_STEPS):
        if len(active) == 0:
            break
        weight = share[active].unsqueeze(2)
        steepest = (weight * most[active, None, None] + ridge).clamp_min(1e-300)
        ratio = ((weight * least[active, None, None] + ridge) / steepest).sqrt().clamp_min(1e-3)
        ahead = now + (1 - ratio) / (1 + ratio) * (now - earlier)
        away = ahead - start
        slope = weight * (away @ gram[active]) + ridge * away - target[active]
        earlier, now = now, project_to_simplex(ahead - slope / steepest)
        if step % LOOK == LOOK - 1:
            moving = (now - earlier).abs().amax(dim=(1, 2)) > CLOSE
            T[active], done[active] = now, ~moving
            active, now, earlier = active[moving], now[moving], earlier[moving]
    T[active] = now
    return T, done


def _tensor(array: Array) -> Tensor:
    return torch.from_numpy(np.array(array, dtype=np.float64))
