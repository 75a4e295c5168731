"""T(x) from a calibrator's H(x), by the paper's proposition, and its class-wise average."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from truelabel.arrays import Array, Floats, row_blocks
from truelabel.predictions import Predictions
from truelabel.transitions.average import class_average, count_transition
from truelabel.transitions.error import check_transition
from truelabel.transitions.prediction_given_label import PredictionGivenLabel
from truelabel.transitions.solve import Solution, solve_transition

BLOCK_CELLS = 500_000  # entries of T solved for at a time


class HasH(Protocol):
    """What gives H(x): `NPC`, or anything like it."""

    def transition(self, predictions: Predictions) -> Iterator[Floats]:
        """Yield H of consecutive blocks of instances, (block, c, c): H[i, k, j] = p(y = j | ŷ = k, x_i)."""
        ...


@dataclass(frozen=True)
class Conditioning:
    """How far the equations, rather than the regulariser, decided T(x), over the instances it was averaged over.

    Attributes
    ----------
    condition : float
        Median condition number of the matrix p(ŷ | ỹ, x). Where ŷ is almost a function of x it is large.
    condition_90 : float
        Its 90th percentile.
    determined : float
        In [0, 1]: mean share of T(x) that the equations decided. The rest is the reference's.
    residual : float
        Mean root mean square error with which T(x) reproduces p(y, ŷ | x).
    unsolved : float
        Share of instances at which the iteration did not come to rest.
    """

    condition: float
    condition_90: float
    determined: float
    residual: float
    unsolved: float

    def to_dict(self) -> dict[str, float]:
        """Return the figures as plain JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"condition number of p(ŷ|ỹ,x): median {self.condition:,.0f}, 90th percentile {self.condition_90:,.0f}; "
            f"{self.determined:.0%} of T(x) is decided by H, the rest by the reference"
        )


