"""Labels that are probably wrong, the most suspicious first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from truelabel.arrays import Array, Floats, Ints
from truelabel.labels.multilabel import MultiLabel
from truelabel.labels.posterior import UNKNOWN, label_posterior
from truelabel.labels.support import support
from truelabel.labels.wrong import WrongLabels, count_wrong

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.calibrators import Calibrator
    from truelabel.labels.posterior import LabelPosterior
    from truelabel.labels.several_annotators import Consensus
    from truelabel.predictions import Predictions
    from truelabel.votes import Votes

CAVEATS = {
    "several annotators": "Mistakes that most annotators share do not show in their votes, so that more labels may be "
    "wrong. To know, check a hundred labels drawn at random.",
    "the surest instances": "Nothing proves that labels are wrong: mistakes that grow with difficulty look like "
    "classes that overlap, and mistakes that follow from the features, as those of rules do, do not show at all. To "
    "know, check a hundred labels drawn at random.",
}


@dataclass(frozen=True)
class LabelIssues:
    """What was found about the labels of n instances.

    Attributes
    ----------
    table : pandas.DataFrame
        A row an instance, the most suspicious first; see `find_label_issues`. Its index is the instance's row number.
    labels : (n,) array
        The given labels, as class indices, in the instances' own order.
    probs : (n, c) array
        p(y | x, ŷ, ỹ), in the same order.
    wrong : WrongLabels
        How many labels are probably wrong, in all and by class.
    transition : (c, c) array
        T[y, ỹ] = p(ỹ | y), as estimated.
    class_names : sequence
        Names of the classes, or their numbers.
    calibrator : Calibrator or None
        The fitted calibrator, if one was asked.
    supported : (n,) array, optional
        The likeliest class with as little noise as is proven: what labels may safely be changed to.
    evidence : str
        What is known of the noise, and from what: "given", "checked labels", "several annotators", "its form", "the
        surest instances" (which prove nothing), or "unknown".
    consensus : Consensus, optional
        What several annotators say, where there are such; `table` then has columns of what each instance's votes say.
    """

    table: pd.DataFrame
    labels: Ints
    probs: Floats
    wrong: WrongLabels
    transition: Array
    class_names: tuple[Any, ...]
    calibrator: Calibrator | None
    supported: Ints | None = None
    evidence: str = UNKNOWN
    consensus: Consensus | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def suggested(self) -> Ints:
        """The most probable true class of each instance, as an index, in the instances' own order."""
        return np.asarray(self.probs.argmax(axis=1))

    @property
    def p_wrong(self) -> Array:
        """The probability that each label is wrong, in the instances' own order."""
        return np.asarray(1 - self.probs[np.arange(len(self)), self.labels].astype(np.float64))

    @property
    def caveat(self) -> str:
        """What to know before the counts are believed; empty where the evidence proves that labels are wrong."""
        return CAVEATS.get(self.evidence, "")

    def mask(self, threshold: float | None = None) -> Array:
        """Return which labels are issues, in the instances' own order, as cleanlab's `find_label_issues` does.

        Parameters
        ----------
        threshold : float, optional
            The least p_wrong of an issue. By default a label is one if another class is more probable.
        """
        if threshold is None:
            return np.asarray(self.suggested != self.labels)
        _check_probability(threshold, "threshold")
        return np.asarray(self.p_wrong >= threshold)

    def ranked(self, threshold: float | None = None) -> Ints:
        """Return the row numbers of the issues (see `mask`), the most suspicious first."""
        order = self.table.index.to_numpy()
        return np.asarray(order[self.mask(threshold)[order]])

    def quality(self) -> Array:
        """Return 1 − p_wrong in the instances' own order: what cleanlab calls label quality scores."""
        return 1 - self.p_wrong


