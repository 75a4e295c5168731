"""The default recipe's prior: experts foretell the labels, the labels judge them, and the noise is told from both."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from truelabel.arrays import Floats, Ints, float32
from truelabel.calibrators.npc.beliefs import Believer
from truelabel.calibrators.npc.given import Given, log_odds
from truelabel.calibrators.npc.named import Named, evidence_of_names
from truelabel.calibrators.npc.prior import Belief
from truelabel.calibrators.npc.settings import Settings
from truelabel.calibrators.npc.witness import Witness, hear
from truelabel.experts.panel import Panel
from truelabel.label_noise import LabelNoise
from truelabel.label_noise.swaps import Swapped
from truelabel.label_noise.transition import noise_rate, over_all
from truelabel.pool import evidence, pool_everywhere


class ExpertPrior(BaseEstimator):  # type: ignore[misc]
    """The default recipe's prior, in four steps.

    1. **Experts** on the label-free features foretell each label without having seen it: p(ỹ | x). A classifier that
       has not seen the labels is one of them.
    2. **Noise**: what T may be, by what the experts foretell and what the labels are, and by checked labels.
    3. **Witness**: how far a classifier that has seen the labels repeats them, and what weight it therefore has.
    4. **Belief**: p(y | x) is solved for, neighbours vote again with what is believed of them, and the instance's own
       label is heard: p(y | x, ỹ).

    The network then starts from the experts and the classifier, and learns from the belief. Without labels the
    classifier's predictions take their place throughout.

    Parameters
    ----------
    settings : Settings, optional
        All constants, and which parts are left out.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings

    def believe(self, given: Given) -> Belief:
        """Ask the experts, judge the noise and the classifier, and say what is believed; see `Prior`."""
        settings = self.settings or Settings()
        predictions, c = given.predictions, given.predictions.n_classes
        if not predictions.views:
            raise ValueError(
                "the default recipe needs features that did not see the noisy labels; pass Predictions(features=…), "
                'or use recipe="paper" on the hidden layer.'
            )
        rng = np.random.default_rng(given.seed)
        labels = predictions.hard if predictions.labels is None else predictions.labels
        learned = labels if given.trusted is None else np.where(given.trusted >= 0, given.trusted, labels)
        rows = evidence(len(labels), c, rng)
        saw_labels = predictions.labels is not None and not predictions.out_of_sample

        # Experts
        asked = Panel.ask(predictions.views, learned, c, rng, settings.panel, given.device, given.seed, given.progress)
        panel = asked.needed(learned, rows)
        if predictions.labels is not None and predictions.out_of_sample:
            panel = panel.joined_by(predictions.probs)
        weights = panel.weights(learned, rows)
        swapped = panel.swapped(weights)
        foretold = pool_everywhere(panel.before_swaps(swapped), weights)

        # Noise
        noise = _noise(given, settings, foretold, labels, rows, rng, swapped)
        believer = Believer(noise, labels, swapped, given.trusted, own_label=settings.own_label)
        believer.weigh(foretold, rows, panel, panel.by_view(weights), again=settings.rounds > 0)

        # Witness
        witness = Witness(np.append(weights, 0).astype(np.float32))
        if saw_labels:
            witness = hear(given, panel, weights, foretold, learned, rows, believer, settings, rng)
            if witness.reliance > 0:
                foretold = witness.foretold(given, panel, swapped)
                believer.lower_upper_end(foretold, rows, witness.memory.knows_more if witness.memory else 0.0)

        # Belief
        believed = believer.believe(foretold, settings.rounds)
        return _belief(given, settings, asked, panel, believer, witness, foretold, believed)


def _noise(
    given: Given,
    settings: Settings,
    foretold: Floats,
    labels: Ints,
    rows: Ints,
    rng: np.random.Generator,
    swapped: Swapped | None,
) -> LabelNoise:
    c = foretold.shape[1]
    if not settings.denoise or given.transition is not None:
        shares = np.bincount(foretold.argmax(axis=1), minlength=c) + 1.0
        return LabelNoise.known(np.eye(c) if given.transition is None else given.transition, shares / shares.sum())
    checked = given.trusted if given.sample == "random" else None
    return LabelNoise.estimate(
        foretold,
        labels,
        rng,
        rows=rows,
        trusted=checked,
        weights=given.weights,
        swapped=swapped,
        settings=settings.noise,
    )


def _named(given: Given, panel: Panel, weights: Floats, labels: Ints) -> Named | None:
    """Return what the classes that a classifier names say, by instances it has not seen; its weight comes last."""
    probs = given.predictions.probs
    unseen = np.arange(len(labels)) if given.unseen is None else given.unseen
    rows = unseen[evidence(len(unseen), probs.shape[1], np.random.default_rng(given.seed))]
    experts = [float32(part, rows) for part in panel.foretold[: len(weights) - 1]]
    return evidence_of_names(experts, weights, float32(probs, rows), labels[rows])


def _belief(
    given: Given,
    settings: Settings,
    asked: Panel,
    panel: Panel,
    believer: Believer,
    witness: Witness,
    foretold: Floats,
    believed: Floats,
) -> Belief:
    """Return the belief with what the network starts from, and what is worth reporting."""
    weights = witness.weights if witness.on_unseen is None else witness.on_unseen
    joined = given.predictions.out_of_sample and given.predictions.labels is not None
    reliance = float(weights[-2]) if joined else witness.reliance
    by_view = panel.by_view(weights)
    # In sample, weights above 1 are for votes, which are flat: no reason for the start to be surer than the heads.
    outside = joined or given.unseen is not None
    loud = 1.0 if outside else max(1.0, float(weights.sum()))
    named = None
    if outside and reliance > 0 and witness.withheld is None:  # what is withheld names no class
        named = _named(given, panel, weights[:-1] if joined else weights, believer.labels)
    noise, swapped = believer.noise, believer.swapped
    transition = over_all(noise.transition, foretold, swapped)
    least = noise_rate(over_all(noise.proven, foretold, swapped), noise.shares)
    withheld = witness.withheld
    if not noise.is_supported and swapped is None:
        least *= least**2 / (least**2 + settings.weak_features**2)
        if not outside and log_odds(given.predictions.probs) > log_odds(believed):
            # Surer of the labels it has seen than a belief that has heard them, too: the network would learn to make
            # up for that, and on new instances there is nothing to make up for.
            withheld = np.ones(len(believed), dtype=bool)
    return Belief(
        believed,
        reliance=reliance / loud if named is None else named.weight,
        named=None if named is None else named.evidence,
        own_word=1.0 if outside else reliance / loud,
        scales={name: vote.scale for name, vote in panel.votes.items()},
        start={name: (head, by_view[name] / loud) for name, head in panel.heads.items()},
        pace=float(np.clip((least / settings.full_pace) ** 2, settings.least_pace, 1.0)),
        withheld=withheld,
        noise=noise,
        swapped=swapped,
        transition=transition,
        facts={
            "memorisation": 0.0 if joined else None if witness.memory is None else witness.memory.share,
            "noise_rate": noise.rate if swapped is None else noise_rate(transition, noise.shares),
            "noise_interval": noise.interval(),
            "noise_evidence": noise.evidence,
            "swapped": 0.0 if swapped is None else swapped.share(foretold),
            "weights": {"classifier": reliance} | asked.by_name(np.zeros(len(asked.names))) | panel.by_name(weights),
            "views": {name: vote.scale.name for name, vote in panel.votes.items()},
            "k": {name: vote.k for name, vote in panel.votes.items()},
            "references": len(panel.reference),
        },
    )
