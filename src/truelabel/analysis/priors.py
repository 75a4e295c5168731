"""TOP-K priors side by side: how much of the neighbours' vote NPC's prior should keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truelabel.arrays import as_array
from truelabel.predictions import Predictions

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CLASSIFIER = "classifier"


def compare_priors(
    train: Predictions,
    test: Predictions,
    truth: Any,
    *,
    top_k: Sequence[int] = (1, 2, 3),
    seeds: Sequence[int] = (0,),
    recipe: Literal["default", "paper"] = "paper",
    **parameters: Any,
) -> pd.DataFrame:
    """Fit NPC with the one-hot prior and with TOP-K priors, and measure each on test instances.

    The one-hot prior puts ρ on the class with most votes; TOP-K gives the K classes with most votes ρ times their
    share of the votes (the paper's appendix on the flexibility of the prior). TOP-1 thus differs from one-hot by
    trusting a narrow majority less.

    Parameters
    ----------
    train, test : Predictions
        What the classifier said about its noisy training set, and about the instances to measure on.
    truth : (n,) array
        The true classes of the test instances.
    top_k : sequence of int, default (1, 2, 3)
        The K to compare.
    seeds : sequence of int, default (0,)
        Seeds of NPC.
    recipe : {"default", "paper"}, default "paper"
        NPC's recipe.
    **parameters
        Further parameters of NPC.

    Returns
    -------
    pandas.DataFrame
        A row a prior ("classifier" is what NPC started from) and a column a seed: test accuracy.
    """
    import pandas as pd

    from truelabel.calibrators import NPC

    answer = as_array(truth, "truth")
    if answer.shape != (len(test),):
        raise ValueError(f"truth has shape {answer.shape}, but test has {len(test)} instances; pass one class each.")
    wrong = [k for k in top_k if not 1 <= k <= train.n_classes]
    if wrong or len(set(top_k)) < len(top_k):
        raise ValueError(
            f"top_k must name different numbers from 1 to {train.n_classes}, the number of classes, not {list(top_k)}."
        )
    shapes: dict[str, dict[str, Any]] = {"one-hot": {"shape": "one-hot"}}
    shapes |= {f"TOP-{k}": {"shape": "top-k", "top_k": k} for k in top_k}
    rows = {CLASSIFIER: [float(np.mean(test.hard == answer))] * len(seeds)}
    for name, shape in shapes.items():
        fits = (NPC(recipe, random_state=seed, **shape, **parameters).fit(train) for seed in seeds)
        rows[name] = [float(np.mean(npc.predict(test) == answer)) for npc in fits]
    return pd.DataFrame.from_dict(rows, orient="index", columns=pd.Index(seeds, name="seed"))


def draw_priors(found: pd.DataFrame, title: str | None = None) -> Figure:
    """Draw the accuracy with each prior, a dot a seed and a bar at the mean, over that of the classifier."""
    from matplotlib.figure import Figure

    priors = found.drop(index=CLASSIFIER)
    figure = Figure(figsize=(1.1 * len(priors) + 2.4, 3.8), layout="constrained")
    axis = figure.subplots()
    low, high = 100 * float(priors.min().min()), 100 * float(priors.max().max())
    room = max(0.6 * (high - low), 1.0)
    axis.set_ylim(low - room, high + room)
    base = 100 * float(found.loc[CLASSIFIER].mean())
    off = "" if low - room < base < high + room else ", off the axis"
    axis.axhline(base, color="#555555", linestyle="--", label=f"classifier: {base:.1f}{off}")
    for place, (_, values) in enumerate(priors.iterrows()):
        spread = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else [0.0]
        mean = 100 * float(values.mean())
        axis.plot(place + np.asarray(spread), 100 * values.to_numpy(), "o", color="#0072B2", alpha=0.75)
        axis.plot([place - 0.28, place + 0.28], [mean, mean], color="#D55E00", linewidth=2)
        axis.annotate(f"{mean:.1f}", (place + 0.3, mean), (2, 0), textcoords="offset points", va="center")
    axis.set_xticks(range(len(priors)), list(priors.index))
    axis.set_xlim(-0.6, len(priors) - 0.2)
    axis.set_xlabel("prior")
    axis.set_ylabel("test accuracy (%)")
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", color="#DDDDDD")
    axis.set_axisbelow(True)
    axis.legend(frameon=False, loc="best")
    if title:
        figure.suptitle(title)
    return figure