class TransitionFromH(BaseEstimator):  # type: ignore[misc]
    """Works out T(x), T[y, ỹ] = p(ỹ | y, x), from a calibrator's H(x) = p(y | ŷ, x).

    By the proposition of the NPC paper (section 3.3), if ŷ is independent of y given ỹ and x, then
    p(y, ŷ | x) = p(y | x) Σ_ỹ T[y, ỹ](x) p(ŷ | ỹ, x). Everything but T is known or can be learned, so T(x) solves a
    linear system. It is ill conditioned where ŷ hardly depends on ỹ, so that T(x) is sought with rows on the simplex
    and pulled towards a reference; `conditioning_` says how much of it is the reference's.

    Parameters
    ----------
    ridge : float, default 0.03
        Weight of the pull. The default stands against errors of some hundredths in H and p(ŷ | ỹ, x); exact inputs
        need none.
    reference : (c, c) array, optional
        What T(x) is pulled towards; the labels counted by calibrated class (`count_transition`) where None.
    average : {"hard", "soft"}, default "hard"
        Whether an instance counts for its calibrated class alone in the class-wise average, or for every class with
        p(y | x). "soft" is right where p(y | x) is; a p(y | x) that is too flat mixes the rows.
    probs : {"learned", "classifier"}, default "learned"
        Which p(ŷ | x) the system takes: one learned on the features that p(ŷ | ỹ, x) is learned on, or the
        classifier's softmax, as in the paper. Where the classifier memorised, the latter makes T(x) of a training
        instance little else than its own label.
    given : estimator, optional
        What learns p(ŷ | ỹ, x) and p(ŷ | x); a `PredictionGivenLabel` where None.
    random_state : int, optional
        Seed.
    progress : bool or "auto"
        Whether to show a bar; "auto" shows it on a terminal.

    Attributes
    ----------
    average_ : (c, c) array
        The class-wise average of T(x) over the training instances.
    reference_ : (c, c) array
        What T(x) was pulled towards.
    conditioning_ : Conditioning
        How well the system was conditioned.
    seconds_ : float
        How long fitting took.

    Examples
    --------
    >>> import numpy as np, truelabel as tl
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=400)
    >>> x = rng.normal(size=(400, 2)) + 4 * truth[:, None]
    >>> noisy = np.where(rng.random(400) < 0.3, 1 - truth, truth)
    >>> said = tl.Predictions(features=x, probs=np.eye(2)[noisy] * 0.98 + 0.01, labels=noisy)
    >>> npc = tl.NPC(random_state=0).fit(said)
    >>> found = tl.transitions.TransitionFromH(random_state=0).fit(npc, said)
    >>> bool(abs(found.average_ - [[0.7, 0.3], [0.3, 0.7]]).max() < 0.1)
    True
    """

    def __init__(
        self,
        *,
        ridge: float = 0.03,
        reference: Any = None,
        average: Literal["hard", "soft"] = "hard",
        probs: Literal["learned", "classifier"] = "learned",
        given: Any = None,
        random_state: int | None = None,
        progress: bool | str = "auto",
    ) -> None:
        self.ridge = ridge
        self.reference = reference
        self.average = average
        self.probs = probs
        self.given = given
        self.random_state = random_state
        self.progress = progress

    def fit(self, calibrator: HasH, predictions: Predictions) -> Self:
        """Learn p(ŷ | ỹ, x), solve for T(x) of every instance and average.

        Parameters
        ----------
        calibrator : NPC
            A fitted calibrator.
        predictions : Predictions
            What the classifier said about its training instances, with their noisy labels.
        """
        if not self.ridge >= 0:
            raise ValueError(f"ridge must be at least 0, not {self.ridge}.")
        if self.average not in ("hard", "soft"):
            raise ValueError(f'average must be "hard" or "soft", not {self.average!r}.')
        if self.probs not in ("learned", "classifier"):
            raise ValueError(f'probs must be "learned" or "classifier", not {self.probs!r}.')
        if predictions.labels is None:
            raise ValueError("T is about noisy labels; pass Predictions(labels=…).")
        if self.reference is not None:
            check_transition(self.reference, "reference", predictions.n_classes)
        began = time.perf_counter()
        learner = PredictionGivenLabel(random_state=self.random_state, progress=self.progress)
        self.given_ = clone(learner if self.given is None else self.given, safe=False).fit(predictions)
        self.calibrator_ = calibrator
        p = np.concatenate([share for _, _, share in _pieces(calibrator, predictions)])
        classes = p.argmax(axis=1)
        if self.reference is None:
            self.reference_ = count_transition(classes, predictions.labels, predictions.n_classes)
        else:
            self.reference_ = np.asarray(self.reference, dtype=np.float64)
        facts: dict[str, list[Array]] = {"condition": [], "determined": [], "residual": [], "solved": []}
        blocks = self._noted(predictions, facts)
        self.average_ = class_average(blocks, classes if self.average == "hard" else p)
        found = {name: np.concatenate(parts) for name, parts in facts.items()}
        self.conditioning_ = Conditioning(
            condition=float(np.median(found["condition"])),
            condition_90=float(np.quantile(found["condition"], 0.9)),
            determined=float(found["determined"].mean()),
            residual=float(found["residual"].mean()),
            unsolved=float(1 - found["solved"].mean()),
        )
        self.seconds_ = time.perf_counter() - began
        return self

    def transition(self, predictions: Predictions) -> Iterator[Array]:
        """Yield T(x) of consecutive blocks of instances: arrays (block, c, c), T[i, y, ỹ] = p(ỹ | y, x_i).

        Labels are not read, so the instances may be new ones.
        """
        if not hasattr(self, "average_"):
            raise NotFittedError("this TransitionFromH is not fitted yet; call fit first.")
        for solution in self._solutions(predictions):
            yield solution.transition

    def _solutions(self, predictions: Predictions) -> Iterator[Solution]:
        for rows, H, _ in _pieces(self.calibrator_, predictions):
            given, learned = self.given_.transition(predictions, rows)
            probs = learned if self.probs == "learned" else predictions.block(rows)
            yield solve_transition(H, probs, given, self.reference_, self.ridge)

    def _noted(self, predictions: Predictions, facts: dict[str, list[Array]]) -> Iterator[Array]:
        """Yield T(x) and note what else a solution says."""
        for solution in self._solutions(predictions):
            for name, parts in facts.items():
                parts.append(getattr(solution, name))
            yield solution.transition


def _pieces(calibrator: HasH, predictions: Predictions) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield rows, their H(x) and p(y | x) = Σ_k H_k(x) p(ŷ = k | x), a block at a time."""
    start = 0
    for block in calibrator.transition(predictions):
        for part in row_blocks(len(block), max(1, BLOCK_CELLS // block.shape[1] ** 2)):
            rows = slice(start + part.start, start + part.stop)
            yield rows, block[part], np.einsum("nk,nkj->nj", predictions.block(rows), block[part])
        start += len(block)
