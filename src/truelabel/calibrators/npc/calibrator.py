"""NPC: noisy prediction calibration."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import nn

from truelabel import device as devices
from truelabel.arrays import Floats, row_blocks
from truelabel.calibrators.base import Calibrator
from truelabel.calibrators.npc.dirichlet import SAMPLERS, expected_entropy
from truelabel.calibrators.npc.expert_prior import ExpertPrior
from truelabel.calibrators.npc.given import (
    Given,
    Sample,
    comparable,
    join,
    sample_weights,
    transition_matrix,
    trusted_classes,
    withhold,
)
from truelabel.calibrators.npc.model import DirichletVAE
from truelabel.calibrators.npc.prior import Belief, Prior, VotePrior
from truelabel.calibrators.npc.recipes import RECIPES, Recipe
from truelabel.calibrators.npc.report import Report
from truelabel.calibrators.npc.settings import Settings
from truelabel.calibrators.npc.training import Concentrations, Shape, train
from truelabel.calibrators.npc.trunk import Source, array_trunk, headed_trunk, last_linear, network_trunk, standardise
from truelabel.columns import Columns
from truelabel.experts.panel import PanelSettings
from truelabel.predictions import Predictions
from truelabel.progress import Progress
from truelabel.seeding import seeded

CUT = 1e-6  # probability of ŷ that the sum over classes may leave out; see DirichletVAE.calibrate
BLOCK_CELLS = 2_000_000  # entries of H held at a time


@dataclass(frozen=True)
class Posterior:
    """q(y | ŷ, x) of each instance, at the class ŷ the classifier predicted.

    Attributes
    ----------
    concentration : (n, c) array
        α̂ of the Dirichlet distribution.
    probs : (n, c) array
        Its mode: the row of H that belongs to ŷ.
    expected_entropy : (n,) array
        Expected entropy of the class probabilities in nats: low where the calibrator is sure.
    p_wrong : (n,) array
        Probability that the calibrated class is wrong: 1 − max p(y | x). Of the two it ranks mistakes better.
    """

    concentration: Floats
    probs: Floats
    expected_entropy: Floats
    p_wrong: Floats


class NPC(Calibrator):
    """Noisy Prediction Calibration: learns H(x) = p(y | ŷ, x) and gives p(y | x) = Σ_k H_k(x) p(ŷ = k | x).

    A Dirichlet variational autoencoder (Bae et al., ICML 2022) that needs a classifier's predictions on its noisy
    training set: no clean label, no noise rate, no retraining.

    Parameters
    ----------
    recipe : {"default", "paper"}
        "default": prior and input from features that never saw the noisy labels, several experts in the prior,
        exact Dirichlet sampling, a start from the classifier. "paper": the paper's prior, model, sampler and
        settings, on `hidden` (or `features` where that is missing).
    prior : Prior, optional
        What believes; the recipe's where None.
    label_transition : (c, c) array, optional
        T[y, ỹ] = p(ỹ | y) of the labels, where you know it; estimated where None.
    trunk : torch.nn.Module, optional
        The classifier's network. A copy with a fresh last layer, all of it trained, then reads `inputs` in place
        of arrays.
    shape : {"one-hot", "top-k", "shares"}, optional
        What of the prior's votes becomes concentration; the recipe's ("shares"; paper: "one-hot") where None.
    top_k : int, default 2
        Classes that "top-k" keeps.
    k : int, optional
        Neighbours; chosen by evidence (paper: 10) where None.
    rho : float, default 5
        ρ, the prior's weight.
    delta : float, default 1
        δ, the prior's base concentration.
    beta : float, default 1
        β, the weight of the KL term.
    sampler : {"exact", "inverse-cdf"}, optional
        How y is drawn in training; the recipe's where None.
    epochs, batch_size : int, optional
        The recipe's where None: 2 epochs, at least 290 steps (of batches above 128, with whose root the noise of a
        step falls, fewer by that root), with batches of 32 to 1024 that grow with the data
        (paper: 10 epochs, batches of 128).
    learning_rate : float, optional
        Adam's; the recipe's where None: 4e-3, falling to 0 (paper: 1e-3 throughout).
    device : str, default "auto"
        The best there is where "auto".
    random_state : int, optional
        Seed. Two fits with one seed on one machine are equal.
    progress : bool or "auto"
        Bars on standard error; "auto" shows them on a terminal.

    Attributes
    ----------
    report_ : Report
        What fitting found; print it.
    history_ : list of float
        Training loss by epoch.
    network_ : DirichletVAE
        The trained network.
    transition_matrix_ : (c, c) array or None
        T[y, ỹ] = p(ỹ | y) of the labels, as the default recipe's prior estimates it.
    class_shares_ : (c,) array or None
        p(y), likewise.
    belief_ : Belief
        What the prior believed of the instances it was fitted on; `belief_.noise` is its model of the label noise. Not
        kept in a file.

    Examples
    --------
    >>> import numpy as np, truelabel as tl
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=400)
    >>> x = rng.normal(size=(400, 2)) + 4 * truth[:, None]
    >>> noisy = np.where(rng.random(400) < 0.3, 1 - truth, truth)
    >>> memorised = np.eye(2)[noisy] * 0.98 + 0.01
    >>> said = tl.Predictions(features=x, probs=memorised, labels=noisy)
    >>> npc = tl.NPC(random_state=0).fit(said)
    >>> bool((npc.predict(said) == truth).mean() > 0.98)
    True
    """

    def __init__(
        self,
        recipe: Literal["default", "paper"] = "default",
        *,
        prior: Prior | None = None,
        label_transition: Any = None,
        trunk: nn.Module | None = None,
        shape: Shape | None = None,
        top_k: int = 2,
        k: int | None = None,
        rho: float = 5.0,
        delta: float = 1.0,
        beta: float = 1.0,
        sampler: Literal["exact", "inverse-cdf"] | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        device: str = "auto",
        random_state: int | None = None,
        progress: bool | str = "auto",
    ) -> None:
        self.recipe = recipe
        self.prior = prior
        self.label_transition = label_transition
        self.trunk = trunk
        self.shape = shape
        self.top_k = top_k
        self.k = k
        self.rho = rho
        self.delta = delta
        self.beta = beta
        self.sampler = sampler
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def fit(
        self,
        predictions: Predictions,
        y: None = None,
        *,
        validation: Predictions | None = None,
        unlabelled: Predictions | None = None,
        trusted: Any = None,
        trusted_sample: Any = "random",
    ) -> Self:
        """Learn from predictions on the (noisy) training set.

        Parameters
        ----------
        predictions : Predictions
            What the classifier said about its training instances; `labels` are the noisy ones.
        y : None
            Ignored, there for scikit-learn's sake.
        validation : Predictions, optional
            What it said about instances it was not trained on, with their noisy labels: on these it is judged, and
            the calibrator learns from both.
        unlabelled : Predictions, optional
            What it said about instances it was not trained on, without labels: those you want to calibrate will do.
            They show how far it repeats on the training set what it memorised there.
        trusted : (n,) array, optional
            True classes of instances of `predictions` that somebody looked at, as class indices; −1 for all others.
            They are believed, and the experts learn from them.
        trusted_sample : {"random", "picked"} or (n,) array
            How the instances of `trusted` were chosen. From a random sample the noise is learned, too; instances
            that were picked, because they looked suspicious, say nothing of how often labels are wrong. An array says
            how many instances each trusted one stands for, where some were likelier to be drawn than others, as in
            `Audit.weights`.
        """
        self._check_fittable(predictions)
        n, c = len(predictions), predictions.n_classes
        recipe = self._check_parameters(n)
        known = None if trusted is None else trusted_classes(trusted, n, c)
        weights = sample_weights(trusted_sample, known, n)
        sample: Sample = "picked" if weights is None and trusted_sample == "picked" else "random"
        unseen = None
        columns = Columns.of(predictions)
        if unlabelled is not None:
            unlabelled = columns.arrange(unlabelled) if isinstance(unlabelled, Predictions) else unlabelled
            comparable(predictions, unlabelled, "unlabelled")
        if validation is not None:
            validation = columns.arrange(validation) if isinstance(validation, Predictions) else validation
            predictions = join(predictions, validation)._with(feature_names=predictions.feature_names)
            unseen = None if predictions.out_of_sample else np.arange(n, len(predictions))
            known = None if known is None else np.append(known, np.full(len(predictions) - n, -1))
            weights = None if weights is None else np.append(weights, np.zeros(len(predictions) - n))
        device = devices.resolve(self.device)
        if self.trunk is not None and recipe is RECIPES["paper"] and predictions.hidden is None:
            predictions = predictions._with(hidden=_hidden_layer(self.trunk, predictions, device))
        seed = int(np.random.SeedSequence(self.random_state).generate_state(1)[0])
        with Progress(self.progress) as progress, seeded(seed):
            transition = None if self.label_transition is None else transition_matrix(self.label_transition, c)
            given = Given(predictions, device, seed, progress, unseen, unlabelled, known, sample, weights, transition)
            self._learn(given, recipe, n)
        self._remember(predictions, validation if unlabelled is None else unlabelled)
        return self

    def _learn(self, given: Given, recipe: Recipe, n: int) -> None:
        """Ask the prior, train the network, and keep what was found; n instances are the training set."""
        predictions = given.predictions
        began = time.perf_counter()
        belief = self._prior(recipe).believe(given)
        believed = time.perf_counter()
        reads, vae = self._network(recipe, predictions, belief)
        vae.to(given.device)
        batch_size = self._batch_size(recipe, n)
        history = train(
            vae,
            Source(predictions, reads),
            predictions if belief.withheld is None else withhold(predictions, belief.withheld),
            belief.shares,
            Concentrations(self.shape or recipe.shape, self.top_k, self.rho, self.delta + vae.offset - 1),
            beta=self.beta,
            sampler=self.sampler or recipe.sampler,
            draw_predictions=recipe.draw_predictions and belief.named is None,
            epochs=self.epochs or recipe.passes(len(predictions), batch_size),
            batch_size=batch_size,
            learning_rate=(self.learning_rate or recipe.learning_rate) * (belief.pace if self.trunk is None else 1.0),
            decay=recipe.decay,
            own_word=belief.own_word,
            device=given.device,
            progress=given.progress,
        )
        vae.settle()
        trained = time.perf_counter()
        self.reads_, self.network_, self.history_, self.batch_size_ = reads, vae, history, batch_size
        if reads == ["inputs"]:
            self.input_shape_ = tuple(np.shape(predictions.inputs)[1:])
        self.belief_ = belief
        self.transition_matrix_ = belief.transition
        self.class_shares_ = None if belief.noise is None else belief.noise.shares
        seconds = {"prior": believed - began, "autoencoder": trained - believed}
        self.report_ = self._findings(predictions, belief, seconds, n)

    def _check_parameters(self, n: int) -> Recipe:
        if self.recipe not in RECIPES:
            raise ValueError(f"recipe must be one of {', '.join(RECIPES)}, not {self.recipe!r}.")
        recipe = RECIPES[self.recipe]
        if self.sampler is not None and self.sampler not in SAMPLERS:
            raise ValueError(f"sampler must be one of {', '.join(SAMPLERS)}, not {self.sampler!r}.")
        if self.shape not in (None, "one-hot", "top-k", "shares"):
            raise ValueError(f'shape must be "one-hot", "top-k" or "shares", not {self.shape!r}.')
        if self.k is not None and (not _is_a(Integral, self.k) or not 1 <= self.k < n):
            raise ValueError(f"k must be at least 1 and below the number of instances ({n}), not {self.k}.")
        for name in ("rho", "delta", "beta", "learning_rate"):
            value = getattr(self, name)
            if value is None and name == "learning_rate":
                continue
            if not _is_a(Real, value) or value == math.inf:
                raise ValueError(f"{name} must be a finite number, not {value!r}.")
            if not value > 0:
                raise ValueError(f"{name} must be above 0, not {value}.")
        for name in ("top_k", "epochs", "batch_size"):
            value = getattr(self, name)
            if value is not None and not _is_a(Integral, value):
                raise ValueError(f"{name} must be a whole number, not {value!r}.")
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}.")
        return recipe

    def _batch_size(self, recipe: Recipe, n: int) -> int:
        # Large data need no more steps than middling ones, and large batches make the better use of a processor.
        grown = 2 ** round(math.log2(max(n, 1) / 100))
        return self.batch_size or recipe.batch_size or int(np.clip(grown, 32, 1024))

    def _prior(self, recipe: Recipe) -> Prior:
        if self.prior is not None:
            return self.prior
        if recipe is RECIPES["paper"]:
            return VotePrior(k=self.k or 10)
        return ExpertPrior(Settings(panel=PanelSettings(k=self.k)))

    def _network(self, recipe: Recipe, predictions: Predictions, belief: Belief) -> tuple[list[str], DirichletVAE]:
        """Return the network, and what it reads."""
        c = predictions.n_classes
        if self.trunk is not None:
            trunk, width = network_trunk(self.trunk)
            reads = ["inputs"]
        else:
            if recipe is RECIPES["paper"] and predictions.hidden is not None:
                arrays = {"hidden": predictions.hidden}
            else:
                arrays = {name: predictions.views[name] for name in belief.scales or predictions.views}
            reads = list(arrays)
            scale = standardise(arrays, belief.scales)
            if belief.start and recipe.link == "exp":
                trunk, weight, bias = headed_trunk(scale, belief.start)
                vae = self._vae(recipe, trunk, weight.shape[1], c, belief)
                vae.start_from(weight, bias)
                return reads, vae
            trunk, width = array_trunk(scale, c, recipe.hidden)
        return reads, self._vae(recipe, trunk, width, c, belief)

    def _vae(self, recipe: Recipe, trunk: nn.Module, width: int, c: int, belief: Belief) -> DirichletVAE:
        reliance = belief.reliance if recipe.link == "exp" else 0.0
        named = (
            None if belief.named is None else torch.from_numpy(belief.named).float().to(devices.resolve(self.device))
        )
        return DirichletVAE(trunk, width, c, link=recipe.link, reliance=reliance, named=named, strength=self.rho)

    def _findings(self, predictions: Predictions, belief: Belief, seconds: dict[str, float], n: int) -> Report:
        """Return what was found, of the n instances that the classifier was trained on."""
        predicted = predictions.hard[:n]
        labels = None if predictions.labels is None else predictions.labels[:n]
        calibrated = self._calibrate(predictions).argmax(axis=1)[:n]
        return Report(
            recipe=self.recipe,
            n=n,
            classes=predictions.n_classes,
            rho=self.rho,
            disagreement=float(np.mean(belief.shares[:n].argmax(axis=1) != predicted)),
            changed=float(np.mean(calibrated != predicted)),
            agreement=None if labels is None else float(np.mean(predicted == labels)),
            seconds=seconds,
            **belief.facts,
        )

    def _needed_views(self) -> dict[str, int]:
        return {name: self.view_widths_[name] for name in self.reads_ if name in self.view_widths_}

    def _check(self, predictions: Predictions) -> None:
        super()._check(predictions)
        if "inputs" in self.reads_ and predictions.inputs is not None:
            shape = tuple(np.shape(predictions.inputs)[1:])
            if shape != self.input_shape_:
                raise ValueError(
                    f"inputs have shape {shape}, but the calibrator was fitted on {self.input_shape_}; "
                    "prepare them in the same way."
                )
        if "hidden" in self.reads_ and predictions.hidden is not None:
            needed, found = self.network_.trunk[0].mean.shape[0], predictions.hidden.shape[1]  # type: ignore[index]
            if needed != found:
                raise ValueError(
                    f"hidden has {found} columns, but the calibrator was fitted on {needed}; take the same layer."
                )

    def _blocks(self, predictions: Predictions, per_row: int) -> Iterator[tuple[slice, torch.Tensor, torch.Tensor]]:
        """Yield rows, what the trunk reads of them, and p(ŷ | x)."""
        device = next(self.network_.parameters()).device
        source = Source(predictions, self.reads_)
        self.network_.eval()
        for rows in row_blocks(len(predictions), max(1, min(16_384, BLOCK_CELLS // per_row))):
            yield rows, source(rows, device), torch.from_numpy(predictions.block(rows)).to(device)

    @torch.inference_mode()
    def _calibrate(self, predictions: Predictions) -> Floats:
        c = predictions.n_classes
        out = np.empty((len(predictions), c), dtype=np.float32)
        for rows, x, probs in self._blocks(predictions, c * c if self.network_.link == "softplus" else c):
            block = self.network_.calibrate(x, probs, cut=CUT)
            out[rows] = (block / block.sum(1, keepdim=True)).cpu().numpy()
        return out

    def transition(self, predictions: Predictions) -> Iterator[Floats]:
        """Yield H(x) of consecutive blocks of instances: arrays (block, c, c), H[i, k, j] = p(y = j | ŷ = k, x_i)."""
        places = self.class_places(predictions)
        for _, x, probs in self._blocks(self._arranged(predictions), predictions.n_classes**2):
            with torch.inference_mode():
                block = self.network_.transition(x, probs).cpu().numpy()
            # Outside the mode, which would otherwise hold in the caller's loop.
            yield block if places is None else block[:, places][:, :, places]

    @torch.inference_mode()
    def posterior(self, predictions: Predictions) -> Posterior:
        """Return the Dirichlet distribution of each instance's true class, given what the classifier predicted."""
        places = self.class_places(predictions)
        blocks = [
            (*self.network_.posterior(x, probs, probs.argmax(1)), self.network_.calibrate(x, probs, cut=CUT).amax(1))
            for _, x, probs in self._blocks(self._arranged(predictions), predictions.n_classes)
        ]
        alpha, mode, surest = (torch.cat(part) for part in zip(*blocks, strict=True))
        parts = [part.cpu().numpy() for part in (alpha, mode, expected_entropy(alpha), 1 - surest)]
        if places is not None:
            parts[:2] = (part[:, places] for part in parts[:2])
        return Posterior(*parts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted calibrator to one `.safetensors` file; `truelabel.load` reads it."""
        from truelabel.export.files import save

        self._check_fitted()
        save(self, path)

    def export_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write `calibrate` as an ONNX graph: features (one input a view) and probs in, calibrated probs out."""
        from truelabel.export.onnx import export

        self._check_fitted()
        export(self, path)


def _is_a(kind: type, value: Any) -> bool:
    return isinstance(value, kind)


def _hidden_layer(network: nn.Module, predictions: Predictions, device: torch.device) -> Floats:
    """Return what enters the network's last linear layer, for the prior of the paper's recipe."""
    from truelabel.integrations.pytorch import layer_inputs

    _, last = last_linear(network)
    return layer_inputs(network, last, Source(predictions, ["inputs"]), len(predictions), device)
