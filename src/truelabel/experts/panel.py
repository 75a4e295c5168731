"""All experts on the label-free views: what they foretell of labels they have not seen, and how they are weighed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from truelabel.arrays import Array, Floats, Ints, float32, row_blocks
from truelabel.copies import find_copies
from truelabel.experts.heads import FoldHeads, HeadSettings, out_of_fold
from truelabel.experts.votes import Vote
from truelabel.label_noise.swaps import Swapped, Swaps
from truelabel.neighbours import stratified
from truelabel.pool import likelihood_weights, logs, pool
from truelabel.progress import Progress

NEW_ROWS = 8_192


@dataclass(frozen=True)
class PanelSettings:
    """Which experts there are, and how they learn.

    Attributes
    ----------
    votes : bool
        Whether neighbours vote with their labels. They always choose the scale of a view.
    swaps : bool
        Whether heads may learn that labels are swapped near a boundary.
    k : int, optional
        Neighbours that vote; None tries several and keeps the one whose votes predict the labels best.
    reference : int
        Instances that vote and train heads, at most, so that the cost stays linear in n.
    heads : HeadSettings
        How heads learn.
    """

    votes: bool = True
    swaps: bool = True
    k: int | None = None
    reference: int = 50_000
    heads: HeadSettings = field(default_factory=HeadSettings)


@dataclass(frozen=True)
class Panel:
    """What the experts say of all instances, and what they are made of.

    Votes are of the labels as they are, heads speak of labels before they are swapped near a boundary. A classifier
    that has not seen the labels is one more expert, and comes last.
    """

    names: list[tuple[str, str]]
    foretold: list[Array]
    votes: dict[str, Vote]
    heads: dict[str, FoldHeads]
    swaps: dict[str, Swaps | None]
    reference: Ints

    @classmethod
    def ask(
        cls,
        views: Mapping[str, Array],
        labels: Ints,
        c: int,
        rng: np.random.Generator,
        settings: PanelSettings,
        device: torch.device,
        seed: int,
        progress: Progress,
    ) -> Panel:
        """Let the experts learn from the labels and foretell each that they have not seen."""
        reference = stratified(labels, settings.reference, rng)
        copies = find_copies(views, reference)
        foretold: dict[tuple[str, str], Array] = {}
        votes: dict[str, Vote] = {}
        heads: dict[str, FoldHeads] = {}
        swaps: dict[str, Swaps | None] = {}
        for name, view in views.items():
            vote = votes[name] = Vote.best(view, labels, reference, c, settings.k, rng, copies)
            voted = vote.everywhere(view, progress)
            if settings.votes:
                foretold[name, "vote"] = voted
            foretold[name, "head"], heads[name], swaps[name] = out_of_fold(
                view,
                vote.scale,
                labels,
                reference,
                c,
                device=device,
                seed=seed,
                progress=progress,
                settings=settings.heads,
                swaps=settings.swaps,
                copies=copies,
            )
        return cls(list(foretold), list(foretold.values()), votes, heads, swaps, reference)

    def joined_by(self, classifier: Array) -> Panel:
        """Return the panel with a classifier that has not seen the labels."""
        return replace(self, names=[*self.names, ("classifier", "")], foretold=[*self.foretold, classifier])

    def needed(self, labels: Ints, rows: Ints) -> Panel:
        """Leave out views that the labels do not need.

        What a view adds to their likelihood has to be worth its two weights, by the Bayesian information criterion.
        """
        if len(self.votes) == 1:
            return self
        by_view = self.by_view(self.weights(labels, rows))
        kept, likelihood = self, self._likelihood(labels, rows)
        for view in sorted(by_view, key=lambda name: by_view[name])[:-1]:
            fewer = kept._without(view)
            less = fewer._likelihood(labels, rows)
            if likelihood - less <= np.log(len(rows)):
                kept, likelihood = fewer, less
        return kept

    def _without(self, view: str) -> Panel:
        rest = [i for i, (name, _) in enumerate(self.names) if name != view]
        return replace(
            self,
            names=[self.names[i] for i in rest],
            foretold=[self.foretold[i] for i in rest],
            votes={name: vote for name, vote in self.votes.items() if name != view},
            heads={name: head for name, head in self.heads.items() if name != view},
        )

    def weights(self, labels: Ints, rows: Ints, classifier: Array | None = None) -> Floats:
        """Return the weights, of a classifier that saw the labels last, that the labels of these rows choose."""
        parts = self._labels(rows)
        if classifier is not None:
            parts.append(float32(classifier, rows))
        return likelihood_weights(parts, labels[rows])

    def _likelihood(self, labels: Ints, rows: Ints) -> float:
        """Return log p of the labels of these rows, all together, with the weights that they choose."""
        foretold = pool(self._labels(rows), self.weights(labels, rows))
        return float(logs(foretold)[np.arange(len(rows)), labels[rows]].sum(dtype=np.float64))

    def _labels(self, rows: Ints) -> list[Floats]:
        """Return what the experts say of the labels of these rows, as they are after swaps."""
        parts = [float32(p, rows) for p in self.foretold]
        for i, (view, kind) in enumerate(self.names):
            swaps = self.swaps.get(view)
            if kind == "head" and swaps is not None:
                parts[i] = swaps.at(parts[i]).exchange(parts[i])
        return parts

    def swapped(self, weights: Floats) -> Swapped | None:
        """Return where labels are swapped, by the head that has most weight; None where that is not proven."""
        heads = [i for i, (_, kind) in enumerate(self.names) if kind == "head"]
        best = max(heads, key=lambda i: float(weights[i]))
        swaps = self.swaps[self.names[best][0]]
        return None if swaps is None else swaps.at(np.asarray(self.foretold[best]))

    def before_swaps(self, swapped: Swapped | None) -> list[Array]:
        """Return what the experts say of labels before they are swapped."""
        if swapped is None:
            return self.foretold
        return [
            part if kind == "head" else swapped.exchange(part)
            for (_, kind), part in zip(self.names, self.foretold, strict=True)
        ]

    def vote_again(self, believed: Floats, weights: Mapping[str, float]) -> Floats:
        """Return what the neighbours vote for, each with what is believed of it; `weights` are those of the views."""
        out = np.zeros_like(believed)
        for name, vote in self.votes.items():
            if weights[name] > 0:
                out += np.float32(weights[name] / sum(weights.values())) * vote.of_beliefs(believed)
        return out

    def contradicts(self, views: Mapping[str, Array], predicted: Ints, weights: Floats) -> float:
        """Return the share of new instances on which single heads say another class than `predicted`."""
        best = max(self.heads, key=lambda name: self.by_view(weights)[name])
        heads, scale = self.heads[best], self.votes[best].scale
        device = heads.first.device
        wrong = 0.0
        with torch.inference_mode():
            for rows in row_blocks(len(predicted), NEW_ROWS):
                x = torch.from_numpy(scale(float32(views[best], rows))).to(device)
                said = heads(x).argmax(dim=2).cpu().numpy()
                wrong += float(np.mean(said != predicted[rows], axis=0).sum())
        return wrong / len(predicted)

    def by_name(self, weights: Array) -> dict[str, float]:
        """Return the weight of each expert."""
        return {" ".join(name).strip(): float(w) for name, w in zip(self.names, weights, strict=False)}

    def by_view(self, weights: Floats) -> dict[str, float]:
        """Return the weight of all experts of each view."""
        total = dict.fromkeys(self.votes, 0.0)
        for (view, _), weight in zip(self.names, weights, strict=False):
            if view in total:
                total[view] += float(weight)
        return total
