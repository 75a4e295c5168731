"""From the labels of several annotators to one per instance, by what annotators and features say together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Array, Floats, Ints, matrix
from truelabel.labels.issues import titles
from truelabel.votes import NO_VOTE, Votes

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.label_noise.annotators import Annotators
    from truelabel.predictions import Predictions

ROUNDS = 4  # of experts that learn from the votes and annotators that are judged by experts; later ones change little
SETTLED = 1e-3  # share of instances with another consensus below which there is no further round
TURNS = 3  # of weights and annotators within a round
REFERENCE = 50_000  # instances that experts learn from, at most, so that the cost stays linear in n


@dataclass(frozen=True)
class Consensus:
    """What several annotators, and the features, say about n instances together.

    Attributes
    ----------
    votes : Votes
        What it is made from.
    probs : (n, c) array
        p(y | x, all votes) in the instances' own order.
    annotators : Annotators
        The model: each annotator's confusion matrix and quality, the classes' shares, how votes depend on each other.
    expert_probs : (n, c) array or None
        p(y | x) by experts on the features that have not seen the votes for the instance.
    weights : dict of str to float
        How much each of these experts counts in it.
    """

    votes: Votes
    probs: Array
    annotators: Annotators
    expert_probs: Floats | None
    weights: dict[str, float]

    def __len__(self) -> int:
        return len(self.votes)

    @property
    def labels(self) -> Ints:
        """The consensus: the most probable class of each instance, as an index."""
        return np.asarray(self.probs.argmax(axis=1))

    @property
    def class_names(self) -> tuple[Any, ...]:
        """Names of the classes, or their numbers."""
        return self.votes.class_names or (*range(self.votes.n_classes),)

    @property
    def class_shares(self) -> Array:
        """How frequent each class is, by the consensus."""
        return np.asarray(self.probs.mean(axis=0))

    @property
    def table(self) -> pd.DataFrame:
        """A row per instance, in the instances' own order.

        `instance`; `consensus`, its most probable class, and `p`, the probability of that; `votes`, how many there are;
        `disagreement`, the share of them for other classes; `ambiguity`, how much rarer than usual people give it its
        class, their own mistakes accounted for; `needs_vote`, what one more vote is expected to tell, in nats; and
        `best_annotator`, whose vote would tell most (not of anonymous votes).
        """
        import pandas as pd

        from truelabel.label_noise.next_vote import ambiguity, best_annotators, expected_information

        labels, counts, total = self.labels, self.votes.counts, self.votes.per_instance
        agree = counts[np.arange(len(self)), labels]
        columns: dict[str, Any] = {
            "instance": self.votes.instances,
            "consensus": titles(self.class_names)[labels],
            "p": self.probs.max(axis=1),
            "votes": total,
            "disagreement": np.where(total > 0, 1 - agree / np.maximum(total, 1), np.nan),
            "ambiguity": ambiguity(self.votes, self.annotators),
            "needs_vote": expected_information(self.votes, self.annotators),
        }
        if not self.votes.anonymous:
            best = best_annotators(self.votes, self.annotators)
            names = self.votes.annotators.astype(object)
            columns["best_annotator"] = [None if j == NO_VOTE else names[j] for j in best.tolist()]
        return pd.DataFrame(columns)

    @property
    def annotator_table(self) -> pd.DataFrame:
        """A row per annotator, in the order of the votes.

        `annotator`; `votes`, how many; `quality`, the probability that a label of theirs is right, with a 90 % interval
        from `low` to `high`; `most_confused`, the mistake they are expected to make most often, and `confused`, how
        often they make it with an instance of that class.
        """
        import pandas as pd

        found, names = self.annotators, self.class_names
        c = len(names)
        mistakes = found.confusion * found.shares[:, None] * (1 - np.eye(c))
        true, given = np.divmod(mistakes.reshape(len(mistakes), -1).argmax(axis=1), c)
        return pd.DataFrame(
            {
                "annotator": self.votes.annotators,
                "votes": self.votes.per_annotator,
                "quality": found.quality,
                "low": found.low,
                "high": found.high,
                "most_confused": [f"{names[y]} → {names[k]}" for y, k in zip(true, given, strict=True)],
                "confused": found.confusion[np.arange(len(true)), true, given],
            }
        )

    def next_votes(self, most: int = 20) -> pd.DataFrame:
        """Return the rows of `table` for which one more vote is expected to tell most, the first one most of all."""
        return self.table.sort_values("needs_vote", ascending=False, kind="stable").head(most)


FEWEST_VOTED = 10  # instances with votes below which there is nothing for experts to learn from


def consensus(
    votes: Votes,
    features: Any = None,
    *,
    predictions: Predictions | None = None,
    trusted: Any = None,
    random_state: int | None = 0,
    device: str = "auto",
    progress: bool | str = "auto",
) -> Consensus:
    """Return the most probable class of each instance from the labels of several annotators.

    Each annotator is judged by the others and, with features, by experts: neighbours and small networks that learn from
    the votes for other instances. Both take turns for a few rounds. How much the experts count is decided by the votes,
    which they have not seen.

    Parameters
    ----------
    votes : Votes
        Who gave which instance which class.
    features : (n, d) array or mapping of names to such arrays, optional
        What is known of the instances without the labels, in the order of the votes' instances. Instances without any
        vote are welcome.
    predictions : Predictions, optional
        What a classifier says of the same instances. Its features are used where `features` is None. Its probabilities
        are used if it made them out of sample: a classifier that has seen the labels would only repeat them.
    trusted : (n,) array, optional
        True classes of instances that somebody looked at, −1 for the others: they are taken as such, and annotators are
        judged by them, too.
    random_state : int, default 0
        Seed.
    device : str, default "auto"
        Where networks learn: the best there is by default.
    progress : bool or "auto"
        Bars on standard error; "auto" shows them on a terminal.

    Examples
    --------
    >>> import numpy as np
    >>> from truelabel.labels import Votes, consensus
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=300)
    >>> x = rng.normal(size=(300, 2)) + 4 * truth[:, None]
    >>> right = rng.random((300, 3)) < [0.9, 0.7, 0.6]  # three annotators
    >>> votes = Votes(np.where(right, truth[:, None], 1 - truth[:, None]), annotators=["ann", "bob", "cleo"])
    >>> found = consensus(votes, x)
    >>> bool(np.mean(votes.majority() == truth) < 0.9 < 0.98 < np.mean(found.labels == truth))
    True
    >>> found.annotator_table.sort_values("quality")["annotator"].tolist()
    ['cleo', 'bob', 'ann']
    """
    views, classifier = _evidence(votes, features, predictions)
    known = None if trusted is None else _known(trusted, votes)
    alone = (votes.per_instance > 0).sum() < FEWEST_VOTED and classifier is None
    if alone or (not views and classifier is None):
        found = _judged(votes, None, known)
        return Consensus(votes, found.probs, found, None, {})
    return _with_experts(votes, views, classifier, known, random_state or 0, device, progress)


def _known(trusted: Any, votes: Votes) -> Ints:
    from truelabel.calibrators.npc.given import trusted_classes

    return trusted_classes(trusted, len(votes), votes.n_classes)


def _judged(votes: Votes, believed: Array | None, known: Ints | None) -> Annotators:
    """Judge annotators by what is believed of the instances without their votes, and by classes that are known."""
    from truelabel.label_noise.annotators import Annotators
    from truelabel.label_noise.transition import settle

    if known is None:
        return Annotators.estimate(votes, believed)
    if believed is None:
        shares = Annotators.estimate(votes).shares
        believed = np.tile(shares, (len(votes), 1))
    found = Annotators.estimate(votes, settle(np.array(believed), known))
    return replace(found, probs=settle(found.probs, known))


def _with_experts(
    votes: Votes,
    views: dict[str, Array],
    classifier: Floats | None,
    known: Ints | None,
    random_state: int,
    device: str,
    progress: bool | str,
) -> Consensus:
    """Let experts learn from the votes and judge annotators by them, in turn, until the consensus is settled."""
    from truelabel import device as devices
    from truelabel.copies import find_copies
    from truelabel.experts.through_votes import through_votes
    from truelabel.experts.votes import Vote
    from truelabel.neighbours import stratified
    from truelabel.pool import likelihood_weights, pool
    from truelabel.progress import Progress

    rng = np.random.default_rng(random_state)
    found = _judged(votes, None, known)
    voted = np.flatnonzero(votes.per_instance > 0)
    labels = found.probs.argmax(axis=1)
    reference = voted[stratified(labels[voted], REFERENCE, rng)]
    copies = find_copies(views, reference)
    with Progress(progress) as bars:
        neighbours = {
            name: Vote.best(view, labels, reference, votes.n_classes, None, rng, copies) for name, view in views.items()
        }
        for name, view in views.items():
            neighbours[name].everywhere(view, bars)
        for _ in range(ROUNDS if views else 1):
            experts = {} if classifier is None else {"classifier": classifier}
            for name, view in views.items():
                experts[f"{name} vote"] = neighbours[name].of_beliefs(found.probs.astype(np.float32))
                experts[f"{name} head"] = through_votes(
                    view,
                    neighbours[name].scale,
                    found.likelihood,
                    reference,
                    device=devices.resolve(device),
                    seed=random_state,
                    progress=bars,
                    copies=copies,
                )
            said = list(experts.values())
            for _ in range(TURNS):
                likelihood = np.exp(found.likelihood - found.likelihood.max(axis=1, keepdims=True))
                weights = likelihood_weights([p[voted] for p in said], labels[voted], likelihood[voted])
                believed = pool(said, weights)
                found = _judged(votes, believed, known)
            before, labels = labels, found.probs.argmax(axis=1)
            if np.mean(before != labels) < SETTLED:
                break
    by_name = {name: float(weight) for name, weight in zip(experts, weights, strict=True)}
    return Consensus(votes, found.probs, found, believed, by_name)


def _evidence(votes: Votes, features: Any, predictions: Predictions | None) -> tuple[dict[str, Array], Floats | None]:
    """Return the views of the instances, and what a classifier says that has not seen their labels."""
    if not isinstance(votes, Votes):
        raise TypeError(f"votes must be truelabel.labels.Votes, not {type(votes).__name__}; wrap them first: Votes(…).")
    views: dict[str, Array] = {}
    if features is not None:
        named = features if isinstance(features, Mapping) else {"features": features}
        views = {str(name): matrix(view, f"features[{name!r}]") for name, view in named.items()}
    for name, view in views.items():
        _same_length(len(view), len(votes), f"features[{name!r}]")
    if predictions is None:
        return views, None
    _same_length(len(predictions), len(votes), "predictions")
    names = predictions.class_names
    if predictions.n_classes != votes.n_classes:
        raise ValueError(
            f"predictions has {predictions.n_classes} classes, but votes has {votes.n_classes}; pass class_names to "
            "Votes, in the order of the columns of probs."
        )
    if names is not None and votes.class_names is not None and names != votes.class_names:
        raise ValueError(
            f"the classes of predictions are {', '.join(names)}, those of votes {', '.join(votes.class_names)}; pass "
            "class_names to Votes in the order of the columns of probs."
        )
    views = views or dict(predictions.views)
    if not views and not predictions.out_of_sample:
        raise ValueError(
            "a classifier that saw the labels would only repeat them; pass features, or predictions made out of sample "
            "with out_of_sample=True."
        )
    return views, predictions.block(slice(None)) if predictions.out_of_sample else None


def _same_length(rows: int, n: int, name: str) -> None:
    if rows != n:
        raise ValueError(f"{name} has {rows} rows, but there are votes for {n} instances; pass one row per instance.")
