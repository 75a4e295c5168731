"""The claims of the paper, and the rules by which records decide whether they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from truelabel import calibrators, lab
from truelabel.lab import paper
from truelabel.lab.summary import LEVEL, summarise

RECIPES = {"npc-paper": "NPC, paper recipe", "npc": "NPC, default"}
HOLDS, PARTLY, NOT, UNTESTED = "holds", "holds in part", "does not hold", "not tested here"
MOST = 0.9  # share of the combinations that have to be ahead for "nearly all"
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

    @cached_property
    def found(self) -> dict[str, pd.DataFrame]:
        """The means over seeds of each recipe, with tests that are corrected for all combinations of that recipe."""
        ways = {way: self.of(calibrator=way) for way in RECIPES}
        return {way: summarise(part, ("table1", "mnist")) for way, part in ways.items() if len(part)}

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


def _names() -> list[str]:
    cells = lab.load_grid("paper-table1").cells
    return list(dict.fromkeys(name for cell in cells for name in (cell.dataset, cell.condition, cell.method)))


@dataclass(frozen=True)
class Claim:
    """What the paper claims.

    Attributes
    ----------
    title, where, says : str
        What it is about, where it stands, and what it says, in our words.
    figure : callable
        Returns the paper's figure.
    grid : str
        The grid that decides it; empty if none does.
    judge : callable, optional
        Returns what the records of a size say with a recipe ("" where the claim is not about one), or None if nothing.
    by_recipe : bool
        Whether it is judged for each recipe.
    evidence : Finding, optional
        What decides it where records do not.
    """

    title: str
    where: str
    says: str
    figure: Callable[[], str]
    grid: str = ""
    judge: Callable[[Size, str], Finding | None] | None = None
    by_recipe: bool = True
    evidence: Finding | None = None


def verdict_by_share(ahead: int, count: int, harmed: int = 0) -> str:
    """Return the verdict of a claim that (nearly) all of something gain."""
    if ahead >= MOST * count and not harmed:
        return HOLDS
    return PARTLY if ahead > count / 2 else NOT


def nearly_all_gain(size: Size, recipe: str, **wanted: str) -> Finding | None:
    """Judge that NPC is ahead nearly everywhere, and nowhere behind by more than chance."""
    rows = size.found.get(recipe, pd.DataFrame())
    for name, value in wanted.items():
        rows = rows[rows[name] == value] if len(rows) else rows
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
    gains = _by_kind(zip(rows["condition"], rows["gain"], strict=True)) if len(rows) else {}
    if "idn" not in gains or len(gains) < 2:
        return None
    place = sorted(gains, key=lambda kind: -gains[kind]).index("idn")
    return Finding(_listed(gains), HOLDS if place == 0 else PARTLY if place == 1 else NOT)


def _by_kind(gains: Iterable[tuple[str, float]]) -> dict[str, float]:
    series: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for condition, gain in gains:
        series[condition.partition(":")[0]].append(gain)
    return {kind: sum(values) / len(values) for kind, values in series.items() if values}


def _listed(gains: dict[str, float]) -> str:
    return ", ".join(f"{kind.upper() if kind != 'clean' else kind} {gain:+.1f}" for kind, gain in gains.items())


def nearer_the_truth(size: Size, recipe: str) -> Finding | None:
    """Judge that y* is nearer the truth than ŷ, which is right for more than 60 %."""
    rows = size.found.get(recipe, pd.DataFrame())
    rows = rows[(rows["dataset"] == "mnist") & (rows["condition"] == "idn:0.4") & (rows["method"] == "ce")]
    if not len(rows):
        return None
    row = rows.iloc[0]
    verdict = NOT if row["gain"] <= 0 else HOLDS if row["before"] > 60 else PARTLY
    return Finding(f"{row['before']:.1f} → {row['after']:.1f} % right, {row['verdict'] or 'one seed'}", verdict)


def best_of(size: Size, recipe: str, others: tuple[str, ...], **wanted: str) -> Finding | None:
    """Judge that NPC has the best mean after a classifier, beside other calibrators on the same one."""
    frame = size.frame
    for name, value in wanted.items():
        frame = frame[frame[name] == value]
    mean = 100 * frame.groupby(["dataset", "condition", "method", "calibrator"])["after"].mean().unstack("calibrator")
    if not {recipe, *others} <= set(mean):
        return None
    mean = mean.dropna(subset=[recipe, *others])
    first = int((mean[recipe] > mean[list(others)].max(axis="columns")).sum())
    each = ", ".join(f"{name} {mean[name].mean():.1f}" for name in (recipe, *others))
    return Finding(f"first in {first} of {len(mean)}; mean {each}", verdict_by_share(first, len(mean)))


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
    listed = ", ".join(f"{name} {error:.4f}" for name, error in others.items())
    verdict = HOLDS if own.mean() < min(others.values()) else PARTLY if own.mean() < max(others.values()) else NOT
    return Finding(f"{own.mean():.4f}; {listed}", verdict)


def net_gain(size: Size, recipe: str) -> Finding | None:
    """Judge that NPC's net gain is above that of CausalNL*."""
    if "gains_a" not in size.frame:
        return None
    frame = size.of(condition="sn:0.2", method="ce").dropna(subset=["gains_a"])
    net = (frame["gains_b"] + frame["gains_f"] - frame["gains_d"] - frame["gains_h"]).groupby(frame["calibrator"]).mean()
    if recipe not in net or "causalnl" not in net:
        return None
    ours = f"net {net[recipe]:,.0f}, CausalNL* {net['causalnl']:,.0f}"
    return Finding(ours, HOLDS if net[recipe] > net["causalnl"] else NOT)


