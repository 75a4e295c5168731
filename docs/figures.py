"""The figures of how-it-works.md: ``python docs/figures.py`` writes them to docs/images."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from scipy.stats import dirichlet
from sklearn.ensemble import ExtraTreesClassifier

import truelabel as tl
from truelabel.analysis.figures import OKABE_ITO
from truelabel.calibrators.npc import ExpertPrior, Settings
from truelabel.calibrators.npc.beliefs import Believer
from truelabel.experts.heads import out_of_fold
from truelabel.experts.votes import Vote
from truelabel.label_noise import LabelNoise
from truelabel.label_noise.transition import denoise
from truelabel.pool import likelihood_weights, pool, pool_everywhere
from truelabel.progress import Progress

COLOURS = OKABE_ITO[:3]
MARKERS = ("o", "s", "^")
TRUE_T = np.array([[0.6, 0.4, 0.0], [0.0, 0.8, 0.2], [0.3, 0.0, 0.7]])
SPAN = 3.4


@dataclass(frozen=True)
class Toy:
    """Three classes in the plane, their noisy labels, a forest that learned these by heart, and NPC."""

    x: Any
    truth: Any
    noisy: Any
    forest: Any
    said: tl.Predictions
    npc: tl.NPC


def make_toy(n: int = 2_000, seed: int = 1) -> Toy:
    """Draw the points and their noisy labels, train, and calibrate."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    angle = np.pi / 2 + truth * 2 * np.pi / 3
    x = 1.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.72 * rng.normal(size=(n, 2))
    noisy = (rng.random(n)[:, None] > TRUE_T[truth].cumsum(axis=1)).sum(axis=1)
    forest = ExtraTreesClassifier(200, random_state=seed).fit(x, noisy)
    said = tl.Predictions(features=x, probs=forest.predict_proba(x), labels=noisy)
    npc = tl.NPC(prior=ExpertPrior(Settings(trust="none")), random_state=seed, progress=False).fit(said)
    return Toy(x, truth, noisy, forest, said, npc)


def lattice(side: int = 240) -> tuple[Any, Any]:
    """Return a grid over the plane, and its points one a row."""
    line = np.linspace(-SPAN, SPAN, side)
    across, up = np.meshgrid(line, line)
    return (across, up), np.stack([across.ravel(), up.ravel()], axis=1)


def regions(axis: Any, probs: Any) -> None:
    """Fill the plane with the colour of the likeliest class, paler where it is less sure."""
    side = int(np.sqrt(len(probs)))
    colours = np.array([to_rgb(colour) for colour in COLOURS])
    best, sure = probs.argmax(axis=1), probs.max(axis=1)
    strength = 0.15 + 0.45 * np.clip((sure - 1 / 3) / (2 / 3), 0, 1)
    shown = 1 - strength[:, None] * (1 - colours[best])
    axis.imshow(
        shown.reshape(side, side, 3), extent=(-SPAN, SPAN, -SPAN, SPAN), origin="lower", interpolation="bilinear"
    )


def points(axis: Any, x: Any, labels: Any, *, size: float = 14, faded: bool = False) -> None:
    """Draw instances in the colour and shape of their label."""
    for k, (colour, marker) in enumerate(zip(COLOURS, MARKERS, strict=True)):
        rows = labels == k
        axis.scatter(
            *x[rows].T, s=size, c=colour, marker=marker, linewidths=0.3, edgecolors="white", alpha=0.5 if faded else 1
        )


def plain(axis: Any, title: str) -> None:
    """Leave nothing of an axis but its title."""
    axis.set(xlim=(-SPAN, SPAN), ylim=(-SPAN, SPAN), xticks=[], yticks=[], aspect="equal")
    axis.set_title(title, fontsize=11)