def find_label_issues(
    predictions: Predictions | MultiLabel,
    calibrator: Calibrator | None = None,
    *,
    votes: Votes | None = None,
    trusted: Any = None,
    trusted_sample: Any = "picked",
    random_state: int | None = 0,
    device: str = "auto",
    progress: bool | str = "auto",
) -> pd.DataFrame:
    """Return all instances with the probability that their label is wrong, the most suspicious first.

    No clean label and no cross-validation is needed: what the classifier said about its own training set will do.
    Predictions made out of sample are used as such where `predictions.out_of_sample` says so.

    Parameters
    ----------
    predictions : Predictions or MultiLabel
        What the classifier said, with the given labels and label-free features. Predictions made out of sample do
        without features.
    calibrator : Calibrator, optional
        A fitted calibrator is used as it is; an `NPC` that is not fitted is, on `predictions`. By default there is a
        new one.
    votes : Votes, optional
        The labels that several annotators gave the same instances, in the same order. Labels are then judged by the
        consensus of votes and features (see `consensus`); those that are judged are the predictions' own, or the
        majority's where these have none. Not for a `MultiLabel`, and without a calibrator.
    trusted : (n,) array, optional
        True classes of instances that somebody looked at, −1 for the others: they are taken as such, and help to
        judge the rest. Not for a `MultiLabel`.
    trusted_sample : {"picked", "random"} or (n,) array, default "picked"
        How they were chosen, as in `NPC.fit`: those that a person looked at because they were suspicious say nothing of
        how often labels are wrong; `Audit.weights` does.
    random_state : int, optional
        Seed of the calibrator that is fitted where none is given.
    device, progress
        Likewise; see `NPC`.

    Returns
    -------
    pandas.DataFrame
        `id`; `given` and `suggested` label (names where the classes have names; a suggestion may be the given one);
        `p_wrong`, the probability that the given label is wrong; `p_suggested`, that the suggested one is right;
        `uncertainty`, the entropy of p(y | x, ŷ, ỹ) in nats; `support`, how many of the ten nearest neighbours have
        the suggested class as their given label. The index is the instance's row number. Of a `MultiLabel` there is
        a row an instance and class, with a column `class`, and labels are 0 and 1.

    Examples
    --------
    >>> import numpy as np, truelabel as tl
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=400)
    >>> x = rng.normal(size=(400, 2)) + 6 * truth[:, None]
    >>> noisy = np.where(rng.random(400) < 0.2, 1 - truth, truth)
    >>> said = tl.Predictions(features=x, probs=np.eye(2)[noisy] * 0.98 + 0.01, labels=noisy)
    >>> found = tl.find_label_issues(said)
    >>> wrong = np.flatnonzero(noisy != truth)
    >>> set(found.index[: len(wrong)]) == set(wrong)
    True
    """
    return _examine_either(
        predictions,
        calibrator,
        votes=votes,
        trusted=trusted,
        trusted_sample=trusted_sample,
        random_state=random_state,
        device=device,
        progress=progress,
    ).table


@overload
def examine(
    predictions: Predictions,
    calibrator: Calibrator | None = None,
    *,
    votes: Votes | None = ...,
    trusted: Any = ...,
    trusted_sample: Any = ...,
    random_state: int | None = ...,
    device: str = ...,
    progress: bool | str = ...,
) -> LabelIssues: ...


@overload
def examine(
    predictions: MultiLabel,
    calibrator: Calibrator | None = None,
    *,
    votes: Votes | None = ...,
    trusted: Any = ...,
    trusted_sample: Any = ...,
    random_state: int | None = ...,
    device: str = ...,
    progress: bool | str = ...,
) -> MultiLabelIssues: ...


def examine(
    predictions: Predictions | MultiLabel,
    calibrator: Calibrator | None = None,
    *,
    votes: Votes | None = None,
    trusted: Any = None,
    trusted_sample: Any = "picked",
    random_state: int | None = 0,
    device: str = "auto",
    progress: bool | str = "auto",
) -> LabelIssues | MultiLabelIssues:
    """Do as `find_label_issues` and return all that was found: the table, p(y | x, ŷ, ỹ), how many are wrong."""
    return _examine_either(
        predictions,
        calibrator,
        votes=votes,
        trusted=trusted,
        trusted_sample=trusted_sample,
        random_state=random_state,
        device=device,
        progress=progress,
    )


