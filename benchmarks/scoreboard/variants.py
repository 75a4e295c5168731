"""NPC's default recipe with one of its parts removed: the rows of `benchmarks/ablations.py`.

A part is removed by patching the library for the time of one fit; each patch says afterwards whether it took effect.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from truelabel import NPC, Predictions
from truelabel.calibrators.npc import calibrator, expert_prior, heads, label_noise, memorisation, training
from truelabel.calibrators.npc.expert_prior import ExpertPrior
from truelabel.calibrators.npc.memorisation import MOST, Judgement
from truelabel.calibrators.npc.prior import Belief
from truelabel.calibrators.npc.votes import Vote

Check = Callable[[NPC, Predictions], bool]
Patch = Callable[[], AbstractContextManager[Check]]
OLD_TRUSTED, OLD_DISTRUSTED = 0.1, 0.5
KEPT = 4


@contextmanager
def whole() -> Iterator[Check]:
    """The recipe as it is."""
    yield lambda npc, said: True


@dataclass(frozen=True)
class Variant:
    """What the table calls it, what is patched while it is fitted, and what it is given of the predictions."""

    title: str
    patched: Patch = whole
    given: Callable[[Predictions], Predictions] = lambda said: said

    def fit(self, said: Predictions, seed: int) -> NPC:
        """Fit NPC so; raise an error where the patch had no effect."""
        with self.patched() as took_effect:
            npc = NPC(random_state=seed, progress=False).fit(self.given(said))
        if not took_effect(npc, said):
            raise RuntimeError(f"“{self.title}” changed nothing: the library has no such part, or not there.")
        return npc


@contextmanager
def no_transition() -> Iterator[Check]:
    """T is the identity: every label is right, but for swaps, and there is nothing to correct."""

    def identity(believed: np.ndarray, *_: Any, **__: Any) -> tuple[np.ndarray, np.ndarray]:
        shares = np.bincount(believed.argmax(axis=1), minlength=believed.shape[1]) + 1.0
        return np.eye(believed.shape[1]), shares / shares.sum()

    with patch.object(expert_prior, "estimate_transition", identity):
        yield (
            lambda npc, said: npc.report_.swapped > 0 or np.array_equal(npc.transition_matrix_, np.eye(said.n_classes))
        )


@contextmanager
def no_swaps() -> Iterator[Check]:
    """The heads predict the labels as they are."""
    with patch.object(heads, "suspected", lambda *_: False):
        yield lambda npc, said: npc.report_.swapped == 0


@contextmanager
def start_from_shares() -> Iterator[Check]:
    """p(y | x) is solved for from the shares of the classes, and not from equal probabilities."""
    asked: list[int] = []

    def denoise(believed: np.ndarray, transition: np.ndarray) -> np.ndarray:
        asked.append(len(believed))
        shares = np.maximum(np.bincount(believed.argmax(axis=1), minlength=len(transition)) / len(believed), 1e-3)
        p = np.tile(shares / shares.sum(), (len(believed), 1))
        for _ in range(50):
            p *= (believed / np.maximum(p @ transition, 1e-12)) @ transition.T
        return (p / p.sum(axis=1, keepdims=True)).astype(np.float32)

    with patch.object(expert_prior, "denoise", denoise):
        yield lambda npc, said: len(asked) > 0


@contextmanager
def no_own_label() -> Iterator[Check]:
    """The belief is p(y | x), from where it is made on: memorising is judged as ever."""
    matched: list[float] = []
    given_label, matching_sharpness = expert_prior.given_label, expert_prior.matching_sharpness

    def recorded(*args: Any) -> float:
        matched.append(matching_sharpness(*args))
        return matched[-1]

    def unheard(clean: np.ndarray, *args: Any) -> np.ndarray:
        return clean.copy() if matched else given_label(clean, *args)

    with (
        patch.object(expert_prior, "matching_sharpness", recorded),
        patch.object(expert_prior, "given_label", unheard),
    ):
        yield lambda npc, said: len(matched) > 0


@contextmanager
def no_second_vote() -> Iterator[Check]:
    """Neighbours vote with their labels alone."""
    asked: list[int] = []

    def recorded(*_: Any) -> np.ndarray:
        asked.append(1)
        raise AssertionError

    with patch.object(expert_prior, "ROUNDS", 0), patch.object(Vote, "of_beliefs", recorded):
        yield lambda npc, said: not asked


@contextmanager
def no_votes() -> Iterator[Check]:
    """The heads are the only experts beside the classifier; neighbours still choose the scale, and vote again."""
    ask = ExpertPrior._ask

    def without(self: ExpertPrior, *args: Any, **settings: Any) -> Any:
        asked = ask(self, *args, **settings)
        kept = [i for i, (_, expert) in enumerate(asked.names) if expert != "vote"]
        return replace(asked, names=[asked.names[i] for i in kept], said=[asked.said[i] for i in kept])

    with patch.object(ExpertPrior, "_ask", without):
        yield lambda npc, said: set(npc.report_.weights) == {"classifier", *(f"{name} head" for name in said.views)}


@contextmanager
def second_vote_in_full() -> Iterator[Check]:
    """Half of the weight for the vote of beliefs, however few labels it foresees."""
    heard: list[float] = []

    def half(*shares: float) -> float:
        heard.append(0.5)
        return heard[-1]

    with patch.object(expert_prior, "heeded", half):
        yield lambda npc, said: heard == [0.5] or npc.report_.weights["classifier"] > 0


@contextmanager
def from_nothing() -> Iterator[Check]:
    """A fresh hidden layer at full pace, since there is no start that it could stay near."""
    width = calibrator.RECIPES["default"].hidden[0]
    with _believing(lambda belief: replace(belief, start={}, pace=1.0)):
        yield lambda npc, said: npc.network_.trunk[1].out_features == width


@contextmanager
def full_pace() -> Iterator[Check]:
    """The learning rate does not depend on the noise rate."""
    with _training_with("learning_rate") as rates, _believing(lambda belief: replace(belief, pace=1.0)):
        yield lambda npc, said: rates == [calibrator.RECIPES["default"].learning_rate]


@contextmanager
def never_trusted() -> Iterator[Check]:
    """The classifier is taken to have memorised everything."""
    with patch.object(expert_prior, "judge", lambda *args, **_: Judgement(1.0, 0.0, MOST)):
        yield lambda npc, said: npc.report_.weights["classifier"] == 0


@contextmanager
def judged_by_agreement() -> Iterator[Check]:
    """Memorising is how much better the classifier fits the labels than the experts foresee them."""
    judged: list[float] = []

    def judge(right: np.ndarray, foretold: np.ndarray, said: Predictions, *_: Any, **__: Any) -> Judgement:
        foreseen = float(foretold.mean())
        fitted = float(np.mean(said.hard == said.labels))
        judged.append(float(np.clip((fitted - foreseen) / max(1 - foreseen, 1e-6), 0, 1)))
        trust = float(np.clip((OLD_DISTRUSTED - judged[-1]) / (OLD_DISTRUSTED - OLD_TRUSTED), 0, 1))
        return Judgement(judged[-1], trust, MOST)

    with patch.object(expert_prior, "judge", judge):
        yield lambda npc, said: said.out_of_sample or judged == [npc.report_.memorisation]


@contextmanager
def hidden_unread() -> Iterator[Check]:
    """The hidden layer is not given, and so not looked at."""
    with patch.object(memorisation.HiddenLayer, "voted") as looked_at:
        yield lambda npc, said: not looked_at.called


@contextmanager
def two_thirds() -> Iterator[Check]:
    """A classifier that saw the labels may have two thirds of the weight, whatever its hidden layer shows."""
    most: list[float] = []
    in_sample = expert_prior.in_sample

    def recorded(joint: np.ndarray, without: np.ndarray, allowed: float) -> np.ndarray:
        most.append(allowed)
        return in_sample(joint, without, allowed)

    with patch.object(memorisation, "LEAST", MOST), patch.object(expert_prior, "in_sample", recorded):
        yield lambda npc, said: all(allowed == MOST for allowed in most)


@contextmanager
def undiscounted() -> Iterator[Check]:
    """What a trusted classifier says of an instance whose label it knows counts in full."""
    asked: list[float] = []

    def full(probs: np.ndarray, labels: np.ndarray, memorised: float) -> np.ndarray:
        asked.append(memorised)
        return np.array(probs, dtype=np.float32)

    with patch.object(expert_prior, "discount", full):
        yield lambda npc, said: len(asked) > 0 or npc.report_.weights["classifier"] == 0 or said.out_of_sample


@contextmanager
def constant_rate() -> Iterator[Check]:
    """The learning rate does not fall."""
    recipe = replace(calibrator.RECIPES["default"], decay=False)
    with _training_with("decay") as decays, patch.dict(calibrator.RECIPES, {"default": recipe}):
        yield lambda npc, said: decays == [False]


@contextmanager
def no_evening_out() -> Iterator[Check]:
    """T as it is counted."""
    rows: list[int] = []

    def right(right: np.ndarray, total: np.ndarray) -> np.ndarray:
        return np.where(total > 0, (right + 0.5) / (total + 0.5 + 0.5 / len(total)), 1.0)

    def row(counts: np.ndarray, y: int, right: float) -> np.ndarray:
        rows.append(y)
        wrong = np.delete(counts, y)
        spread = wrong / wrong.sum() if wrong.sum() > 0 else np.full(len(wrong), 1 / len(wrong))
        return np.insert((1 - right) * spread, y, right)

    with patch.object(label_noise, "_right", right), patch.object(label_noise, "_row", row):
        yield lambda npc, said: len(rows) > 0


@contextmanager
def fixed_reliance() -> Iterator[Check]:
    """The reliance r on the classifier stays what the pool's weights make it."""

    def stayed(npc: NPC, said: Predictions) -> bool:
        weights = npc.report_.weights
        loud = 1.0 if said.out_of_sample else max(1.0, sum(weights.values()))
        return bool(np.isclose(npc.network_.reliance.item(), weights["classifier"] / loud, atol=1e-6))

    with patch.object(training, "RELIANCE_RATE", 0.0):
        yield stayed