def draw_noise(toy: Toy) -> Figure:
    """True labels, noisy labels, and what a classifier makes of them."""
    figure = Figure(figsize=(11, 3.9), layout="constrained")
    true, noisy, memorised = figure.subplots(1, 3)
    points(true, toy.x, toy.truth)
    plain(true, "true classes y")
    wrong = toy.truth != toy.noisy
    points(noisy, toy.x, toy.noisy)
    noisy.scatter(*toy.x[wrong].T, s=46, facecolors="none", edgecolors="black", linewidths=0.6)
    plain(noisy, f"noisy labels ỹ: {wrong.mean():.0%} are wrong (ringed)")
    _, where = lattice()
    regions(memorised, toy.forest.predict_proba(where))
    points(memorised, toy.x, toy.noisy, size=5)
    fits = np.mean(toy.said.hard == toy.noisy)
    plain(memorised, f"prediction ŷ: fits {fits:.0%} of the noisy labels")
    return figure


@dataclass(frozen=True)
class Steps:
    """What the prior says on the way from p(ỹ | x) to p(y | x, ỹ)."""

    neighbours: Any
    vote: Any
    head: Any
    pooled: Any
    transition: Any
    clean: Any
    belief: Any


def steps(toy: Toy, seed: int = 1) -> Steps:
    """Go the prior's way step by step."""
    n, c = toy.said.probs.shape
    rows = np.arange(n)
    rng = np.random.default_rng(seed)
    vote = Vote.best(toy.x, toy.noisy, rows, c, None, rng)
    quiet = Progress(False)
    torch.manual_seed(seed)
    head, _, _ = out_of_fold(
        toy.x, vote.scale, toy.noisy, rows, c, device=torch.device("cpu"), seed=seed, progress=quiet
    )
    voted = vote.everywhere(toy.x, quiet)
    pooled = pool_everywhere([voted, head], likelihood_weights([voted, head], toy.noisy))
    noise = LabelNoise.estimate(pooled, toy.noisy, rng, rows=rows)
    believer = Believer(noise, toy.noisy, None, None)
    believer.weigh(pooled, rows, None, {}, again=False)
    clean = pool([denoise(pooled, noise.proven)], believer.sharpness)
    belief = believer.believe(pooled, 0)
    return Steps(vote.neighbours(toy.x, rows), voted, head, pooled, noise.transition, clean, belief)


def chosen_row(toy: Toy, said: Steps) -> int:
    """Return an instance of class 0 that is labelled 1, as most around it are, and about which some doubt is left."""
    wrong = np.flatnonzero((toy.truth == 0) & (toy.noisy == 1) & (said.pooled.argmax(axis=1) == 1))
    return int(wrong[np.abs(said.belief[wrong, 0] - 0.75).argmin()])


def bars(axis: Any, probs: Any, title: str) -> None:
    """Draw the probabilities of the classes."""
    for k, p in enumerate(probs):
        axis.bar(k, p, color=COLOURS[k], width=0.7)
        axis.text(k, p + 0.02, f"{100 * p:.0f} %", ha="center", fontsize=9)
    axis.set(ylim=(0, 1.12), xticks=range(3), xticklabels=["0", "1", "2"], yticks=[])
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.set_title(title, fontsize=11)


def draw_prior(toy: Toy, said: Steps, row: int) -> Figure:
    """One instance: its neighbours, what experts say, and what follows."""
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.05))
    axis = left.subplots()
    near = said.neighbours[row]
    points(axis, toy.x, toy.noisy, size=12, faded=True)
    points(axis, toy.x[near], toy.noisy[near], size=70)
    for other in near:
        axis.plot(*np.stack([toy.x[row], toy.x[other]]).T, color="0.35", linewidth=0.6, zorder=0)
    axis.scatter(*toy.x[row], s=260, c=COLOURS[toy.noisy[row]], marker="s", edgecolors="black", linewidths=2, zorder=5)
    spread = 1.25 * np.abs(toy.x[near] - toy.x[row]).max()
    plain(axis, f"an instance of class 0 that is labelled 1,\nand the {len(near)} neighbours that vote")
    axis.set(
        xlim=(toy.x[row, 0] - spread, toy.x[row, 0] + spread), ylim=(toy.x[row, 1] - spread, toy.x[row, 1] + spread)
    )
    axes = right.subplots(2, 2)
    bars(axes[0, 0], said.vote[row], "the vote of the neighbours")
    bars(axes[0, 1], said.pooled[row], "vote and head pooled: p(ỹ | x)")
    bars(axes[1, 0], said.clean[row], "by T: p(y | x)")
    bars(axes[1, 1], said.belief[row], "label heard: p(y | x, ỹ = 1)")
    return figure


