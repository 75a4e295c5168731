"""Is one way better than another? Paired tests over seeds, with the correction for many cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truelabel.arrays import Array, as_numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Test = Literal["t", "wilcoxon", "sign"]
Correction = Literal["holm", "benjamini_hochberg"]

MOST_EXACT = 100  # pairs up to which Wilcoxon's distribution is counted out


@dataclass(frozen=True)
class Paired:
    """The comparison of two ways over the same seeds; all tests are two-sided.

    Attributes
    ----------
    n : int
        Number of pairs.
    before, after : float
        Mean of each way.
    difference : float
        Mean of after − before.
    deviation : float
        Standard deviation of the differences.
    interval : (float, float)
        95 % interval of the mean difference, by Student's t.
    effect : float
        Cohen's d of the differences: difference / deviation.
    t : float
        p of the paired t-test. It trusts the differences to be normal, which few seeds cannot show.
    wilcoxon : float
        p of Wilcoxon's signed-rank test, exact up to 100 pairs, with ties; pairs without a difference are left
        out. With n pairs it is at least 2^(1 − n): five seeds can never reach 0.05.
    sign : float
        p of the exact sign test, which asks only how often `after` was the larger.
    """

    n: int
    before: float
    after: float
    difference: float
    deviation: float
    interval: tuple[float, float]
    effect: float
    t: float
    wilcoxon: float
    sign: float


def paired(before: Any, after: Any) -> Paired:
    """Compare two ways by their results on the same seeds.

    Parameters
    ----------
    before, after : (n,) array
        The results; entry i of both is of seed i.

    Examples
    --------
    >>> from truelabel.analysis import paired
    >>> found = paired([60, 61, 62, 58], [64, 66, 65, 63])
    >>> found.difference, round(found.t, 4), found.wilcoxon
    (4.25, 0.003, 0.125)
    """
    x, y = (as_numbers(value, name).astype(np.float64) for name, value in (("before", before), ("after", after)))
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"before has shape {x.shape}, but after {y.shape}; pass one result a seed in each.")
    if len(x) < 2:
        raise ValueError(f"a paired test needs at least two seeds, but there are {len(x)}.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("before or after has a NaN or infinite value; drop that seed from both.")
    differences = y - x
    # What rounding leaves of equal differences is no spread.
    least = 1e-12 * max(1.0, float(np.abs(x).max()), float(np.abs(y).max()))
    differences[np.abs(differences) < least] = 0.0
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    deviation = 0.0 if deviation < least else deviation
    return Paired(
        n=len(x),
        before=float(x.mean()),
        after=float(y.mean()),
        difference=mean,
        deviation=deviation,
        interval=_interval(mean, deviation, len(x)),
        effect=mean / deviation if deviation else float(np.sign(mean)) * np.inf if mean else 0.0,
        t=_t_test(mean, deviation, len(x)),
        wilcoxon=_wilcoxon(differences),
        sign=_sign(differences),
    )


def _t_test(mean: float, deviation: float, n: int) -> float:
    from scipy import stats

    if not deviation:  # the same difference at every seed
        return 0.0 if mean else 1.0
    return float(2 * stats.t.sf(abs(mean) / deviation * np.sqrt(n), n - 1))


def _interval(mean: float, deviation: float, n: int) -> tuple[float, float]:
    from scipy import stats

    half = float(stats.t.ppf(0.975, n - 1)) * deviation / np.sqrt(n)
    return float(mean - half), float(mean + half)


def _sign(differences: Array) -> float:
    from scipy import stats

    above, below = int((differences > 0).sum()), int((differences < 0).sum())
    return float(stats.binomtest(above, above + below).pvalue) if above + below else 1.0


def _wilcoxon(differences: Array) -> float:
    """Two-sided p of the signed-rank test: how many of the 2ⁿ ways to choose signs are as far from the middle."""
    from scipy import stats

    differences = differences[differences != 0]
    if not len(differences):
        return 1.0
    if len(differences) > MOST_EXACT:
        return float(stats.wilcoxon(differences, method="approx").pvalue)
    # Doubled, because tied ranks are halves.
    ranks = np.rint(2 * stats.rankdata(np.abs(differences))).astype(np.int64)
    ways = np.zeros(int(ranks.sum()) + 1)
    ways[0] = 1.0
    for rank in ranks:  # each sum of positive ranks, with or without this one
        ways[rank:] = 0.5 * ways[rank:] + 0.5 * ways[: len(ways) - rank]
        ways[:rank] *= 0.5
    found = int(ranks[differences > 0].sum())
    sums = np.arange(len(ways))
    far = np.abs(2 * sums - ranks.sum()) >= abs(2 * found - ranks.sum())
    return float(min(1.0, ways[far].sum()))


def holm(p: Any) -> Array:
    """Return p-values corrected by Holm: those below α reject with at most α probability of any false rejection.

    Examples
    --------
    >>> from truelabel.analysis import holm
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = _probabilities(p)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    return _put_back(stepped, order)