def _examine_either(
    predictions: Predictions | MultiLabel, calibrator: Calibrator | None, **settings: Any
) -> LabelIssues | MultiLabelIssues:
    if not isinstance(predictions, MultiLabel):
        return _examine(predictions, calibrator, **settings)
    if settings["votes"] is not None:
        raise ValueError("votes are of one label an instance; leave them out of a MultiLabel.")
    if settings["trusted"] is not None:
        raise ValueError("trusted labels are of one label an instance; leave them out of a MultiLabel.")
    found = [_examine(predictions.of_class(k), calibrator, **settings) for k in range(len(predictions.class_names))]
    return MultiLabelIssues(dict(zip(predictions.class_names, found, strict=True)))


def _examine(predictions: Predictions, calibrator: Calibrator | None, **settings: Any) -> LabelIssues:
    votes = settings.pop("votes")
    if votes is not None:
        from truelabel.labels.voted import examine_votes

        return examine_votes(predictions, votes, calibrator, **settings)
    return issues_by(predictions, label_posterior(predictions, calibrator, **settings))


def issues_by(predictions: Predictions, posterior: LabelPosterior) -> LabelIssues:
    """Return what a posterior says of the labels of predictions."""
    assert predictions.labels is not None
    names: tuple[Any, ...] = predictions.class_names or (*range(predictions.n_classes),)
    return LabelIssues(
        table_of(predictions, posterior.probs, names, posterior.calibrator),
        predictions.labels,
        posterior.probs,
        count_wrong(posterior, predictions.labels, names),
        posterior.transition,
        names,
        posterior.calibrator,
        posterior.supported,
        posterior.evidence,
    )


def table_of(
    predictions: Predictions, probs: Floats, names: tuple[Any, ...], calibrator: Calibrator | None
) -> pd.DataFrame:
    """Return the table of `find_label_issues` for p(y | x, ŷ, ỹ)."""
    import pandas as pd

    assert predictions.labels is not None
    n, labels, suggested = len(predictions), predictions.labels, probs.argmax(axis=1)
    title = titles(names)
    backed = support(predictions, suggested, calibrator)
    p_right = probs[np.arange(n), labels].astype(np.float64)
    table = pd.DataFrame(
        {
            "id": np.arange(n) if predictions.ids is None else predictions.ids,
            "given": title[labels],
            "suggested": title[suggested],
            "p_wrong": 1 - p_right,
            "p_suggested": probs[np.arange(n), suggested].astype(np.float64),
            "uncertainty": -(probs * np.log(np.maximum(probs, 1e-30))).sum(axis=1, dtype=np.float64),
            "support": pd.array([pd.NA] * n if backed is None else backed, dtype="Int64"),
        }
    )
    return table.iloc[np.argsort(p_right, kind="stable")]


def titles(names: tuple[Any, ...]) -> Array:
    """Return the names of the classes as an array that class indices pick from."""
    return np.array(names, dtype=object if isinstance(names[0], str) else np.int64)


@dataclass(frozen=True)
class MultiLabelIssues:
    """What was found about several labels an instance: `by_class` has the `LabelIssues` of each class."""

    by_class: dict[str, LabelIssues]

    @property
    def table(self) -> pd.DataFrame:
        """A row an instance and class, the most suspicious first; see `find_label_issues`."""
        import pandas as pd

        parts = []
        for name, found in self.by_class.items():
            part = found.table.copy()
            part.insert(1, "class", name)
            parts.append(part)
        return pd.concat(parts).sort_values("p_wrong", ascending=False, kind="stable")

    @property
    def labels(self) -> Ints:
        """The given labels as an indicator matrix."""
        return np.stack([found.labels for found in self.by_class.values()], axis=1)

    def mask(self, threshold: float | None = None) -> Array:
        """Return an n×c array of bool: which labels are issues; see `LabelIssues.mask`."""
        return np.stack([found.mask(threshold) for found in self.by_class.values()], axis=1)


def _check_probability(value: float, name: str) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is a probability between 0 and 1, not {value}.")