def draw_transition(toy: Toy, said: Steps) -> Figure:
    """The surest instances of each class, and T counted on them."""
    figure = Figure(figsize=(11, 3.9), layout="constrained")
    surest, true, estimated = figure.subplots(1, 3)
    guessed = said.pooled.argmax(axis=1)
    points(surest, toy.x, toy.noisy, size=6, faded=True)
    for k in range(3):
        rows = np.flatnonzero(guessed == k)
        least = np.partition(said.pooled[rows, k], -len(rows) // 5)[-len(rows) // 5]
        kept = rows[said.pooled[rows, k] >= least]
        points(surest, toy.x[kept], toy.noisy[kept], size=26)
    plain(surest, "the surest fifth of each class\nand how they are labelled")
    for axis, matrix, title in ((true, TRUE_T, "true T[y, ỹ]"), (estimated, said.transition, "T as estimated")):
        axis.imshow(matrix, cmap="cividis", vmin=0, vmax=1)
        for (y, label), share in np.ndenumerate(matrix):
            ink = "black" if share > 0.55 else "white"
            axis.text(label, y, f"{100 * share:.0f} %", ha="center", va="center", color=ink)
        axis.set(xticks=range(3), yticks=range(3), xlabel="noisy label ỹ", ylabel="true class y")
        axis.set_title(title, fontsize=11)
    return figure


def concentration(npc: tl.NPC, said: tl.Predictions, k: int) -> Any:
    """Return α̂(x, ŷ = k) of one instance."""
    if float(npc.network_.reliance) != 0:
        raise ValueError("the classifier is trusted here, so that α̂ depends on p(ŷ | x) beyond ŷ")
    return npc.posterior(said.replace(probs=np.eye(3)[[k]])).concentration[0]


def simplex(axis: Any, alpha: Any, title: str, side: int = 160) -> None:
    """Draw the density of Dir(α) on the triangle of class probabilities, and its mode."""
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
    first, second = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side))
    third = 1 - first - second
    inside = (third > 1e-4) & (first > 1e-4) & (second > 1e-4)
    where = np.stack([first[inside], second[inside], third[inside]])
    density = dirichlet.logpdf(where / where.sum(axis=0), alpha)
    shown = np.exp(density - density.max())
    plane = where.T @ corners
    axis.tricontourf(*plane.T, shown, levels=24, cmap="cividis")
    axis.plot(*corners[[0, 1, 2, 0]].T, color="black", linewidth=1)
    mode = (alpha - 1) / (alpha - 1).sum()
    axis.scatter(*(mode @ corners), s=90, c="white", edgecolors="black", marker="X", zorder=5)
    for k, (spot, shift) in enumerate(zip(corners, ((-0.08, -0.07), (0.08, -0.07), (0, 0.06)), strict=True)):
        axis.text(*(spot + shift), f"y = {k}", ha="center", va="center", fontsize=10, color=COLOURS[k], weight="bold")
    axis.set(xlim=(-0.2, 1.2), ylim=(-0.15, 1.02), aspect="equal")
    axis.axis("off")
    axis.set_title(title, fontsize=11)


def box(axis: Any, at: tuple[float, float], text: str, *, colour: str, width: float = 1.5, height: float = 0.8) -> None:
    """Draw a part of the diagram, centred."""
    corner = (at[0] - width / 2, at[1] - height / 2)
    style = "round,pad=0,rounding_size=0.12"
    axis.add_patch(FancyBboxPatch(corner, width, height, boxstyle=style, facecolor=colour, edgecolor="black"))
    axis.text(*at, text, ha="center", va="center", fontsize=11)