def one_round_is_enough(size: Size, recipe: str) -> Finding | None:
    """Judge that rounds after the first change accuracy by less than a tenth of what the first did."""
    frame = size.frame[(size.frame["rounds"] > 1) & (size.frame["calibrator"] == recipe)]
    if not len(frame):
        return None
    first = 100 * (frame["by_round"].map(lambda rounds: rounds[0]) - frame["before"]).mean()
    rest = 100 * (frame["by_round"].map(lambda rounds: rounds[-1] - rounds[0])).mean()
    return Finding(f"first round {first:+.1f}, the others {rest:+.1f}", HOLDS if abs(rest) <= abs(first) / 10 else NOT)


def _figures(tables: tuple[str, ...], what: str) -> dict[tuple[str, str, str], float]:
    kept = (each for each in paper.figures() if each.table in tables and each.what == what)
    return {(each.dataset, each.noise, each.method): each.value for each in kept}


def _papers_gains(dataset: str | None = None) -> dict[tuple[str, str, str], float]:
    """Return the gains of Table 1, with the MNIST appendix where Table 1 has no figure."""
    before = _figures(("mnist",), "classifier") | _figures(("table1",), "classifier")
    after = _figures(("mnist",), "npc") | _figures(("table1",), "npc")
    return {key: after[key] - before[key] for key in before if dataset in (None, key[0])}


def _counted(gains: Iterable[float]) -> str:
    gains = list(gains)
    ahead, behind = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    return f"ahead in {ahead} of {len(gains)}, behind in {behind}; mean gain {sum(gains) / len(gains):+.1f}"


def _by_method() -> str:
    gains = pd.Series(_papers_gains()).groupby(level=2).mean().sort_values()
    return f"{(gains > 0).sum()} of {len(gains)}; from {gains.iloc[0]:+.1f} ({gains.index[0]}) to {gains.iloc[-1]:+.1f}"


def _real() -> str:
    before, after = _figures(("real",), "classifier"), _figures(("real",), "npc")
    gains = [after[key] - before[key] for key in before]
    bold = sum(each.bold for each in paper.figures() if each.table == "real" and each.what == "npc")
    return f"{_counted(gains)}; {bold} of {len(gains)} in bold"


def _post_processors() -> str:
    by = {what: _figures(("real-post-processors",), what) for what in ("classifier", "knn", "rog", "npc")}
    first = sum(by["npc"][key] >= max(values[key] for values in by.values()) for key in by["npc"])
    return f"no figures printed; in the appendix on real mistakes NPC is first in {first} of {len(by['npc'])}"


def _correction() -> str:
    parts = []
    for noise in ("sn:0.2", "idn:0.2"):
        own = {each.what: each.value for each in paper.figures() if each.table == "label-correction"
               and each.noise == noise and each.method == "coteaching"}
        other = max(each.value for each in paper.figures() if each.table == "label-correction"
                    and each.noise == noise and each.what != "npc")
        parts.append(f"{noise}: NPC {own['npc']:.1f}, the next {other:.1f}")
    return "; ".join(parts)