@contextmanager
def on_hidden() -> Iterator[Check]:
    """The classifier's hidden layer takes the place of the label-free features."""
    yield lambda npc, said: said.hidden is not None and npc.view_widths_ == {"features": said.hidden.shape[1]}


@contextmanager
def in_sample_unknown() -> Iterator[Check]:
    """The classifier is said not to have seen the labels."""
    yield lambda npc, said: npc.report_.memorisation == 0


VARIANTS = {
    "whole": Variant("whole recipe"),
    "no-T": Variant("no T (identity)", no_transition),
    "no-swaps": Variant("no swaps near a class boundary", no_swaps),
    "from-shares": Variant("p(y given x) solved for from the class shares", start_from_shares),
    "no-label": Variant("beliefs without the instance's own label", no_own_label),
    "no-vote": Variant("no vote of labels", no_votes),
    "no-second-vote": Variant("no vote of beliefs", no_second_vote),
    "second-vote-in-full": Variant("vote of beliefs always heard in full", second_vote_in_full),
    "from-nothing": Variant("starting from nothing instead of from the heads", from_nothing),
    "trusted": Variant(
        "classifier always trusted as if out of sample",
        in_sample_unknown,
        lambda said: said.replace(out_of_sample=True),
    ),
    "distrusted": Variant("classifier never trusted", never_trusted, lambda said: said.replace(out_of_sample=False)),
    "agreement": Variant("memorising judged by the experts' agreement alone", judged_by_agreement),
    "no-hidden": Variant("no hidden layer given", hidden_unread, lambda said: said.replace(hidden=None)),
    "two-thirds": Variant("two thirds of the weight at most for any classifier in sample", two_thirds),
    "undiscounted": Variant("what a trusted classifier repeats counts in full", undiscounted),
    "full-pace": Variant("full pace always", full_pace),
    "constant-rate": Variant("a learning rate that does not fall", constant_rate),
    "uneven": Variant("no evening-out of T", no_evening_out),
    "fixed-r": Variant("reliance r fixed instead of learned", fixed_reliance),
    "on-hidden": Variant(
        "hidden layer as the only features", on_hidden, lambda said: said.replace(features=said.hidden)
    ),
}


