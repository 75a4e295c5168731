"""An audit: what no model can promise about some labels, from a few that a person checks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truelabel.arrays import Array, Ints, as_array, as_numbers
from truelabel.labels.audit_design import allocate, draw, stratify, telling
from truelabel.labels.issues import LabelIssues, titles

if TYPE_CHECKING:
    import pandas as pd

    from truelabel.labels.audit_verdict import Verdict
    from truelabel.labels.items import Items
    from truelabel.labels.wrong import Count

CANNOT_TELL, NO_CLASS = -1, -2
WORDS = {"cannot tell": CANNOT_TELL, "none": NO_CLASS}  # what may stand for a class; see `Audit.answer`
COLUMN = "true_class"
PLAIN = ("right", "wrong")  # the classes where nothing but p_wrong is known


class Audit:
    """Labels to check, drawn with known probabilities, and what a person says of them.

    Made by `audit` or `Audit.read`.

    Attributes
    ----------
    p_wrong : (n,) array
        The probability that each label is wrong, as a model had it when the audit began.
    given : (n,) array
        The given labels, as class indices.
    suggested : (n,) array or None
        What the labels would be replaced by.
    class_names : tuple
        Names of the classes, or their numbers.
    ids : (n,) array
        The instances' names.
    stratum : (n,) array
        The stratum of each instance, by ascending p_wrong. All instances of a stratum are equally likely to be drawn.
    rows : (m,) array
        The instances that were drawn, by number, in the order in which they are to be checked.
    rounds : (m,) array
        By which draw: 0 is the first, 1 the first `more`.
    seed : int
        Of the draws.
    """

    def __init__(
        self,
        p_wrong: Array,
        given: Ints,
        suggested: Ints | None,
        class_names: tuple[Any, ...],
        ids: Array,
        stratum: Ints,
        seed: int,
    ) -> None:
        self.p_wrong, self.given, self.suggested = p_wrong, given, suggested
        self.class_names, self.ids, self.stratum, self.seed = class_names, ids, stratum, seed
        self.rows: Ints = np.empty(0, dtype=np.int64)
        self.rounds: Ints = np.empty(0, dtype=np.int64)
        self._answers: dict[int, list[int | None]] = {}

    def __len__(self) -> int:
        return len(self.given)

    @property
    def sizes(self) -> Ints:
        """How many instances each stratum has."""
        return np.bincount(self.stratum)

    @property
    def inclusion(self) -> Array:
        """The probability with which each instance was to be drawn, all draws together."""
        drawn = np.bincount(self.stratum[self.rows], minlength=len(self.sizes))
        return np.asarray((drawn / self.sizes)[self.stratum])

    @property
    def history(self) -> dict[int, list[int | None]]:
        """All answers about each instance, by its number, the last one last; as `answers` has them.

        None where an answer was taken back.
        """
        return {row: list(answers) for row, answers in self._answers.items()}

    @property
    def answers(self) -> dict[int, int]:
        """What stands: the true class by the instance's number; −1 where nobody can tell, −2 where none is right."""
        last = {row: answers[-1] for row, answers in self._answers.items()}
        return {row: code for row, code in last.items() if code is not None}

    @property
    def open(self) -> Ints:
        """The instances that are drawn and have no answer yet, in the order in which they are to be checked."""
        answers = self.answers
        return np.array([row for row in self.rows if int(row) not in answers], dtype=np.int64)

    def more(self, sample: int) -> Ints:
        """Draw further instances, and return their numbers.

        The draw does not look at the answers: each stratum's share stays what it was, so that both draws together
        are one larger sample, and every interval stays valid.
        """
        if sample < 1 or sample != int(sample):
            raise ValueError(f"sample is a number of labels to check, 1 or more, not {sample}.")
        sizes = self.sizes
        drawn = np.bincount(self.stratum[self.rows], minlength=len(sizes))
        wanted = allocate(np.bincount(self.stratum, telling(self.p_wrong)), sizes, len(self.rows) + int(sample))
        number = np.maximum(wanted - drawn, 0)
        while number.sum() > sample:  # shares are rounded anew, and one that was rounded up may now be down
            number[np.argmax(number)] -= 1
        turn = int(self.rounds.max(initial=-1)) + 1
        new = draw(self.stratum, number, self.rows, np.random.default_rng([self.seed, turn]))
        self.rows = np.append(self.rows, new)
        self.rounds = np.append(self.rounds, np.full(len(new), turn))
        return new

    def answer(self, rows: Any, classes: Any) -> None:
        """Note what a person says of instances that were drawn.

        Parameters
        ----------
        rows : (k,) array
            The instances, by number.
        classes : (k,) sequence
            The true class of each: its name, or its index; "cannot tell" (or −1) where nobody can; "none" (or −2)
            where it is none of the classes, so that the given label and any other would be wrong.
        """
        rows = as_array(rows, "rows")
        if rows.ndim != 1 or len(rows) != len(classes):
            raise ValueError(f"there are {len(classes)} answers for {len(rows)} rows; pass one each.")
        drawn = set(self.rows.tolist())
        codes = [self._code(value) for value in classes]
        for row in rows:
            if int(row) != row or int(row) not in drawn:
                raise ValueError(
                    f"row {row} was not drawn, so that an answer about it says nothing of the others; answer those in "
                    "audit.rows."
                )
        for row, code in zip(rows, codes, strict=True):
            noted = self._answers.setdefault(int(row), [])
            if not noted or noted[-1] != code:
                noted.append(code)

    def take_back(self, row: int) -> None:
        """Take back the answer about an instance, which is open again; `history` keeps the answer."""
        if row not in self.answers:
            raise ValueError(f"row {row} has no answer that could be taken back; those that have one are in answers.")
        self._answers[row].append(None)

    def _code(self, value: Any) -> int:
        if isinstance(value, str):
            named = {str(name): index for index, name in enumerate(self.class_names)} | WORDS
            named |= {name.strip(): index for name, index in reversed(named.items()) if name.strip() not in named}
            word = value if value in named else value.strip()
            if word not in named:
                raise ValueError(
                    f"{word!r} is none of the classes ({', '.join(map(str, self.class_names))}); write one of them, "
                    "'cannot tell', or 'none' where none is right."
                )
            return named[word]
        if int(value) != value or not NO_CLASS <= value < len(self.class_names):
            raise ValueError(
                f"there is no class {value}; they go from 0 to {len(self.class_names) - 1}, −1 stands for cannot tell "
                "and −2 for none of them."
            )
        return int(value)

    @property
    def trusted(self) -> Ints:
        """True classes as `NPC.fit` takes them: −1 where nobody was asked or could tell, or no class is right."""
        trusted = np.full(len(self), -1, dtype=np.int64)
        for row, code in self.answers.items():
            trusted[row] = max(code, -1)
        return trusted

    @property
    def weights(self) -> Array:
        """How many instances each of `trusted` stands for: the size of its stratum by how many are trusted of it.

        0 where nothing is trusted. What is counted on the trusted instances, such as T, is to be weighted by this.
        """
        known = self.trusted >= 0
        held = np.bincount(self.stratum[known], minlength=len(self.sizes))
        return np.where(known, (self.sizes / np.maximum(held, 1))[self.stratum], 0.0)

    @property
    def trusted_sample(self) -> Literal["random", "picked"]:
        """Whether the trusted instances are like a plain random sample; `trusted_sample` of `NPC.fit`.

        "picked" unless all have the same weight: without the weights they say nothing of how often labels are wrong.
        """
        weights = self.weights[self.trusted >= 0]
        return "random" if len(weights) and np.ptp(weights) <= 1e-9 * weights.max() else "picked"

    def total(self, level: float = 0.9) -> Count:
        """Return how many labels are wrong in all, as in `verdict`, which takes longer.

        Parameters
        ----------
        level : float, default 0.9
            Probability with which the interval holds the true number.
        """
        from truelabel.labels.audit_verdict import total

        return total(self, level)

    def verdict(self, level: float = 0.9) -> Verdict:
        """Return what the answers prove: see `Verdict`.

        Parameters
        ----------
        level : float, default 0.9
            Probability with which an interval holds the true number.
        """
        from truelabel.labels.audit_verdict import verdict

        return verdict(self, level)

    def sheet(self, items: Items | None = None) -> pd.DataFrame:
        """Return a row for each instance to check, without what a model believes, so that it sways nobody.

        The columns are `row`, `id`, `given`, what there is to read of an instance (see `Items.fields`), and
        `true_class`, which is empty where there is no answer.
        """
        import pandas as pd

        table = pd.DataFrame({"row": self.rows, "id": self.ids[self.rows]})
        table["given"] = titles(self.class_names)[self.given[self.rows]]
        if items is not None and items.kind in ("text", "row"):
            read = pd.DataFrame([items.fields(int(row)) for row in self.rows])
            for name in read.columns.difference(["row", "id", "given", COLUMN], sort=False):
                table[name] = read[name]
        answers = self.answers
        table[COLUMN] = [self.word(answers[int(row)]) if int(row) in answers else "" for row in self.rows]
        return table

    def word(self, code: int) -> str:
        """Return an answer in words."""
        words = {number: word for word, number in WORDS.items()}
        return words[code] if code < 0 else str(self.class_names[code])

    def read_sheet(self, path: str | os.PathLike[str]) -> int:
        """Note what a person wrote into a sheet; return how many of the drawn instances it lists.

        Rows may be in any order. Where `true_class` is empty, nothing is noted.
        """
        from truelabel.labels.audit_file import filled

        answers = filled(path, self)
        noted = {row: answer for row, answer in answers.items() if answer}
        self.answer(list(noted), list(noted.values()))
        return len(answers)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write all to a file of JSON lines, whole or not at all: the first says what it is, each other an instance."""
        from truelabel.labels.audit_file import write

        return write(self, path)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Audit:
        """Read what `write` wrote."""
        from truelabel.labels.audit_file import read

        return read(path)

    def __repr__(self) -> str:
        return f"Audit({len(self.rows):,} of {len(self):,} drawn, {len(self.answers):,} answered)"


def audit(
    found: LabelIssues | Any,
    *,
    sample: int = 100,
    given: Any = None,
    suggested: Any = None,
    class_names: Sequence[Any] | None = None,
    ids: Any = None,
    random_state: int = 0,
) -> Audit:
    """Draw labels for a person to check.

    Instances are drawn at random from strata of p_wrong, more of those where a look tells more. How many labels are
    wrong then follows from the answers with an interval that does not rest on p_wrong: a good p_wrong makes it
    short, a bad one only longer.

    Parameters
    ----------
    found : LabelIssues or (n,) array
        What `examine` returned; or the probability that each label is wrong, from any source.
    sample : int, default 100
        How many labels to check: an evening's work, and enough for some percent up or down. At most all.
    given, suggested : (n,) arrays, optional
        Class indices, beside an array of probabilities. Without `given` the classes are "right" and "wrong", and
        answers say whether the label is wrong. Without `suggested` nothing is said about corrections.
    class_names, ids : sequences, optional
        Likewise.
    random_state : int, default 0
        Seed of the draw.

    Examples
    --------
    >>> import numpy as np, truelabel as tl
    >>> rng = np.random.default_rng(0)
    >>> p_wrong = rng.beta(0.2, 1, size=2000)
    >>> wrong = rng.random(2000) < p_wrong
    >>> audit = tl.labels.audit(p_wrong, sample=100)
    >>> audit.answer(audit.rows, wrong[audit.rows].astype(int))  # a person's work
    >>> total = audit.verdict().wrong.total
    >>> bool(total.low <= wrong.sum() <= total.high)
    True
    """
    if isinstance(found, LabelIssues):
        if not (given is None and suggested is None and class_names is None and ids is None):
            raise ValueError("given, suggested, class_names and ids are in what examine returned; leave them out.")
        given, suggested, class_names = found.labels, found.suggested, found.class_names
        ids = found.table.sort_index()["id"]
        found = np.clip(found.p_wrong, 0, 1)  # sums of float32 may be a little above 1
    p_wrong = as_numbers(found, "p_wrong").astype(np.float64)
    if p_wrong.ndim != 1 or not len(p_wrong) or not ((p_wrong >= 0) & (p_wrong <= 1)).all():
        raise ValueError("p_wrong must hold one probability between 0 and 1 for each instance.")
    n = len(p_wrong)
    if given is None:
        if suggested is not None or class_names is not None:
            raise ValueError("suggested and class_names are about classes; pass given, too.")
        given, class_names = np.zeros(n, dtype=np.int64), PLAIN
    labels = _classes(given, n, "given")
    proposed = None if suggested is None else _classes(suggested, n, "suggested")
    names = tuple(class_names or range(int(max(labels.max(), 0 if proposed is None else proposed.max())) + 1))
    for what, values in (("given", labels), ("suggested", proposed)):
        if values is not None and values.max() >= len(names):
            raise ValueError(f"{what} has class {values.max()}, but there are {len(names)} class names; name them all.")
    taken = [name for name in names if str(name) in WORDS]
    if taken:
        raise ValueError(f"a class is named {taken[0]!r}, which in an audit is an answer; rename it first.")
    named = np.arange(n) if ids is None else as_array(ids, "ids")
    if len(named) != n:
        raise ValueError(f"there are {len(named)} ids for {n} instances; pass one each.")
    if sample < 1 or sample != int(sample):
        raise ValueError(f"sample is a number of labels to check, 1 or more, not {sample}.")
    made = Audit(p_wrong, labels, proposed, names, named, stratify(p_wrong, int(sample)), int(random_state))
    made.more(int(sample))
    return made


def _classes(values: Any, n: int, name: str) -> Ints:
    array = as_numbers(values, name)
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}, but there are {n} instances; pass one class index each.")
    whole = array.astype(np.int64)
    if not np.array_equal(whole, array) or whole.min() < 0:
        raise ValueError(f"{name} must hold class indices, 0 or more.")
    return whole