def arrow(axis: Any, start: tuple[float, float], end: tuple[float, float], *, dashed: bool = False) -> None:
    """Draw where something goes."""
    look = {"arrowstyle": "<|-|>" if dashed else "-|>", "color": "black", "linestyle": "--" if dashed else "-"}
    axis.annotate("", xy=end, xytext=start, arrowprops=look | {"shrinkA": 0, "shrinkB": 0})


def draw_autoencoder(toy: Toy, said: Steps, row: int) -> Figure:
    """The Dirichlet autoencoder as a diagram, and its distributions at one instance."""
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(0.8, 1))
    axis = above.subplots()
    light, blue, orange, green = "#f2f2f2", "#cfe3f1", "#f9e3bd", "#cbe9df"
    box(axis, (0.9, 2.2), "x", colour=light, width=0.8)
    box(axis, (0.9, 1.0), "ŷ", colour=light, width=0.8)
    box(axis, (3.1, 1.6), "encoder\na(x) + U_ŷ", colour=blue, width=1.9)
    box(axis, (6.0, 1.6), "posterior\nDir(α̂(x, ŷ))", colour=orange, width=2.0)
    box(axis, (8.4, 1.6), "y", colour=orange, width=0.8)
    box(axis, (10.3, 1.6), "decoder\np(ŷ | y, x)", colour=blue, width=1.9)
    box(axis, (12.6, 1.6), "ŷ again", colour=light, width=1.3)
    box(axis, (6.0, 3.4), "prior\nDir(1 + ρ p(y | x, ỹ))", colour=green, width=2.9)
    arrow(axis, (1.3, 2.1), (2.15, 1.75))
    arrow(axis, (1.3, 1.1), (2.15, 1.45))
    arrow(axis, (4.05, 1.6), (5.0, 1.6))
    arrow(axis, (7.0, 1.6), (8.0, 1.6))
    axis.text(7.5, 1.75, "draw", ha="center", fontsize=9)
    arrow(axis, (8.8, 1.6), (9.35, 1.6))
    arrow(axis, (11.25, 1.6), (11.95, 1.6))
    arrow(axis, (6.0, 2.0), (6.0, 3.0), dashed=True)
    axis.text(6.15, 2.5, "held together by KL", va="center", fontsize=9)
    axis.plot([0.9, 0.9, 10.3, 10.3], [2.6, 4.1, 4.1, 2.0], color="0.6", linewidth=0.9, zorder=0)
    axis.text(8.9, 4.0, "x", fontsize=9, va="top", color="0.35")
    axis.set(xlim=(0.2, 13.5), ylim=(0.4, 4.4), aspect="equal")
    axis.axis("off")
    panels = below.subplots(1, 4)
    centre = toy.x[toy.truth == 0].mean(axis=0)
    inner = int(np.linalg.norm(toy.x - centre, axis=1).argmin())
    for where, one, (prior, posterior) in (("near the border", row, panels[:2]), ("well inside", inner, panels[2:])):
        simplex(prior, 1 + toy.npc.rho * said.belief[one], f"{where}: prior")
        k = int(toy.said.hard[one])
        simplex(posterior, concentration(toy.npc, toy.said[[one]], k), f"posterior, ŷ = {k}")
    return figure