@contextmanager
def _believing(change: Callable[[Belief], Belief]) -> Iterator[None]:
    believe = ExpertPrior.believe

    def changed(self: ExpertPrior, *args: Any, **settings: Any) -> Belief:
        return change(believe(self, *args, **settings))

    with patch.object(ExpertPrior, "believe", changed):
        yield


@contextmanager
def _training_with(setting: str) -> Iterator[list[Any]]:
    """Give the list of the values that the autoencoder is trained with."""
    values: list[Any] = []
    train = calibrator.train

    def recorded(*args: Any, **settings: Any) -> list[float]:
        values.append(settings[setting])
        return train(*args, **settings)

    with patch.object(calibrator, "train", recorded):
        yield values


@contextmanager
def experts_asked_once() -> Iterator[None]:
    """Keep what votes and heads said, and the random generators' states after it, for variants of the same case."""
    kept: dict[str, tuple[Any, dict[str, Any], torch.Tensor]] = {}
    ask = ExpertPrior._ask

    def once(
        self: ExpertPrior, said: Predictions, labels: np.ndarray, rng: np.random.Generator, **settings: Any
    ) -> Any:
        key = _digest(
            *said.views.values(),
            labels,
            torch.get_rng_state().numpy(),
            repr((list(said.views), rng.bit_generator.state, said.n_classes, self.get_params(), settings["seed"])),
            heads.suspected.__qualname__,
        )
        if key not in kept:
            while len(kept) >= KEPT:
                kept.pop(next(iter(kept)))
            asked = ask(self, said, labels, rng, **settings)
            kept[key] = asked, rng.bit_generator.state, torch.get_rng_state()
        asked, rng.bit_generator.state, state = kept[key]
        torch.set_rng_state(state)
        return asked

    with patch.object(ExpertPrior, "_ask", once):
        yield


def _digest(*parts: Any) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).tobytes())
    return found.hexdigest()
