"""The classifier as a witness: what weight its word has beside the experts', whether or not it has seen the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truelabel.arrays import Array, Floats, Ints, float32
from truelabel.calibrators.npc.beliefs import Believer
from truelabel.calibrators.npc.given import Given
from truelabel.calibrators.npc.memory import Memory, judge
from truelabel.calibrators.npc.settings import Settings
from truelabel.experts.panel import Panel
from truelabel.label_noise.swaps import Swapped
from truelabel.pool import pool, pool_everywhere


@dataclass(frozen=True)
class Witness:
    """What the classifier counts.

    Attributes
    ----------
    weights : (e + 1,) array
        Weights of the experts, and last of a classifier that saw the labels.
    memory : Memory, optional
        What is thought of it; None where it has not seen the labels.
    on_unseen : (e + 1,) array, optional
        Weights on instances that it was not trained on, where there are some.
    withheld : (n,) array of bool, optional
        Instances whose predictions the network is not shown.
    contradicting : (e + 1,) array, optional
        Weights where it contradicts the label it has seen, which is no memory.
    """

    weights: Floats
    memory: Memory | None = None
    on_unseen: Floats | None = None
    withheld: Array | None = None
    contradicting: Floats | None = None

    @property
    def reliance(self) -> float:
        """The weight of its word on instances that it was not trained on."""
        return float((self.weights if self.on_unseen is None else self.on_unseen)[-1])

    def foretold(self, given: Given, panel: Panel, swapped: Swapped | None) -> Floats:
        """Return p(ỹ | x) by the experts and the classifier together."""
        probs = given.predictions.probs
        parts = [*panel.before_swaps(swapped), probs if swapped is None else swapped.exchange(probs)]
        out = pool_everywhere(parts, self.weights)
        if self.contradicting is not None:
            rows = np.flatnonzero(given.predictions.hard != given.predictions.labels)
            out[rows] = pool([float32(part, rows) for part in parts], self.contradicting)
        if self.on_unseen is not None and given.unseen is not None:
            out[given.unseen] = pool([float32(part, given.unseen) for part in parts], self.on_unseen)
        return out


def hear(
    given: Given,
    panel: Panel,
    weights: Floats,
    foretold: Floats,
    learned: Ints,
    rows: Ints,
    believer: Believer,
    settings: Settings,
    rng: np.random.Generator,
) -> Witness:
    """Judge a classifier that saw the labels, and weigh its word.

    Parameters
    ----------
    given : Given
        With its predictions.
    panel, weights, foretold
        The experts, their weights, and what they foretell together.
    learned : (n,) array
        The labels that experts learn from.
    rows : array
        Rows whose labels choose weights.
    believer : Believer
        What is believed by experts that had not seen the labels.
    settings : Settings
        Of the recipe.
    rng : Generator
        Picks instances.
    """
    predictions, unseen = given.predictions, given.unseen
    expected = foretold if believer.swapped is None else believer.swapped.exchange(foretold)
    guessed = expected.argmax(axis=1)
    contradicts = None
    if given.unlabelled is not None:
        other = given.unlabelled
        contradicts = float(np.mean(guessed != predictions.hard)), panel.contradicts(other.views, other.hard, weights)
    memory = judge(
        believer.wrong,
        guessed,
        predictions,
        unseen,
        rng,
        settings.memory,
        expected=believer.expected,
        noise_rate=believer.noise.rate,
        proven=believer.noise.by_form,
        contradicts=contradicts,
    )
    if settings.trust != "judged":
        memory = Memory(0.0, 1.0, 1.0, np.inf) if settings.trust == "whole" else Memory(1.0, 0.0, 0.0, 0.0)
    alone = np.append(weights, 0).astype(np.float32)
    joint = panel.weights(learned, rows if unseen is None else unseen, predictions.probs)
    heard = joint
    if unseen is None and settings.trust == "judged":
        at_most = settings.memory.least + (settings.memory.most - settings.memory.least) * memory.knows_more
        heard = in_sample(joint, weights, at_most)
    trust = min(1.0, memory.most / max(float(heard[-1]), 1e-6))
    in_all = trust * heard + (1 - trust) * alone
    if unseen is None:
        on_new = memory.trust * heard + (1 - memory.trust) * alone
        return Witness(in_all, memory, on_new, contradicting=on_new if memory.trust > trust else None)
    withheld = None
    if trust < settings.shown:
        withheld = np.ones(len(guessed), dtype=bool)
        withheld[unseen] = False
    return Witness(in_all, memory, joint, withheld)


def in_sample(joint: Floats, without: Floats, most: float) -> Floats:
    """Return weights of the experts and, last, of a classifier that saw the labels, which speak for it too loudly.

    `joint` is what the labels choose for all, `without` what they choose for the experts alone. The classifier gets
    its share, but not more than `most`: then what is chosen without it has a part. The pool is no sharper than the
    experts alone are, or than the classifier where they know nothing.
    """
    shares = joint / max(float(joint.sum()), 1e-6)
    part = most / max(float(shares[-1]), most)
    return (part * max(float(without.sum()), 1.0) * shares + (1 - part) * np.append(without, 0)).astype(np.float32)
