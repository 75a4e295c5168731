"""RoG: robust generative classifiers on the classifier's layers, and their ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truelabel.arrays import Array, Floats, Ints, float32, row_blocks
from truelabel.calibrators.base import Calibrator
from truelabel.calibrators.mcd import RIDGE, RobustGaussian, robust_gaussians
from truelabel.neighbours import stratified
from truelabel.predictions import Predictions
from truelabel.scale import Scale, moments

ROWS_A_COMPONENT = 10  # instances for each component that is kept
BLOCK = 16_384
TINY = 1e-12


class RoG(Calibrator):
    """Classify by class-conditional Gaussians, estimated robustly, on the classifier's hidden layers.

    Lee, Yun, Lee, Lee, Li and Shin, "Robust Inference via Generative Classifiers for Handling Noisy Labels", ICML 2019.
    In each layer f the mean μ_k and covariance of the instances labelled k are estimated by the minimum covariance
    determinant, which instances with a wrong label cannot carry away; the covariances are tied,
    Σ = Σ_k n_k Σ_k / Σ_k n_k, and p(y = k | f) ∝ π_k exp(μ_kᵀ Σ⁻¹ f - ½ μ_kᵀ Σ⁻¹ μ_k). The layers' answers are averaged
    with weights that maximise the likelihood of held-out noisy labels. Labels are the noisy ones, or the predictions
    where there are none.

    Layers are `hidden` and the views of `features`. More of the classifier's layers can be passed as views.

    Parameters
    ----------
    layers : sequence of str, optional
        Which to model: "hidden" and names of views (a single array is the view "features"). All there are by default.
    components : int, default 64
        Each layer is brought to scale and reduced to this many principal components, and to no more than one for every
        ten instances, so that the covariance can be estimated.
    support : float, optional
        Share of each class that the smallest determinant is sought for. By default half and a little more, which bears
        the most noise (their release: 0.7).
    starts, steps : int, default 10 and 30
        Of the search for it (their release: one step from one random start).
    validation : float or Predictions, default 0.1
        What the weights are chosen on, where there are several layers: a share of the instances that is held out for
        it, or predictions with noisy labels that the classifier did not train on, which are better: a layer that
        memorised its labels looks better on them than it is. Of either, the half is used whose labels the layers'
        plain average finds most probable (there: which lies nearest to its label's Gaussian in the last layer).
    random_state : int, optional
        Seed of the search and of what is held out.

    Attributes
    ----------
    classifiers_ : dict of str to GenerativeClassifier
        The Gaussians of each layer.
    weights_ : dict of str to float
        What each layer counts.
    """

    def __init__(
        self,
        layers: Sequence[str] | None = None,
        *,
        components: int = 64,
        support: float | None = None,
        starts: int = 10,
        steps: int = 30,
        validation: float | Predictions = 0.1,
        random_state: int | None = None,
    ) -> None:
        self.layers = layers
        self.components = components
        self.support = support
        self.starts = starts
        self.steps = steps
        self.validation = validation
        self.random_state = random_state

    def _fit(self, predictions: Predictions) -> None:
        self._check_parameters()
        layers = _layers(predictions, self.layers)
        labels = predictions.hard if predictions.labels is None else predictions.labels
        rng = np.random.default_rng(self.random_state)
        self.weights_ = {name: 1 / len(layers) for name in layers}
        if len(layers) > 1:
            self.weights_ = self._weigh(layers, labels, predictions.n_classes, rng)
        self.classifiers_ = {
            name: self._classifier(layer, labels, np.arange(len(labels)), predictions.n_classes, rng)
            for name, layer in layers.items()
        }

    def _check_parameters(self) -> None:
        for name in ("components", "starts", "steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.support is not None and not 0 < self.support <= 1:
            raise ValueError(f"support must be above 0 and at most 1, not {self.support}.")
        if isinstance(self.validation, Predictions):
            if self.validation.labels is None:
                raise ValueError("validation has no labels to judge the layers by; pass Predictions(labels=…).")
        elif not 0 < self.validation < 1:
            raise ValueError(f"validation must lie between 0 and 1, not {self.validation}.")

    def _weigh(
        self, layers: dict[str, Array], labels: Ints, n_classes: int, rng: np.random.Generator
    ) -> dict[str, float]:
        """Return the weights of the layers that maximise the likelihood of held-out labels."""
        if isinstance(self.validation, Predictions):
            rows, others = np.arange(len(labels)), _layers(self.validation, [*layers])
            judged = self.validation.labels
            assert judged is not None
            for name, layer in layers.items():
                if layer.shape[1] != others[name].shape[1]:
                    raise ValueError(
                        f"validation has {others[name].shape[1]} columns of {name}, but the predictions have "
                        f"{layer.shape[1]}; compute them in the same way."
                    )
        else:
            held = stratified(labels, max(1, round(self.validation * len(labels))), rng)
            rows = np.setdiff1d(np.arange(len(labels)), held)
            if not len(rows):
                return {name: 1 / len(layers) for name in layers}
            others, judged = {name: layer[held] for name, layer in layers.items()}, labels[held]
        fitted = [self._classifier(layer, labels, rows, n_classes, rng) for layer in layers.values()]
        said = [one.probabilities(float32(other)) for one, other in zip(fitted, others.values(), strict=True)]
        likelihood = np.stack([probs[np.arange(len(judged)), judged] for probs in said], axis=1)
        best = np.argsort(-likelihood.mean(axis=1), kind="stable")[: max(1, len(judged) // 2)]
        return dict(zip(layers, mixture_weights(likelihood[best]).tolist(), strict=True))

    def _classifier(
        self, layer: Array, labels: Ints, rows: Ints, n_classes: int, rng: np.random.Generator
    ) -> GenerativeClassifier:
        components = min(self.components, max(1, len(rows) // ROWS_A_COMPONENT))
        reduction = _reduction(float32(layer, rows), components)
        reduced, labels = reduction(float32(layer, rows)), labels[rows]
        classes = np.unique(labels)
        gaussians = robust_gaussians(
            [reduced[labels == k] for k in classes], rng, support=self.support, starts=self.starts, steps=self.steps
        )
        return GenerativeClassifier.of(reduction, gaussians, classes, np.bincount(labels, minlength=n_classes))

    def _calibrate(self, predictions: Predictions) -> Floats:
        layers = _layers(predictions, [*self.classifiers_])
        out = np.zeros((len(predictions), self.n_classes_), dtype=np.float32)
        for rows in row_blocks(len(out), BLOCK):
            for name, classifier in self.classifiers_.items():
                out[rows] += self.weights_[name] * classifier.probabilities(float32(layers[name], rows))
        return out / out.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]

    def _needed_views(self) -> dict[str, int]:
        return {name: width for name, width in self.view_widths_.items() if name in self.classifiers_}

    def _check(self, predictions: Predictions) -> None:
        super()._check(predictions)
        if "hidden" in self.classifiers_ and predictions.hidden is not None:
            needed, found = len(self.classifiers_["hidden"].reduction.scale.mean), predictions.hidden.shape[1]
            if needed != found:
                raise ValueError(
                    f"hidden has {found} columns, but the calibrator was fitted on {needed}; take the same layer."
                )


@dataclass(frozen=True)
class Reduction:
    """A layer brought to scale and turned onto its principal components."""

    scale: Scale
    axes: Array

    def __call__(self, rows: Floats) -> Array:
        return self.scale(rows).astype(np.float64) @ self.axes


@dataclass(frozen=True)
class GenerativeClassifier:
    """Class-conditional Gaussians with one covariance, on one layer.

    Attributes
    ----------
    reduction : Reduction
        From the layer to what the Gaussians are on.
    means : (c, q) array
        μ; NaN for a class without instances.
    covariance : (q, q) array
        Σ.
    prior : (c,) array
        π, the classes' shares of the labels.
    """

    reduction: Reduction
    means: Array
    covariance: Array
    prior: Array

    @classmethod
    def of(
        cls, reduction: Reduction, gaussians: Sequence[RobustGaussian], classes: Ints, counts: Ints
    ) -> GenerativeClassifier:
        """Tie the covariances of the classes that there are."""
        means = np.full((len(counts), len(gaussians[0].mean)), np.nan)
        means[classes] = [gaussian.mean for gaussian in gaussians]
        kept = np.array([gaussian.kept.sum() for gaussian in gaussians])
        tied = np.einsum("k,kij->ij", kept / kept.sum(), np.stack([gaussian.covariance for gaussian in gaussians]))
        tied = tied + RIDGE * max(float(np.trace(tied)) / len(tied), TINY) * np.eye(len(tied))
        return cls(reduction, means, tied, counts / counts.sum())

    def distances(self, rows: Floats) -> Array:
        """Return the squared Mahalanobis distance of each row to each class, infinite to a class without instances."""
        from scipy.linalg import solve_triangular

        lower = np.linalg.cholesky(self.covariance)
        white = solve_triangular(lower, self.reduction(rows).T, lower=True).T
        centres = solve_triangular(lower, np.nan_to_num(self.means).T, lower=True).T
        squares = np.square(white).sum(axis=1)[:, None] - 2 * white @ centres.T + np.square(centres).sum(axis=1)
        return np.where(self.prior > 0, squares, np.inf)

    def probabilities(self, rows: Floats) -> Array:
        """Return p(y | f) of each row."""
        scores = np.log(np.maximum(self.prior, TINY)) - 0.5 * self.distances(rows)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


def mixture_weights(likelihood: Array, rounds: int = 500) -> Array:
    """Return the weights w on the simplex that maximise Σ_i log Σ_l w_l likelihood[i, l], by EM from equal ones."""
    likelihood = np.maximum(likelihood, TINY)
    weights = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(rounds):
        shares = weights * likelihood
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    return weights


def _layers(predictions: Predictions, names: Sequence[str] | None) -> dict[str, Array]:
    """Return the layers by name: those asked for, or all there are."""
    there = {} if predictions.hidden is None else {"hidden": predictions.hidden}
    there |= predictions.views
    if not there:
        raise ValueError(
            "RoG models the classifier's hidden layer; pass Predictions(hidden=…), or features to model those."
        )
    for name in names or ():
        if name not in there:
            where = "hidden=…" if name == "hidden" else f"features={{{name!r}: …}}"
            raise ValueError(f"the layer {name!r} is missing; pass Predictions({where}).")
    return {name: there[name] for name in names or there}


def _reduction(rows: Floats, components: int) -> Reduction:
    """Return the first principal components of the columns at variance 1; those that do not vary are left out."""
    scale = Scale("columns", *moments(rows))
    scaled = scale(rows).astype(np.float64)
    variances, axes = np.linalg.eigh(scaled.T @ scaled / len(scaled))
    variances, axes = variances[::-1], axes[:, ::-1]
    varying = max(1, int((variances > 1e-9 * max(float(variances[0]), TINY)).sum()))
    return Reduction(scale, axes[:, : min(components, varying)])
