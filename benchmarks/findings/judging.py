"""The rules by which the records of one size decide a claim."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from truelabel import calibrators, lab
from truelabel.lab.gains_table import REGIONS
from truelabel.lab.summary import LEVEL, summarise

RECIPES = {"npc-paper": "NPC, paper recipe", "npc": "NPC, default"}
HOLDS, PARTLY, NOT, UNTESTED = "holds", "holds in part", "does not hold", "not tested here"
MOST = 0.9  # share of the combinations that have to be ahead for "nearly all"
LEAST_METHODS = 8  # that a size needs for a Table 1: those of Food-101 and Clothing1M
KINDS = ("sn", "asn", "idn", "sridn", "clean")
T_METHODS = ("forward", "dualt", "tvr", "causalnl")


@dataclass(frozen=True)
class Finding:
    """What records say of a claim."""

    ours: str
    verdict: str


@dataclass(frozen=True)
class Size:
    """The records of one number of images and one network."""

    n: int
    network: str
    frame: pd.DataFrame

    @property
    def title(self) -> str:
        """How it is named."""
        return f"{self.n:,} images, {self.network}"

    def of(self, **wanted: str) -> pd.DataFrame:
        """Return the records with these values."""
        kept = self.frame
        for name, value in wanted.items():
            kept = kept[kept[name] == value]
        return kept

    @property
    def data(self) -> str:
        """The datasets, by name."""
        return ", ".join(sorted(set(self.frame["dataset"])))

    @cached_property
    def found(self) -> dict[str, pd.DataFrame]:
        """The means over seeds of each recipe, with tests that are corrected for all combinations of that recipe.

        Other priors and repeated applications are left out, and so is a size with too few methods for a Table 1.
        """
        plain = (self.frame["rounds"] == 1) & (shapes(self.frame) == "one-hot") & ~self.frame["transitions"]
        ways = {way: self.frame[plain & (self.frame["calibrator"] == way)] for way in RECIPES}
        whole = {way: part for way, part in ways.items() if part["method"].nunique() >= LEAST_METHODS}
        return {way: summarise(part, ("table1", "mnist")) for way, part in whole.items()}

    def cells(self) -> pd.DataFrame:
        """Return a row for each dataset, noise and method that both recipes and the paper have."""
        if set(self.found) != set(RECIPES):
            return pd.DataFrame()
        keys = ["dataset", "condition", "method"]
        ways = {way: rows.set_index(keys) for way, rows in self.found.items()}
        first = ways["npc-paper"]
        cells = pd.DataFrame(
            {
                "before": first["before"],
                **{way: rows["after"] for way, rows in ways.items()},
                **{f"{way} gain": rows["gain"] for way, rows in ways.items()},
                "paper before": first["paper_before"].astype(float),
                "paper after": first["paper_after"].astype(float),
            }
        )
        order = {name: place for place, name in enumerate(_names())}
        cells = cells.sort_index(key=lambda names: names.map(lambda name: order.get(name, 0)))
        return cells.dropna(subset=["paper before", "paper after", *RECIPES])


def shapes(frame: pd.DataFrame) -> pd.Series:
    """Return the shape of the prior of each record's calibrator."""
    return frame["calibrator_settings"].map(lambda settings: json.loads(settings).get("shape", "one-hot"))


def _names() -> list[str]:
    cells = lab.load_grid("paper-table1").cells
    return list(dict.fromkeys(name for cell in cells for name in (cell.dataset, cell.condition, cell.method)))


def seeds_of(count: int) -> str:
    """Return a number of seeds in words."""
    return "1 seed" if count == 1 else f"{count} seeds"


def verdict_by_share(ahead: int, count: int, harmed: int = 0) -> str:
    """Return the verdict of a claim that (nearly) all of something gain."""
    if ahead >= MOST * count and not harmed:
        return HOLDS
    return PARTLY if ahead > count / 2 else NOT


def nearly_all_gain(size: Size, recipe: str, **wanted: str) -> Finding | None:
    """Judge that NPC is ahead nearly everywhere, and nowhere behind by more than chance; values may be several."""
    rows = size.found.get(recipe, pd.DataFrame())
    for name, value in wanted.items():
        rows = rows[rows[name].isin(value.split())] if len(rows) else rows
    if not len(rows):
        return None
    ahead, behind, sure = rows["gain"] > 0, rows["gain"] < 0, rows["bh"].astype(float) < LEVEL
    better, worse = int((rows["verdict"] == "improved").sum()), int((rows["verdict"] == "harmed").sum())
    ours = f"ahead in {ahead.sum()} of {len(rows)}, behind in {behind.sum()}; with p < {LEVEL:g} ahead in {better} and "
    ours += f"behind in {worse}, corrected (Benjamini–Hochberg) {(ahead & sure).sum()} and {(behind & sure).sum()}; "
    ours += f"mean gain {rows['gain'].mean():+.1f}"
    return Finding(ours, verdict_by_share(int(ahead.sum()), len(rows), int((behind & sure).sum())))


