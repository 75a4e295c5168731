"""Records of the lab beside the paper's figures: what holds of each of its claims, at each size that was run.

    python benchmarks/versus_paper.py results/*.parquet --page docs/findings.md

writes the page, and without `--page` prints it. The records are those of `truelabel lab show --export`, or stores. All
figures are computed: ours from the records, the paper's from `truelabel/lab/paper.csv`. `findings/` has the claims
and the rules by which they are judged.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
from scipy.stats import spearmanr

from findings.claims import CLAIMS, Claim
from findings.judging import RECIPES, UNTESTED, Finding, Size
from truelabel import lab, methods
from truelabel.lab import paper
from truelabel.lab.cell import Cell

HEAD = """# What holds of the paper

> Written by `python benchmarks/versus_paper.py results/*.parquet --page docs/findings.md`; a test checks that it is \
current. Ours are computed from records in `results/`, the paper's from its printed tables (`truelabel/lab/paper.csv`).

Every table, figure and sentence of [the paper](https://proceedings.mlr.press/v162/bae22a.html) that can be checked, \
with its figure, ours, and a verdict. A claim about NPC is judged twice: with the paper's recipe, which is what the \
paper claims it of, and with the default recipe. The verdicts are computed by the rules in \
`benchmarks/findings/judging.py`: **holds**, **holds in part**, **does not hold**, or **not tested here**. "Nearly \
all" is nine of ten with a higher mean, and none lower with significance after the correction for all of them; more \
than half is "in part". Verdicts at a smaller size than the paper's say what holds at that size, and no more. \
[Table 1 on a laptop](laptop.md) discusses the smallest."""
NOT_RUN = """## What was not run, and what it would cost
Hours are those of one processor for training the classifiers that are missing: images × epochs × the seconds that \
cross entropy took for an image and epoch in records of the same network, times what the method took more than cross \
entropy in the records. Where no record has the network, nothing is known. A run can be stopped and goes on where it \
was; its records become a file for this page by \
`truelabel lab show --store lab.sqlite --grid GRID --export results/GRID.parquet`."""
grid = cache(lab.load_grid)
IMAGES = {"mnist": 60_000, "fashion-mnist": 60_000, "cifar10": 50_000, "food101": 75_750, "clothing1m": 1_000_000}
NONE, ALL = "–", "all"


def main() -> None:
    """Write or print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path, nargs="+", help="stores or .parquet files of records")
    parser.add_argument("--page", type=Path, help="the file to write; printed without it")
    given = parser.parse_args()
    text = page(given.records)
    if given.page:
        given.page.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


def page(records: Sequence[Path]) -> str:
    """Return the whole page."""
    frame = read(records)
    sizes = by_size(frame)
    parts = [HEAD, "## At a glance", table(*overview(sizes)), "## Records", table(*the_sizes(sizes))]
    parts += [*superseded(frame), "## The claims"]
    parts += [section(number, claim, sizes) for number, claim in enumerate(CLAIMS, start=1)]
    for size in sizes:
        parts += tables_of(size)
    parts += ["## The paper against itself", "\n".join(f"- {each}" for each in against_itself())]
    return "\n\n".join([*parts, NOT_RUN, table(*missing(frame))]) + "\n"


def read(records: Sequence[Path]) -> pd.DataFrame:
    """Return the records of several files, each cell once."""
    frames = []
    for path in records:
        with lab.open_store(path) as store:
            frames.append(store.frame())
    frame = pd.concat(frames, ignore_index=True).drop_duplicates("key")
    return frame[frame["status"] == "ok"].reset_index(drop=True)


def by_size(frame: pd.DataFrame) -> list[Size]:
    """Return the records apart by number of images and network, the smallest first; without those of the cost."""
    costs = {cell.key for cell in grid("cost").cells}
    groups = frame[~frame["key"].isin(costs)].groupby(["n", "network"], sort=True)
    return [Size(int(n), str(network), part.reset_index(drop=True)) for (n, network), part in groups]