def benjamini_hochberg(p: Any) -> Array:
    """Return p-values corrected by Benjamini and Hochberg: of those below α, a share of at most α is expected false.

    Examples
    --------
    >>> from truelabel.analysis import benjamini_hochberg
    >>> benjamini_hochberg([0.01, 0.04, 0.02])
    array([0.03, 0.04, 0.03])
    """
    values = _probabilities(p)
    order = np.argsort(values, kind="stable")
    stepped = values[order] * len(values) / np.arange(1, len(values) + 1)
    return _put_back(np.minimum.accumulate(stepped[::-1])[::-1], order)


def _probabilities(p: Any) -> Array:
    values = as_numbers(p, "p").astype(np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError("p must be a list of probabilities, each from 0 to 1.")
    return values


def _put_back(stepped: Array, order: Array) -> Array:
    out = np.empty_like(stepped)
    out[order] = np.minimum(stepped, 1.0)
    return out


def significance(cells: Mapping[str, tuple[Any, Any]], test: Test = "t") -> pd.DataFrame:
    """Compare two ways in many cells, and correct for there being many.

    Parameters
    ----------
    cells : mapping of str to (before, after)
        The results of both ways, seed by seed, for each cell.
    test : {"t", "wilcoxon", "sign"}, default "t"
        Whose p is corrected.

    Returns
    -------
    pandas.DataFrame
        A row a cell: `n`, `before`, `after`, `difference`, `deviation`, `low` and `high` (95 % interval), `effect`,
        `t`, `wilcoxon`, `sign` (p of each test), and `holm` and `benjamini_hochberg` (p of `test`, corrected).

    Examples
    --------
    >>> from truelabel.analysis import significance
    >>> table = significance({"SN 20": ([80, 81, 82], [84, 86, 85]), "IDN 40": ([60, 60, 61], [60, 61, 60])})
    >>> table["difference"].tolist()
    [4.0, 0.0]
    """
    import pandas as pd

    if test not in ("t", "wilcoxon", "sign"):
        raise ValueError(f'test must be "t", "wilcoxon" or "sign", not {test!r}.')
    rows: dict[str, dict[str, float]] = {}
    for name, (before, after) in cells.items():
        try:
            found = paired(before, after)
        except ValueError as error:
            raise ValueError(f"cell {name!r}: {error}") from None
        fields = dict(vars(found))
        low, high = fields.pop("interval")
        rows[name] = {**fields, "low": low, "high": high}
    columns = ["n", "before", "after", "difference", "deviation", "low", "high", "effect", "t", "wilcoxon", "sign"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).astype({"n": int})
    table["holm"] = holm(table[test])
    table["benjamini_hochberg"] = benjamini_hochberg(table[test])
    return table


def draw_significance(
    found: pd.DataFrame,
    title: str | None = None,
    *,
    correction: Correction = "holm",
    level: float = 0.05,
    unit: str = "difference",
    factor: float = 1.0,
) -> Figure:
    """Draw the mean difference of each cell with its 95 % interval; filled where it is significant after correction.

    Parameters
    ----------
    found : pandas.DataFrame
        What `significance` returned.
    title : str, optional
        Stands above.
    correction : {"holm", "benjamini_hochberg"}, default "holm"
        The corrected p that decides.
    level : float, default 0.05
        Below which p is significant.
    unit : str, default "difference"
        What stands at the axis.
    factor : float, default 1
        Multiplies the differences, as in 100 for shares shown in points.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(7.6, 0.34 * len(found) + 1.7), layout="constrained")
    axis = figure.subplots()
    axis.axvline(0, color="#555555", linewidth=1)
    places = np.arange(len(found))[::-1]
    for place, (_, cell) in zip(places, found.iterrows(), strict=True):
        sure = cell[correction] < level
        colour = "#777777" if not sure else "#0072B2" if cell["difference"] > 0 else "#D55E00"
        axis.plot([factor * cell["low"], factor * cell["high"]], [place, place], color=colour, linewidth=2)
        axis.plot(factor * cell["difference"], place, "o", color=colour, markerfacecolor=colour if sure else "white")
        axis.annotate(
            _p(float(cell[correction])), (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=9
        )
    axis.set_yticks(places, list(found.index))
    axis.set_ylim(-0.7, len(found) - 0.3)
    axis.set_xlabel(unit)
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="x", color="#DDDDDD")
    axis.set_axisbelow(True)
    name = {"holm": "Holm", "benjamini_hochberg": "Benjamini–Hochberg"}[correction]
    axis.annotate(f"p ({name})", (1.01, 1.0), xycoords="axes fraction", va="bottom", fontsize=9)
    kinds = (
        ("better", "#0072B2", "#0072B2"),
        ("worse", "#D55E00", "#D55E00"),
        (f"not below {level:g}", "#777777", "white"),
    )
    handles = [
        Line2D([], [], linestyle="", marker="o", color=edge, markerfacecolor=face, label=label)
        for label, edge, face in kinds
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    if title:
        figure.suptitle(title)
    return figure


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"
