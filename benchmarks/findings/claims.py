"""The claims of the paper: what it says, where, and what decides it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from findings import printed
from findings.judging import (
    HOLDS,
    PARTLY,
    Finding,
    Size,
    asks_for_no_rate,
    best_of,
    by_kind,
    every_method_gains,
    flatter_is_better,
    least_error_of_t,
    listed,
    most_under_idn,
    nearer_the_truth,
    nearly_all_gain,
    net_gain,
    one_round_is_enough,
    quicker,
    with_resnet,
)


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


CLAIMS = (
    Claim(
        "NPC improves nearly every classifier under nearly every noise",
        "Table 1, section 4.2",
        "of 351 cells 341 are improved with significance.",
        lambda: printed.counted(printed.gains().values()),
        "paper-table1",
        nearly_all_gain,
    ),
    Claim(
        "It boosts every training method",
        "abstract, Table 1",
        "the performance of all baseline models is boosted.",
        printed.by_method,
        "paper-table1",
        every_method_gains,
    ),
    Claim(
        "It improves classifiers of clean labels, too",
        "section 4.2",
        "clean cases are consistently enhanced.",
        lambda: printed.counted(gain for key, gain in printed.gains().items() if key[1] == "clean"),
        "paper-table1",
        lambda size, recipe: nearly_all_gain(size, recipe, condition="clean"),
    ),
    Claim(
        "It gains most under instance-dependent noise",
        "section 4.2",
        "performance under instance-dependent noise is impressive; the figures are mean gains by kind of noise.",
        lambda: listed(by_kind((key[1], gain) for key, gain in printed.gains().items())),
        "paper-table1",
        most_under_idn,
    ),
    Claim(
        "MNIST under all noise conditions",
        "appendix, table of MNIST",
        "NPC improves nearly every cell.",
        lambda: printed.counted(printed.gains("mnist").values()),
        "paper-mnist",
        lambda size, recipe: nearly_all_gain(size, recipe, dataset="mnist"),
    ),
    Claim(
        "CIFAR-10",
        "Table 1",
        "NPC improves nearly every cell.",
        lambda: printed.counted(printed.gains("cifar10").values()),
        "paper-table1",
        lambda size, recipe: nearly_all_gain(size, recipe, dataset="cifar10"),
    ),
    Claim(
        "It needs to know neither rate nor kind of the noise",
        "sections 1 and 4.2",
        "NPC works without access to the noise ratio.",
        lambda: "–",
        evidence=asks_for_no_rate(),
    ),
    Claim(
        "Food-101 and Clothing1M",
        "table of real datasets",
        "13 of 16 cells are improved with significance.",
        printed.real_mistakes,
        "paper-real",
        lambda size, recipe: nearly_all_gain(size, recipe, dataset="food101 clothing1m"),
    ),
    Claim(
        "y* is nearer the truth than ŷ",
        "figure of t-SNE and confusion matrices",
        "MNIST, 40 % instance-dependent noise: ŷ is right for more than 60 %, and y* more often. The picture itself is "
        "`truelabel analyse embedding` and `confusion`.",
        printed.confusion,
        "paper-mnist",
        nearer_the_truth,
    ),
    Claim(
        "NPC is better than k-NN and RoG",
        "figure of post-processors",
        "NPC beats its own prior and RoG on several baselines.",
        printed.post_processors,
        "paper-post-processors",
        lambda size, recipe: best_of(size, recipe, ("knn-paper", "rog")),
    ),
    Claim(
        "NPC is better than label correction as a post-processor",
        "table of label correction",
        "after Co-teaching, NPC beats LRT*, MLC* and CausalNL*.",
        printed.label_correction,
        "paper-label-correction",
        lambda size, recipe: best_of(size, recipe, ("lrt", "mlc", "causalnl"), method="coteaching"),
    ),
    Claim(
        "NPC corrects with care, CausalNL* takes risks",
        "Venn diagram and its table",
        "training instances by region, CIFAR-10 with 20 % symmetric noise; net is {(b) + (f)} − {(d) + (h)}.",
        printed.venn,
        "paper-gains",
        net_gain,
    ),
    Claim(
        "T from H has the least error",
        "figure and table of transition matrices",
        "CIFAR-10: least under 40 % instance-dependent noise, elsewhere as good as the others.",
        printed.transitions,
        "paper-transitions",
        least_error_of_t,
    ),
    Claim(
        "A flatter prior helps under severe, asymmetric and instance-dependent noise",
        "appendix on priors",
        "TOP2 tends to be better there.",
        printed.priors,
        "paper-priors",
        flatter_is_better,
        by_recipe=False,
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
        printed.causalnl,
        "paper-causalnl",
        with_resnet,
    ),
    Claim(
        "H takes less time than T",
        "appendix on time",
        "MNIST, 20 % instance-dependent noise. Holds here if NPC and the training of its classifier together take less "
        "than each of the others, in part if NPC alone does.",
        printed.seconds,
        "paper-time",
        quicker,
    ),
    Claim(
        "NPC looks at the object, CausalNL at the whole image",
        "figure of Grad-CAM",
        "Food-101. Records cannot decide it: it takes the images, a ResNet-50 of each kind, and people who look; "
        "`truelabel analyse gradcam` draws the maps.",
        lambda: "a figure without numbers",
    ),
    Claim(
        "It finds doubtful test labels of MNIST and Fashion-MNIST",
        "section on benchmarks",
        "20 examples, picked by people out of the 50 surest. What is doubtful is for people to say, not for records; "
        "`truelabel analyse suspicious` shows them, and [a page](analyses.md#suspicious-labels-of-benchmarks) ours.",
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
            "that of the gamma variables, which is another number than that of the Dirichlet distributions; they are "
            "compared with integrals and with `torch.distributions` in `tests/calibrators/npc/test_dirichlet.py`",
            PARTLY,
        ),
    ),
)