def the_sizes(sizes: list[Size]) -> tuple[list[str], list[list[str]]]:
    """Return a row for each size: what was run, and how far cross entropy fits its labels."""
    rows, keys = [], {name: {cell.key for cell in grid(name).cells} for name in lab.names()}
    for size in sizes:
        frame, there = size.frame, set(size.frame["key"])
        fit = 100 * frame.loc[frame["method"] == "ce", "fitted"]
        revisions = sorted({revision[:7] or "not recorded" for revision in frame["environment.revision"].fillna("")})
        hours = frame.drop_duplicates(["training_seed", "dataset", "condition", "method"])["seconds.train"].sum() / 3600
        rows.append(
            [
                size.title,
                ", ".join(sorted(set(frame["dataset"]))),
                str(frame["training_seed"].nunique()),
                f"{len(frame):,}",
                f"{fit.min():.0f} to {fit.max():.0f} %" if len(fit) else NONE,
                f"{hours:.2f}",
                ", ".join(revisions),
                ", ".join(f"`truelabel lab run {name}`" for name in lab.names() if there & keys[name]),
            ]
        )
    head = ["size", "data", "seeds", "records", "CE fits of its labels", "hours of training", "revisions", "command"]
    return head, rows


def superseded(frame: pd.DataFrame) -> list[str]:
    """Return what has changed since the records were made: the recipes, and settings that no grid has any more."""
    known = {cell.key for name in lab.names() for cell in grid(name).cells}
    old = frame.loc[~frame["key"].isin(known), "method"].value_counts().sort_index()
    notes = ["Figures are of the revision that made the records; the recipes may have changed since."]
    if len(old):
        counted = ", ".join(f"{count} of {name}" for name, count in old.items())
        notes.append(
            f"Of these records, {counted} have settings that their grid has changed; they are to be made again."
        )
    return notes


def overview(sizes: list[Size]) -> tuple[list[str], list[list[str]]]:
    """Return the verdicts on all claims, of each recipe at the largest size that says something."""
    rows = []
    for number, claim in enumerate(CLAIMS, start=1):
        last: dict[str, str] = {}
        for size in sizes:
            last |= {name: f"{found.verdict} ({size.n:,} images)" for name, found in findings(claim, size)}
        other = UNTESTED if claim.evidence is None else claim.evidence.verdict
        verdicts = [last.get(name, last.get(ALL, other)) for name in RECIPES.values()]
        rows.append([f"{number}. {claim.title}", *verdicts])
    return ["claim", *RECIPES.values()], rows


def section(number: int, claim: Claim, sizes: list[Size]) -> str:
    """Return what the paper says, its figure, ours at each size, and the verdict of each."""
    rows = [["the paper", claim.figure(), ""]]
    for size in sizes:
        rows += [[f"{size.title}, {name}", found.ours, f"**{found.verdict}**"] for name, found in findings(claim, size)]
    size_of_paper = f" At the paper's size: `truelabel lab run {claim.grid}`." if claim.grid else ""
    lines = [f"### {number}. {claim.title}", f"*{claim.where}*: {claim.says}{size_of_paper}"]
    if len(rows) == 1 and claim.evidence is None:
        why = "no record" if claim.grid else "no record can decide it"
        rows.append(["here", why, f"**{UNTESTED}**"])
    if claim.evidence is not None:
        rows.append(["here", claim.evidence.ours, f"**{claim.evidence.verdict}**"])
    return "\n\n".join([*lines, table(["", "figure", "verdict"], rows)])


def findings(claim: Claim, size: Size) -> list[tuple[str, Finding]]:
    """Return what the records of a size say of a claim, by recipe; nothing where they say nothing."""
    if claim.judge is None:
        return []
    asked = RECIPES if claim.by_recipe else {"": ""}
    found = [(title, claim.judge(size, recipe)) for recipe, title in asked.items()]
    return [(title or ALL, one) for title, one in found if one is not None]


def tables_of(size: Size) -> list[str]:
    """Return the tables of a size's part of Table 1."""
    cells = size.cells()
    if not len(cells):
        return []
    title = f"## Table 1 with {size.title}"
    note = f"Test accuracy (%), and in brackets the gain over the classifier; {len(cells)} combinations of dataset, "
    note += "noise and method, and the paper's figures for the same ones."
    return [title, note, *(table(*means(cells, level)) for level in ("condition", "method")), table(*together(cells))]


