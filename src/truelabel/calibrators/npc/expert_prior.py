"""The default recipe's prior: several experts, judged by the noisy labels, and the labels judged by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from sklearn.base import BaseEstimator

from truelabel.arrays import Array, Floats, Ints, float32
from truelabel.calibrators.npc.heads import FoldHeads, out_of_fold
from truelabel.calibrators.npc.label_noise import (
    denoise,
    estimate_transition,
    given_label,
    matching_sharpness,
    over_all,
    settle,
)
from truelabel.calibrators.npc.memorisation import HiddenLayer, discount, judge
from truelabel.calibrators.npc.pool import evidence, likelihood_weights, logs, pool, pool_everywhere
from truelabel.calibrators.npc.prior import Belief
from truelabel.calibrators.npc.swaps import Swapped, Swaps
from truelabel.calibrators.npc.votes import Vote
from truelabel.neighbours import stratified
from truelabel.predictions import Predictions
from truelabel.progress import Progress

HEARD, UNHEARD = 0.1, 0.3  # memorisation up to which the classifier is heard in counting T, and from which it is not
SHOWN = 0.5  # trust from which the autoencoder sees what the classifier says of its training instances
ROUNDS = 3  # of neighbours who vote with what is believed of them
MISSED = 0.1  # share of the labels that such a vote foresees less than p(y | x) does, for it not to be heard
FULL_PACE = 0.2  # noise rate from which the autoencoder learns at its full rate


class ExpertPrior(BaseEstimator):  # type: ignore[misc]
    """The default recipe's prior: experts on label-free features, pooled by the likelihood of the noisy labels.

    The experts are, for each view, a k-NN vote of the labels and an out-of-fold head; and the classifier, as far as
    it deserves trust. The first two have not seen the label of the instance they are asked about, so that the labels
    can judge them, and their pool is p(ỹ | x). From it come the transition matrix T of the labels, p(y | x), and,
    with each instance's own label, the belief p(y | x, ỹ) ∝ p(y | x) T[y, ỹ]. Then neighbours vote again, with what is
    believed of them. Where the heads find that labels are swapped near a class boundary, all of this is about the
    labels before they were. Without labels the classifier's predictions take their place throughout.

    Parameters
    ----------
    k : int, optional
        Neighbours that vote. None tries several and keeps the one whose votes predict the noisy labels best.
    reference : int, default 50000
        At most this many instances vote and train heads, so that the cost stays linear in n.
    """

    def __init__(self, k: int | None = None, reference: int = 50_000) -> None:
        self.k = k
        self.reference = reference

    def believe(
        self,
        predictions: Predictions,
        *,
        device: torch.device,
        seed: int,
        progress: Progress,
        unseen: Ints | None = None,
        known: Ints | None = None,
    ) -> Belief:
        """Ask the experts and pool them; see `Prior`.

        `unseen` are the rows that the classifier was not trained on, where that is known of some; `known` are true
        classes, −1 where they are not known.
        """
        if not predictions.views:
            raise ValueError(
                "the default recipe needs features that did not see the noisy labels; pass Predictions(features=…), "
                'or use recipe="paper" on the hidden layer.'
            )
        rng = np.random.default_rng(seed)
        labels = predictions.hard if predictions.labels is None else predictions.labels
        learned = labels if known is None else np.where(known >= 0, known, labels)
        experts = self._ask(predictions, learned, rng, device=device, seed=seed, progress=progress)
        asked = evidence(len(labels), predictions.n_classes, rng)
        unheard = experts.by_name(np.zeros(len(experts.names)))
        experts = experts.needed(learned, asked)
        weights = experts.weights(learned, asked)
        swapped = experts.swapped(weights)
        told = experts.before_swaps(swapped)
        believed = pool_everywhere(told, weights)
        transition, class_shares = estimate_transition(believed, labels, known=known, swapped=swapped)

        memorised, trust, most, layer = None, 0.0, 1.0, None
        if predictions.labels is not None and predictions.out_of_sample:
            memorised, trust = 0.0, 1.0
        elif predictions.labels is not None:
            right = settle(given_label(denoise(believed, transition), transition, labels, 1.0, swapped), known)
            expected = believed if swapped is None else swapped.exchange(believed)
            foretold = expected.argmax(axis=1) == labels
            own = right[np.arange(len(labels)), labels]
            layer = None if predictions.hidden is None else HiddenLayer(predictions, unseen)
            memorised, trust, most = judge(
                own,
                foretold,
                predictions,
                layer,
                unseen,
                rng,
                noise_rate=_noise_rate(over_all(transition, believed, swapped), class_shares),
                swaps=swapped is not None,
            )

        heard = np.append(weights, 0).astype(np.float32)
        withheld = None
        if trust > 0 or unseen is not None:
            says = predictions.probs
            if memorised is not None and not predictions.out_of_sample:
                says = discount(says, labels, memorised)
                if unseen is not None:
                    says[unseen] = float32(predictions.probs, unseen)
            joint = experts.weights(learned, asked if unseen is None else unseen, says)
            if unseen is None and not predictions.out_of_sample:
                joint = in_sample(joint, weights, most)
            heard = trust * joint + (1 - trust) * heard
            said = [*told, says if swapped is None else swapped.exchange(says)]
            alone, believed = believed, pool_everywhere(said, heard)
            if unseen is not None:
                believed[unseen] = pool_everywhere([float32(p, unseen) for p in said], joint)
                if trust < SHOWN:
                    withheld = np.ones(len(labels), dtype=bool)
                    withheld[unseen] = False
                heard = joint
            if predictions.out_of_sample:
                transition, class_shares = estimate_transition(believed, labels, known=known, swapped=swapped)
            elif memorised is not None and memorised < UNHEARD and layer is not None:
                contradicted = partial(layer.contradicts, predictions.hard, alone.argmax(axis=1))
                counted = estimate_transition(alone, labels, contradicted=contradicted, known=known, swapped=swapped)
                share = float(np.interp(memorised, (HEARD, UNHEARD), (1, 0)))
                transition, class_shares = (
                    share * new + (1 - share) * old
                    for new, old in zip(counted, (transition, class_shares), strict=True)
                )
        by_view = experts.by_view(heard)
        clean = denoise(believed, transition)
        sharpness = matching_sharpness(
            clean[asked], transition, class_shares, labels[asked], None if swapped is None else swapped[asked]
        )
        belief = settle(given_label(clean, transition, labels, sharpness, swapped), known)
        part = 0.0
        for turn in range(ROUNDS if sum(by_view.values()) > 0 else 0):
            again = experts.vote_again(belief, by_view)
            if turn == 0:
                first, second = (_foreseen(probs, labels, asked, swapped) for probs in (clean, again))
                part = heeded(first, second)
            # What the vote lacks of a half goes to p(y | x), so that beliefs are as sure as with all of it.
            parts = np.array([sharpness / 2 + (1 / 2 - part), part], dtype=np.float32)
            clean, sharpness = pool_everywhere([clean, again], parts), 1.0
            belief = settle(given_label(clean, transition, labels, sharpness, swapped), known)
        whole = over_all(transition, believed, swapped)
        noise_rate = _noise_rate(whole, class_shares)
        # Weights above 1 are for votes, which are flat, or from labels that the classifier saw: no reason to be surer.
        outside = predictions.out_of_sample or unseen is not None
        loud = 1.0 if outside else max(1.0, float(heard.sum()))
        return Belief(
            belief,
            trust=float(heard[-1]) / loud,
            scales={name: vote.scale for name, vote in experts.votes.items()},
            start={name: (head, by_view[name] / loud) for name, head in experts.heads.items()},
            pace=min(1.0, (noise_rate / FULL_PACE) ** 2),
            withheld=withheld,
            transition=whole,
            class_shares=class_shares,
            swapped=swapped,
            before_swaps=transition,
            facts={
                "memorisation": memorised,
                "noise_rate": noise_rate,
                "swapped": 0.0 if swapped is None else swapped.share(believed),
                "weights": {"classifier": float(heard[-1])} | unheard | experts.by_name(heard),
                "views": {name: vote.scale.name for name, vote in experts.votes.items()},
                "k": {name: vote.k for name, vote in experts.votes.items()},
                "references": len(experts.reference),
            },
        )

    def _ask(
        self,
        predictions: Predictions,
        labels: Ints,
        rng: np.random.Generator,
        *,
        device: torch.device,
        seed: int,
        progress: Progress,
    ) -> _Experts:
        c = predictions.n_classes
        reference = stratified(labels, self.reference, rng)
        said: dict[tuple[str, str], Floats] = {}
        votes: dict[str, Vote] = {}
        heads: dict[str, FoldHeads] = {}
        swaps: dict[str, Swaps | None] = {}
        for name, view in predictions.views.items():
            vote = votes[name] = Vote.best(view, labels, reference, c, self.k, rng)
            said[name, "vote"] = vote.everywhere(view, progress)
            said[name, "head"], heads[name], swaps[name] = out_of_fold(
                view, vote.scale, labels, reference, c, device=device, seed=seed, progress=progress, swaps=True
            )
        return _Experts(list(said), list(said.values()), votes, heads, swaps, reference)


@dataclass(frozen=True)
class _Experts:
    """What the experts on the views say of all instances, and what they are made of.

    Votes are of the labels as they are, heads speak of labels before they are swapped near a boundary.
    """

    names: list[tuple[str, str]]
    said: list[Floats]
    votes: dict[str, Vote]
    heads: dict[str, FoldHeads]
    swaps: dict[str, Swaps | None]
    reference: Ints

    def needed(self, labels: Ints, asked: Ints) -> _Experts:
        """Leave out views that the labels do not need.

        What a view adds to their likelihood has to be worth its two weights, by the Bayesian information criterion.
        """
        if len(self.votes) == 1:
            return self
        by_view = self.by_view(self.weights(labels, asked))
        kept, likelihood = self, self._likelihood(labels, asked)
        for view in sorted(by_view, key=lambda name: by_view[name])[:-1]:
            fewer = kept._without(view)
            less = fewer._likelihood(labels, asked)
            if likelihood - less <= np.log(len(asked)):
                kept, likelihood = fewer, less
        return kept

    def _without(self, view: str) -> _Experts:
        rest = [i for i, (name, _) in enumerate(self.names) if name != view]
        return replace(
            self,
            names=[self.names[i] for i in rest],
            said=[self.said[i] for i in rest],
            votes={name: vote for name, vote in self.votes.items() if name != view},
            heads={name: head for name, head in self.heads.items() if name != view},
        )

    def weights(self, labels: Ints, asked: Ints, classifier: Array | None = None) -> Floats:
        """Return the weights, of the classifier last if it is asked, that the labels of the rows `asked` choose."""
        said = self._labels(asked)
        if classifier is not None:
            said.append(float32(classifier, asked))
        return likelihood_weights(said, labels[asked])

    def _likelihood(self, labels: Ints, asked: Ints) -> float:
        """Return log p of the labels of the rows `asked`, all together, with the weights that they choose."""
        foretold = pool(self._labels(asked), self.weights(labels, asked))
        return float(logs(foretold)[np.arange(len(asked)), labels[asked]].sum(dtype=np.float64))

    def _labels(self, asked: Ints) -> list[Floats]:
        """Return what the experts say of the labels of the rows `asked`, as they are after swaps."""
        said = [float32(p, asked) for p in self.said]
        for i, (view, kind) in enumerate(self.names):
            swaps = self.swaps[view]
            if kind == "head" and swaps is not None:
                said[i] = swaps.at(said[i]).exchange(said[i])
        return said

    def swapped(self, weights: Floats) -> Swapped | None:
        """Return where labels are swapped, by the head that has most weight; None where that is not proven."""
        heads = [i for i, (_, kind) in enumerate(self.names) if kind == "head"]
        best = max(heads, key=lambda i: float(weights[i]))
        swaps = self.swaps[self.names[best][0]]
        return None if swaps is None else swaps.at(self.said[best])

    def before_swaps(self, swapped: Swapped | None) -> list[Floats]:
        """Return what the experts say of labels before they are swapped."""
        if swapped is None:
            return self.said
        return [
            swapped.exchange(said) if kind == "vote" else said
            for (_, kind), said in zip(self.names, self.said, strict=True)
        ]

    def vote_again(self, believed: Floats, weights: Mapping[str, float]) -> Floats:
        """Return what the neighbours vote for, each with what is believed of it; `weights` are those of the views."""
        out = np.zeros_like(believed)
        for name, vote in self.votes.items():
            if weights[name] > 0:
                out += np.float32(weights[name] / sum(weights.values())) * vote.of_beliefs(believed)
        return out

    def by_name(self, weights: Array) -> dict[str, float]:
        return {" ".join(name): float(w) for name, w in zip(self.names, weights, strict=False)}

    def by_view(self, weights: Floats) -> dict[str, float]:
        """Return the weight of all experts of each view."""
        total = dict.fromkeys(self.votes, 0.0)
        for (view, _), weight in zip(self.names, weights, strict=False):
            total[view] += float(weight)
        return total


def _noise_rate(transition: Array, shares: Array) -> float:
    return float(1 - shares @ np.diag(transition))


def _foreseen(probs: Floats, labels: Ints, rows: Ints, swapped: Swapped | None) -> float:
    """Return the share of the labels of the rows that are the likeliest class, after swaps."""
    said = probs[rows] if swapped is None else swapped[rows].exchange(probs[rows])
    return float(np.mean(said.argmax(axis=1) == labels[rows]))


def heeded(first: float, second: float) -> float:
    """Return the part that a second vote gets beside what is believed already: a half, unless it foresees less.

    Where instances lie among others of their class, what is believed of the neighbours foresees as many labels as what
    is believed of the instance itself, or more. Where they do not, neighbours would confirm each other's mistakes.

    Parameters
    ----------
    first, second : float
        Shares of the labels that p(y | x) and the vote foresee.
    """
    return float(np.clip(1 - (first - second) / MISSED, 0, 1)) / 2


def in_sample(joint: Floats, without: Floats, most: float) -> Floats:
    """Return weights of the experts and, last, of a classifier that saw the labels, which speak for it too loudly.

    `joint` is what the labels choose for all, `without` what they choose for the experts alone. The classifier gets
    its share, but not more than `most`: then what is chosen without it has a part. The pool is no sharper than the
    experts alone are.
    """
    shares = joint / max(float(joint.sum()), 1e-6)
    part = most / max(float(shares[-1]), most)
    return (part * float(without.sum()) * shares + (1 - part) * np.append(without, 0)).astype(np.float32)
