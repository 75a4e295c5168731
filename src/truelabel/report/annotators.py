"""The report's part on several annotators: how good each is, and where another vote would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.arrays import Ints
from truelabel.label_noise.annotators import LEVEL
from truelabel.labels.several_annotators import Consensus
from truelabel.report import matrices, pictures
from truelabel.report.case import Case

if TYPE_CHECKING:
    import pandas as pd

PEOPLE = 50  # annotators that are listed, the lowest quality first
INSTANCES = 20  # that need a vote, and that are ambiguous, at most
CONFUSIONS, ENOUGH = 3, 20  # annotators whose confusion is shown, and the votes that one has to have for that
AMBIGUOUS = 0.05  # by how much rarer than usual people give an instance its class, for it to be listed
LEAST_TOLD = 0.01  # nats that a further vote is expected to tell, for an instance to be listed


@dataclass(frozen=True)
class Person:
    """An annotator: how many votes, how good, and the mistake made most often."""

    name: str
    votes: int
    quality: float
    low: float
    high: float
    mistake: str
    confused: float


@dataclass(frozen=True)
class Instance:
    """An instance, what people say of it, and what is to be known of one more vote."""

    id: str
    votes: str
    consensus: str
    p: float
    tells: float
    best: str | None
    ambiguity: float
    picture: str | None


@dataclass(frozen=True)
class Section:
    """What the report says of several annotators.

    Attributes
    ----------
    votes, of : int
        How many votes there are, and of how many annotators; 0 where nobody knows.
    unanimous, changed : int
        Instances on which all agree, and whose consensus differs from what most votes are for.
    level : float
        Of the intervals.
    people : list of Person
        Annotators, the lowest quality first, and how many are `left_out`.
    confusions : list of Matrix
        Of the average annotator, and of some with low quality.
    wanted, ambiguous : list of Instance
        Where one more vote would tell most, and which ones people disagree on though they are good.
    by_features : bool
        Whether the features have a part in it.
    """

    votes: int
    of: int
    unanimous: int
    changed: int
    level: float
    people: list[Person]
    left_out: int
    confusions: list[matrices.Matrix]
    wanted: list[Instance]
    ambiguous: list[Instance]
    by_features: bool


def of(case: Case) -> Section | None:
    """Return what there is to say of annotators; None where there is one label per instance."""
    found = case.examined.found.consensus
    if found is None:
        return None
    votes, table = found.votes, found.table
    majority = votes.majority()
    people = [] if votes.anonymous else _people(found)
    needed, doubtful = table["needs_vote"].to_numpy(), table["ambiguity"].to_numpy()
    return Section(
        int(votes.per_instance.sum()),
        0 if votes.anonymous else votes.n_annotators,
        int((table["disagreement"] == 0).sum()),
        int(((majority != found.labels) & (majority >= 0)).sum()),
        LEVEL,
        people[:PEOPLE],
        len(people[PEOPLE:]),
        _confusions(case, found),
        [_instance(case, table, row) for row in _highest(needed, LEAST_TOLD)],
        [_instance(case, table, row) for row in _highest(doubtful, AMBIGUOUS)],
        found.expert_probs is not None,
    )


def _people(found: Consensus) -> list[Person]:
    table = found.annotator_table.sort_values("quality", kind="stable")
    return [
        Person(
            pictures.shortened(str(row.annotator), pictures.NAME),
            int(row.votes),
            float(row.quality),
            float(row.low),
            float(row.high),
            pictures.shortened(str(row.most_confused), pictures.NAME),
            float(row.confused),
        )
        for row in table.itertuples(index=False)
    ]


def _confusions(case: Case, found: Consensus) -> list[matrices.Matrix]:
    everybody = "All annotators" if found.votes.anonymous else "The average annotator"
    made = [matrices.rates(case, everybody, found.annotators.average)]
    if found.votes.anonymous:
        return made
    order = np.argsort(found.annotators.quality, kind="stable")
    enough: Sequence[int] = order[found.votes.per_annotator[order] >= ENOUGH][:CONFUSIONS].tolist()
    names = found.votes.annotators
    return made + [
        matrices.rates(case, pictures.shortened(str(names[j]), pictures.NAME), found.annotators.confusion[j])
        for j in enough
    ]


def _highest(values: Any, least: float) -> Ints:
    order = np.argsort(-values, kind="stable")[:INSTANCES]
    return np.asarray(order[values[order] >= least])


def _instance(case: Case, table: pd.DataFrame, row: int) -> Instance:
    found = case.examined.found.consensus
    assert found is not None
    counts = found.votes.counts[row]
    classes = np.argsort(-counts, kind="stable")
    said = [f"{counts[k]:,} × {case.names[k]}" for k in classes if counts[k]]
    best = table["best_annotator"].iloc[row] if "best_annotator" in table else None
    return Instance(
        pictures.shortened(str(case.ids[row]), pictures.NAME),
        ", ".join(said) or "none",
        case.names[found.labels[row]],
        float(found.probs[row].max()),
        float(table["needs_vote"].iloc[row]),
        None if best is None else pictures.shortened(str(best), pictures.NAME),
        float(table["ambiguity"].iloc[row]),
        pictures.data_uri(case.examined.items, int(row)),
    )
