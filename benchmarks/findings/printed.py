"""The paper's own figures for its claims, in one line each; all are computed from its printed tables."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from findings.judging import by_kind, listed
from truelabel.lab import paper

Key = tuple[str, str, str]  # dataset, noise, method


def _figures(tables: tuple[str, ...], what: str) -> dict[Key, float]:
    kept = (each for each in paper.figures() if each.table in tables and each.what == what)
    return {(each.dataset, each.noise, each.method): each.value for each in kept}


def gains(dataset: str | None = None) -> dict[Key, float]:
    """Return the gains of Table 1, with the MNIST appendix where Table 1 has no figure."""
    before = _figures(("mnist",), "classifier") | _figures(("table1",), "classifier")
    after = _figures(("mnist",), "npc") | _figures(("table1",), "npc")
    return {key: after[key] - before[key] for key in before if dataset in (None, key[0])}


def counted(differences: Iterable[float]) -> str:
    """Return how many of some gains are gains, and their mean."""
    every = list(differences)
    ahead, behind = sum(gain > 0 for gain in every), sum(gain < 0 for gain in every)
    return f"ahead in {ahead} of {len(every)}, behind in {behind}; mean gain {sum(every) / len(every):+.1f}"


def by_method() -> str:
    """Return the range of the mean gains by method."""
    mean = pd.Series(gains()).groupby(level=2).mean().sort_values()
    return f"{(mean > 0).sum()} of {len(mean)}; from {mean.iloc[0]:+.1f} ({mean.index[0]}) to {mean.iloc[-1]:+.1f}"


def real_mistakes() -> str:
    """Return the gains on Food-101 and Clothing1M."""
    before, after = _figures(("real",), "classifier"), _figures(("real",), "npc")
    differences = [after[key] - before[key] for key in before]
    bold = sum(each.bold for each in paper.figures() if each.table == "real" and each.what == "npc")
    return f"{counted(differences)}; {bold} of {len(differences)} in bold"


def post_processors() -> str:
    """Return where NPC is first among post-processors."""
    by = {what: _figures(("real-post-processors",), what) for what in ("classifier", "knn", "rog", "npc")}
    first = sum(by["npc"][key] >= max(values[key] for values in by.values()) for key in by["npc"])
    return f"no figures printed; in the appendix on real mistakes NPC is first in {first} of {len(by['npc'])}"


def label_correction() -> str:
    """Return NPC beside the next best of label correction."""
    parts = []
    for noise in ("sn:0.2", "idn:0.2"):
        own = {
            each.what: each.value
            for each in paper.figures()
            if each.table == "label-correction" and each.noise == noise and each.method == "coteaching"
        }
        other = max(
            each.value
            for each in paper.figures()
            if each.table == "label-correction" and each.noise == noise and each.what != "npc"
        )
        parts.append(f"{noise}: NPC {own['npc']:.1f}, the next {other:.1f}")
    return "; ".join(parts)


def venn() -> str:
    """Return the regions of the Venn diagram and the net gains."""
    count = {each.what: each.value for each in paper.figures() if each.table == "gains"}
    net = {
        way: count[f"{way}-b"] + count[f"{way}-f"] - count[f"{way}-d"] - count[f"{way}-h"]
        for way in ("npc", "causalnl")
    }
    regions = {way: ", ".join(f"({k}) {count[f'{way}-{k}']:,.0f}" for k in "abcdefgh") for way in net}
    return f"NPC {regions['npc']}: net {net['npc']:,.0f}; CausalNL* {regions['causalnl']}: net {net['causalnl']:,.0f}"


def transitions() -> str:
    """Return the errors of T."""
    errors = _figures(("transitions",), "transition") | _figures(("transitions",), "npc-transition")
    parts = []
    for noise in dict.fromkeys(key[1] for key in errors):
        each = {key[2]: value for key, value in errors.items() if key[1] == noise}
        parts.append(
            f"{noise}: NPC {each.pop('ce'):.4f}, the others {min(each.values()):.4f} to {max(each.values()):.4f}"
        )
    return "; ".join(parts)


def priors() -> str:
    """Return what the flatter prior gains, by kind of noise."""
    sharp, top = _figures(("priors",), "npc"), _figures(("priors",), "npc-top2")
    difference = by_kind((key[1], top[key] - sharp[key]) for key in top)
    return f"TOP2 minus sharp, mean by noise: {listed(difference)}"


def causalnl() -> str:
    """Return the accuracies of CausalNL with ResNet-34."""
    own, npc = _figures(("causalnl",), "classifier"), _figures(("causalnl",), "npc")
    return "; ".join(f"{key[1]}: {own[key]:.2f} → {npc[key]:.2f}" for key in own)


def seconds() -> str:
    """Return the times."""
    every = [each for each in paper.figures() if each.table == "time"]
    return ", ".join(f"{each.method if each.what == 'seconds' else 'NPC'} {each.value:,.0f} s" for each in every)


def confusion() -> str:
    """Return the accuracies of the classifier whose confusion matrix is drawn."""
    key = ("mnist", "idn:0.4", "ce")
    before, after = _figures(("table1",), "classifier")[key], _figures(("table1",), "npc")[key]
    return f"{before:.1f} → {after:.1f} % right (Table 1)"