def _venn() -> str:
    count = {each.what: each.value for each in paper.figures() if each.table == "gains"}
    net = {way: count[f"{way}-b"] + count[f"{way}-f"] - count[f"{way}-d"] - count[f"{way}-h"] for way in ("npc", "causalnl")}
    listed = {way: ", ".join(f"({k}) {count[f'{way}-{k}']:,.0f}" for k in "abcdefgh") for way in net}
    return f"NPC {listed['npc']}: net {net['npc']:,.0f}; CausalNL* {listed['causalnl']}: net {net['causalnl']:,.0f}"


def _transitions() -> str:
    errors = _figures(("transitions",), "transition") | _figures(("transitions",), "npc-transition")
    parts = []
    for noise in dict.fromkeys(key[1] for key in errors):
        each = {key[2]: value for key, value in errors.items() if key[1] == noise}
        parts.append(f"{noise}: NPC {each.pop('ce'):.4f}, the others {min(each.values()):.4f} to {max(each.values()):.4f}")
    return "; ".join(parts)


def _priors() -> str:
    sharp, top = _figures(("priors",), "npc"), _figures(("priors",), "npc-top2")
    sharp = sharp or _figures(("table1",), "npc")
    difference = _by_kind((key[1], top[key] - sharp[key]) for key in top)
    return f"TOP2 minus sharp, mean by noise: {_listed(difference)}"


def _causalnl() -> str:
    own, npc = _figures(("causalnl",), "classifier"), _figures(("causalnl",), "npc")
    return "; ".join(f"{key[1]}: {own[key]:.2f} → {npc[key]:.2f}" for key in own)


def _seconds() -> str:
    return ", ".join(f"{each.method if each.what == 'seconds' else 'NPC'} {each.value:,.0f} s"
                     for each in paper.figures() if each.table == "time")  # fmt: skip


def _confusion() -> str:
    key = ("mnist", "idn:0.4", "ce")
    before, after = _figures(("table1",), "classifier")[key], _figures(("table1",), "npc")[key]
    return f"{before:.1f} → {after:.1f} % right (Table 1)"


def _asks_for_no_rate() -> Finding:
    asked = {way: calibrators.build(way).get_params(deep=False) for way in RECIPES}
    free = [way for way, parameters in asked.items() if not any("rate" in name and "noise" in name for name in parameters)]
    ours = f"{len(free)} of {len(asked)} recipes have no parameter for it"
    return Finding(ours, HOLDS if len(free) == len(asked) else NOT)