def draw_calibration(toy: Toy, row: int) -> Figure:
    """p(ŷ | x) through H(x) to p(y | x) at one instance, and the plane before and after."""
    figure = Figure(figsize=(11, 7), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(0.75, 1))
    said, h, calibrated = above.subplots(1, 3)
    one = toy.said[[row]]
    (matrix,) = next(toy.npc.transition(one))
    bars(said, one.probs[0], "p(ŷ | x): what the classifier says")
    h.imshow(matrix, cmap="cividis", vmin=0, vmax=1)
    for (k, j), share in np.ndenumerate(matrix):
        h.text(j, k, f"{100 * share:.0f} %", ha="center", va="center", color="black" if share > 0.55 else "white")
    h.set(xticks=range(3), yticks=range(3), xlabel="true class y", ylabel="prediction ŷ")
    h.set_title("× H(x) = p(y | ŷ, x)", fontsize=11)
    bars(calibrated, toy.npc.calibrate(one)[0], "= p(y | x): calibrated")
    memorised, after, best = below.subplots(1, 3)
    _, where = lattice()
    before = tl.Predictions(features=where, probs=toy.forest.predict_proba(where))
    angle = np.pi / 2 + np.arange(3) * 2 * np.pi / 3
    centres = 1.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    squared = ((where[:, None] - centres) ** 2).sum(axis=2) / (2 * 0.72**2)
    ideal = np.exp(-squared - (-squared).max(axis=1, keepdims=True))
    ideal /= ideal.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(99)
    truth = rng.integers(3, size=20_000)
    fresh = centres[truth] + 0.72 * rng.normal(size=(20_000, 2))
    new = tl.Predictions(features=fresh, probs=toy.forest.predict_proba(fresh))
    distances = ((fresh[:, None] - centres) ** 2).sum(axis=2)
    answers = (new.hard, toy.npc.predict(new), distances.argmin(axis=1))
    titles = ("classifier", "after NPC", "best possible")
    maps = (before.probs, toy.npc.calibrate(before), ideal)
    for axis, title, probs, answer in zip((memorised, after, best), titles, maps, answers, strict=True):
        regions(axis, probs)
        plain(axis, f"{title}: {np.mean(answer == truth):.1%} of new instances right")
    return figure


def draw_digits(seed: int = 0) -> Figure:
    """The digits whose labels are most probably wrong."""
    data = tl.datasets.load("digits", seed=seed)
    noisy = tl.noise.InstanceDependent(0.4).corrupt(data.train, seed=seed)
    pixels = data.train.inputs.reshape(len(data.train), -1)
    forest = ExtraTreesClassifier(random_state=seed).fit(pixels, noisy.labels)
    said = tl.Predictions(features=pixels, probs=forest.predict_proba(pixels), labels=noisy.labels)
    found = tl.labels.examine(said, random_state=seed, progress=False)
    rows = found.ranked()
    shown = rows[np.linspace(0, len(rows) - 1, 24).astype(int)]
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    for axis, row in zip(figure.subplots(3, 8).flat, shown, strict=True):
        axis.imshow(data.train.inputs[row].reshape(8, 8), cmap="gray_r")
        right = found.suggested[row] == data.train.labels[row]
        mark = "" if right else f" (it is {data.train.labels[row]})"
        axis.set_title(
            f"{noisy.labels[row]} → {found.suggested[row]}{mark}\n{found.p_wrong[row]:.0%} wrong",
            fontsize=9,
            color="black" if right else OKABE_ITO[5],
        )
        axis.axis("off")
    good = np.mean(found.suggested[rows] == data.train.labels[rows])
    figure.suptitle(
        f"{len(rows)} of {len(said)} labels are suspected, {noisy.flipped.sum()} are wrong; "
        f"{good:.0%} of the suggestions are right",
        fontsize=11,
    )
    return figure


def main() -> None:
    """Write all figures, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "images")
    parser.add_argument("--only", nargs="*", help="noise prior transition autoencoder calibration digits")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    toy = make_toy()
    said = steps(toy)
    row = chosen_row(toy, said)
    made = {
        "noise": lambda: draw_noise(toy),
        "prior": lambda: draw_prior(toy, said, row),
        "transition": lambda: draw_transition(toy, said),
        "autoencoder": lambda: draw_autoencoder(toy, said, row),
        "calibration": lambda: draw_calibration(toy, row),
        "digits": draw_digits,
    }
    for name in asked.only or made:
        path = asked.out / f"how-{name}.png"
        made[name]().savefig(path, dpi=90, bbox_inches="tight", pad_inches=0.08, pil_kwargs={"optimize": True})
        print(path, f"{path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