def means(cells: pd.DataFrame, level: str) -> tuple[list[str], list[list[str]]]:
    """Return the means of the accuracies by noise or by method."""
    by = cells.groupby(level=level, sort=False)[["before", *RECIPES, "paper before", "paper after"]].mean()
    head = ["noise" if level == "condition" else level, "classifier", *RECIPES.values()]
    rows = []
    for name, mean in by.iterrows():
        gains = [f"{mean[way]:.1f} ({mean[way] - mean['before']:+.1f})" for way in RECIPES]
        theirs = f"{mean['paper after']:.1f} ({mean['paper after'] - mean['paper before']:+.1f})"
        rows.append([str(name), f"{mean['before']:.1f}", *gains, f"{mean['paper before']:.1f}", theirs])
    return [*head, "the paper: classifier", "the paper: NPC"], rows


def together(cells: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return how the order of cells here agrees with the paper's (Spearman's rank correlation)."""
    theirs = cells["paper after"] - cells["paper before"]
    pairs = {"accuracy of the classifier": (cells["before"], cells["paper before"])}
    pairs |= {f"gain, {title}": (cells[f"{way} gain"], theirs) for way, title in RECIPES.items()}
    rows = [[title, f"{spearmanr(*pair).statistic:.2f}"] for title, pair in pairs.items()]
    return ["ours and the paper's, over all combinations", "rank correlation"], rows


def against_itself() -> list[str]:
    """Return where the paper's figures disagree with each other."""
    apart = paper.disagreements()
    count = f"{len(apart)} figures are printed twice with different values; the tables of the lab mark them with †."
    return [*paper.ODDITIES, count]


@dataclass(frozen=True)
class Speed:
    """Processor seconds for an image and epoch: by network, of cross entropy, and by method as a multiple of it."""

    networks: dict[str, float]
    methods: dict[str, float]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Speed:
        """Return what the records tell."""
        trained = frame[frame["seconds.train"] > 0]
        rate = (trained["seconds.train"] / (trained["epochs"] * trained["n"])).groupby(
            [trained["network"], trained["method"]]
        )
        mean = rate.median().unstack("network")
        networks = mean.loc["ce"].dropna()
        more = mean.div(networks, axis="columns").median(axis="columns")
        return cls({str(k): float(v) for k, v in networks.items()}, {str(k): float(v) for k, v in more.items()})

    def hours(self, cell: Cell) -> float | None:
        """Return the hours that the classifier of a cell takes; None where nothing is known of its network."""
        network = cell.network or ""
        if network not in self.networks:
            return None
        epochs = methods.build(cell.method, **cell.settings("method")).total_epochs
        images = min(cell.subset or IMAGES[cell.dataset], IMAGES[cell.dataset])
        return self.networks[network] * self.methods.get(cell.method, 1.0) * epochs * images / 3600


def missing(frame: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return a row for each grid that decides a claim: what is there, what is missing, and what it would cost."""
    speed, there, rows = Speed.of(frame), set(frame["key"]), []
    for name in dict.fromkeys([*("laptop", "middle", "paper-size"), *(claim.grid for claim in CLAIMS if claim.grid)]):
        cells = grid(name).cells
        left = {cell.classifier_key: cell for cell in cells if cell.key not in there}
        hours = [speed.hours(cell) for cell in left.values()]
        known = [one for one in hours if one is not None]
        cost = f"{sum(known):,.0f}" if len(known) == len(hours) else f"{sum(known):,.0f} and more" if known else "?"
        have = sum(cell.key in there for cell in cells)
        rows.append([f"`{name}`", f"{have:,} of {len(cells):,}", f"{len(left):,}", cost, f"`{command(name, cells)}`"])
    return ["grid", "records", "classifiers to train", "hours", "command"], rows


def command(name: str, cells: Sequence[Cell]) -> str:
    """Return how a grid is run."""
    weights = " --weights WEIGHTS" if any(cell.pretrained for cell in cells) else ""
    return f"truelabel lab run {name} --engine processes --workers 2 --root DATA{weights}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [list(head), ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