CLAIMS = (
    Claim(
        "NPC improves nearly every classifier under nearly every noise",
        "Table 1, section 4.2",
        "of 351 cells 341 are improved with significance.",
        lambda: _counted(_papers_gains().values()),
        "paper-table1",
        nearly_all_gain,
    ),
    Claim(
        "It boosts every training method",
        "abstract, Table 1",
        "the performance of all baseline models is boosted.",
        _by_method,
        "paper-table1",
        every_method_gains,
    ),
    Claim(
        "It improves classifiers of clean labels, too",
        "section 4.2",
        "clean cases are consistently enhanced.",
        lambda: _counted(gain for key, gain in _papers_gains().items() if key[1] == "clean"),
        "paper-table1",
        lambda size, recipe: nearly_all_gain(size, recipe, condition="clean"),
    ),
    Claim(
        "It gains most under instance-dependent noise",
        "section 4.2",
        "performance under instance-dependent noise is impressive; the figures are mean gains by kind of noise.",
        lambda: _listed(_by_kind((key[1], gain) for key, gain in _papers_gains().items())),
        "paper-table1",
        most_under_idn,
    ),
    Claim(
        "MNIST under all noise conditions",
        "appendix, table of MNIST",
        "NPC improves nearly every cell.",
        lambda: _counted(_papers_gains("mnist").values()),
        "paper-mnist",
        lambda size, recipe: nearly_all_gain(size, recipe, dataset="mnist"),
    ),
    Claim(
        "CIFAR-10",
        "Table 1",
        "NPC improves nearly every cell.",
        lambda: _counted(_papers_gains("cifar10").values()),
        "paper-table1",
        lambda size, recipe: nearly_all_gain(size, recipe, dataset="cifar10"),
    ),
    Claim(
        "It needs to know neither rate nor kind of the noise",
        "sections 1 and 4.2",
        "NPC works without access to the noise ratio.",
        lambda: "–",
        evidence=_asks_for_no_rate(),
    ),
    Claim(
        "Food-101 and Clothing1M",
        "table of real datasets",
        "13 of 16 cells are improved with significance.",
        _real,
        "paper-real",
        lambda size, recipe: nearly_all_gain(size, recipe, dataset="food101"),
    ),
    Claim(
        "y* is nearer the truth than ŷ",
        "figure of t-SNE and confusion matrices",
        "MNIST, 40 % instance-dependent noise: ŷ is right for more than 60 %, and y* more often. The picture itself is "
        "`truelabel analyse embedding` and `confusion`.",
        _confusion,
        "paper-mnist",
        nearer_the_truth,
    ),
    Claim(
        "NPC is better than k-NN and RoG",
        "figure of post-processors",
        "NPC beats its own prior and RoG on several baselines.",
        _post_processors,
        "paper-post-processors",
        lambda size, recipe: best_of(size, recipe, ("knn-paper", "rog")),
    ),
    Claim(
        "NPC is better than label correction as a post-processor",
        "table of label correction",
        "after Co-teaching, NPC beats LRT*, MLC* and CausalNL*.",
        _correction,
        "paper-label-correction",
        lambda size, recipe: best_of(size, recipe, ("lrt", "mlc", "causalnl"), method="coteaching"),
    ),
    Claim(
        "NPC corrects with care, CausalNL* takes risks",
        "Venn diagram and its table",
        "training instances by region, CIFAR-10 with 20 % symmetric noise; net is {(b) + (f)} − {(d) + (h)}.",
        _venn,
        "paper-gains",
        net_gain,
    ),
    Claim(
        "T from H has the least error",
        "figure and table of transition matrices",
        "CIFAR-10: least under 40 % instance-dependent noise, elsewhere as good as the others.",
        _transitions,
        "paper-transitions",
        least_error_of_t,
    ),
    Claim(
        "A flatter prior helps under severe, asymmetric and instance-dependent noise",
        "appendix on priors",
        "TOP2 tends to be better there.",
        _priors,
        "paper-priors",
    ),
    Claim(
        "One application of NPC is enough",
        "appendix, repetitive application",
        "accuracy converges after the first round.",
        lambda: "a figure without numbers",
        "paper-repeat",
        one_round_is_enough,
    ),
    Claim(
        "NPC improves CausalNL with its authors' network",
        "appendix on CausalNL",
        "CIFAR-10 with ResNet-34.",
        _causalnl,
        "paper-causalnl",
    ),
    Claim(
        "H takes less time than T",
        "appendix on time",
        "MNIST, 20 % instance-dependent noise. Holds here if NPC and the training of its classifier together take less "
        "than each of the others, in part if NPC alone does.",
        _seconds,
        "paper-time",
        quicker,
    ),
    Claim(
        "NPC looks at the object, CausalNL at the whole image",
        "figure of Grad-CAM",
        "Food-101. It takes the images, a ResNet-50 of each, and an eye; `truelabel analyse gradcam` draws the maps.",
        lambda: "a figure without numbers",
        "paper-real",
    ),
    Claim(
        "It finds doubtful test labels of MNIST and Fashion-MNIST",
        "section on benchmarks",
        "20 examples, picked by people out of the 50 surest. What counts as doubtful is for people to say; "
        "`truelabel analyse suspicious` shows them, and [a page](analyses.md#suspicious-labels-of-benchmarks) has ours.",
        lambda: "a figure without numbers",
    ),
    Claim(
        "H follows from T",
        "the proposition and its proof",
        "H_kj(x) = p(y = j | x) / p(ŷ = k | x) · Σ_i p(ŷ = k | ỹ = i, x) T_ji(x), if ŷ and y are independent given ỹ.",
        lambda: "a proof, with [slips](paper.md#slips-of-the-paper-and-how-they-are-handled)",
        evidence=Finding("checked on joint distributions written down in `tests/transitions/test_from_h.py`", HOLDS),
    ),
    Claim(
        "The divergence of two Dirichlet distributions is that of their gamma variables",
        "appendix on reparameterisation",
        "log Γ(α) − log Γ(α̂) + (α̂ − α) ψ(α̂), summed over classes.",
        lambda: "a derivation",
        evidence=Finding(
            "that of the gamma variables, which is another number than that of the Dirichlet distributions; both are "
            "compared with `torch.distributions` in `tests/calibrators/npc/test_dirichlet.py`",
            PARTLY,
        ),
    ),
)