def every_method_gains(size: Size, recipe: str) -> Finding | None:
    """Judge that the mean gain after every training method is positive."""
    rows = size.found.get(recipe, pd.DataFrame())
    if not len(rows):
        return None
    gains = rows.groupby("method")["gain"].mean().sort_values()
    ahead = int((gains > 0).sum())
    ours = f"{ahead} of {len(gains)}; from {gains.iloc[0]:+.1f} ({gains.index[0]}) to {gains.iloc[-1]:+.1f} "
    ours += f"({gains.index[-1]})"
    verdict = HOLDS if ahead == len(gains) else PARTLY if ahead > len(gains) / 2 else NOT
    return Finding(ours, verdict)


def most_under_idn(size: Size, recipe: str) -> Finding | None:
    """Judge that the mean gain is largest under instance-dependent noise."""
    rows = size.found.get(recipe, pd.DataFrame())
    gains = by_kind(zip(rows["condition"], rows["gain"], strict=True)) if len(rows) else {}
    if "idn" not in gains or len(gains) < 2:
        return None
    place = sorted(gains, key=lambda kind: -gains[kind]).index("idn")
    return Finding(listed(gains), HOLDS if place == 0 else PARTLY if place == 1 else NOT)


def by_kind(gains: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the mean gain by kind of noise."""
    series: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for condition, gain in gains:
        series[condition.partition(":")[0]].append(gain)
    return {kind: sum(values) / len(values) for kind, values in series.items() if values}


def listed(gains: dict[str, float]) -> str:
    """Return the gains in words."""
    return ", ".join(f"{kind.upper() if kind != 'clean' else kind} {gain:+.1f}" for kind, gain in gains.items())


def nearer_the_truth(size: Size, recipe: str) -> Finding | None:
    """Judge that y* is nearer the truth than ŷ, which is right for more than 60 %."""
    rows = size.found.get(recipe, pd.DataFrame(columns=["dataset", "condition", "method"]))
    rows = rows[(rows["dataset"] == "mnist") & (rows["condition"] == "idn:0.4") & (rows["method"] == "ce")]
    if not len(rows):
        return None
    row = rows.iloc[0]
    verdict = NOT if row["gain"] <= 0 else HOLDS if row["before"] > 60 else PARTLY
    return Finding(f"{row['before']:.1f} → {row['after']:.1f} % right, {row['verdict'] or 'one seed'}", verdict)


def best_of(size: Size, recipe: str, others: tuple[str, ...], **wanted: str) -> Finding | None:
    """Judge that NPC has the best mean after a classifier, beside other calibrators on the same one."""
    frame = size.frame[(size.frame["rounds"] == 1) & (shapes(size.frame) == "one-hot") & ~size.frame["transitions"]]
    for name, value in wanted.items():
        frame = frame[frame[name] == value]
    mean = 100 * frame.groupby(["dataset", "condition", "method", "calibrator"])["after"].mean().unstack("calibrator")
    if not {recipe, *others} <= set(mean):
        return None
    mean = mean.dropna(subset=[recipe, *others])
    first = int((mean[recipe] > mean[list(others)].max(axis="columns")).sum())
    each = ", ".join(f"{name} {mean[name].mean():.1f}" for name in (recipe, *others))
    return Finding(f"{size.data}: first in {first} of {len(mean)}; mean {each}", verdict_by_share(first, len(mean)))


def quicker(size: Size, recipe: str) -> Finding | None:
    """Judge that NPC takes less time than training by a method that estimates T."""
    frame = size.of(dataset="mnist", condition="idn:0.2")
    trained = {name: frame.loc[frame["method"] == name, "seconds.train"].mean() for name in (*T_METHODS, "ce")}
    own = frame.loc[(frame["method"] == "ce") & (frame["calibrator"] == recipe), "seconds.fit"].mean()
    if pd.isna([own, *trained.values()]).any():
        return None
    least = min(trained[name] for name in T_METHODS)
    ours = f"{own:.1f} s, and {trained['ce']:.1f} s for its classifier; " + ", ".join(
        f"{name} {trained[name]:.1f} s" for name in T_METHODS
    )
    return Finding(ours, HOLDS if own + trained["ce"] < least else PARTLY if own < least else NOT)


def least_error_of_t(size: Size, recipe: str) -> Finding | None:
    """Judge that T from H has the least error under instance-dependent noise of 40 %."""
    frame = size.of(condition="idn:0.4")
    own = frame.loc[(frame["calibrator"] == recipe) & (frame["method"] == "ce"), "t_from_h"].dropna().astype(float)
    others = {name: frame.loc[frame["method"] == name, "t_method"].dropna().astype(float).mean() for name in T_METHODS}
    if not len(own) or pd.isna(list(others.values())).any():
        return None
    each = ", ".join(f"{name} {error:.4f}" for name, error in others.items())
    verdict = HOLDS if own.mean() < min(others.values()) else PARTLY if own.mean() < max(others.values()) else NOT
    return Finding(f"{size.data}, idn:0.4, {seeds_of(len(own))}: NPC {own.mean():.4f}; {each}", verdict)


def net_gain(size: Size, recipe: str) -> Finding | None:
    """Judge that NPC's net gain is above that of CausalNL*."""
    if "gains_a" not in size.frame:
        return None
    frame = size.of(condition="sn:0.2", method="ce").dropna(subset=["gains_a"])
    frame = frame[frame["rounds"].eq(1) & shapes(frame).eq("one-hot") & frame["calibrator"].isin([recipe, "causalnl"])]
    seeds = frame.groupby("noise_seed")["calibrator"].nunique()
    frame = frame[frame["noise_seed"].isin(seeds.index[seeds == 2])]  # those that both have
    if not len(frame):
        return None
    mean = frame.groupby("calibrator")[[f"gains_{k}" for k in REGIONS]].mean()
    net = mean["gains_b"] + mean["gains_f"] - mean["gains_d"] - mean["gains_h"]
    parts = []
    for way, title in ((recipe, "NPC"), ("causalnl", "CausalNL*")):
        regions = ", ".join(f"({k}) {mean.loc[way, f'gains_{k}']:,.0f}" for k in REGIONS)
        parts.append(f"{title} {regions}: net {net[way]:,.0f}")
    data = f"{size.data}, {seeds_of(int((seeds == 2).sum()))}"
    return Finding(f"{data}: {'; '.join(parts)}", HOLDS if net[recipe] > net["causalnl"] else NOT)


def one_round_is_enough(size: Size, recipe: str) -> Finding | None:
    """Judge that rounds after the first change accuracy by less than a tenth of what the first did."""
    frame = size.frame[(size.frame["rounds"] > 1) & (size.frame["calibrator"] == recipe)]
    if not len(frame):
        return None
    first = 100 * (frame["by_round"].map(lambda rounds: rounds[0]) - frame["before"]).mean()
    rest = 100 * (frame["by_round"].map(lambda rounds: rounds[-1] - rounds[0])).mean()
    return Finding(
        f"{size.data}: first round {first:+.1f}, the others {rest:+.1f}", HOLDS if abs(rest) <= abs(first) / 10 else NOT
    )


def flatter_is_better(size: Size, recipe: str) -> Finding | None:
    """Judge that TOP2 is better than the sharp prior under asymmetric and under instance-dependent noise."""
    frame = size.frame[size.frame["calibrator"] == "npc-paper"]
    keys = [frame[name] for name in ("dataset", "condition", "method")]
    mean = 100 * frame["after"].groupby([*keys, shapes(frame)]).mean().unstack()
    if not {"one-hot", "top-k"} <= set(mean):
        return None
    difference = (mean["top-k"] - mean["one-hot"]).dropna()
    kinds = by_kind((key[1], value) for key, value in difference.items())
    better = [kinds.get(kind, 0) > 0 for kind in ("asn", "idn")]
    return Finding(f"{size.data}: {listed(kinds)}", HOLDS if all(better) else PARTLY if any(better) else NOT)


def with_resnet(size: Size, recipe: str) -> Finding | None:
    """Judge that NPC improves CausalNL with ResNet-34."""
    return nearly_all_gain(size, recipe, method="causalnl") if size.network == "resnet34" else None


def asks_for_no_rate() -> Finding:
    """Judge that neither recipe has a parameter for the rate of the noise."""
    asked = {way: calibrators.build(way).get_params(deep=False) for way in RECIPES}
    free = [
        way for way, parameters in asked.items() if not any("rate" in name and "noise" in name for name in parameters)
    ]
    ours = f"{len(free)} of {len(asked)} recipes have no parameter for it"
    return Finding(ours, HOLDS if len(free) == len(asked) else NOT)
