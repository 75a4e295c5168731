"""The start of the default recipe's network is a pool of heads and classifier, before any training."""

import numpy as np
import pytest
import torch
from scipy.special import softmax

from truelabel import NPC, Predictions
from truelabel.calibrators.npc.model import DirichletVAE
from truelabel.calibrators.npc.trunk import array_trunk, headed_trunk, standardise
from truelabel.experts.heads import FoldHeads
from truelabel.scale import Scale, moments

C = 4
RNG = np.random.default_rng(0)
VIEWS = {
    "a": (RNG.normal(size=(60, 5)) * [1, 3, 0.2, 1, 7] + 2).astype(np.float32),
    "b": (RNG.normal(size=(60, 3)) - 1).astype(np.float32),
}
PROBS = RNG.dirichlet(np.ones(C), size=60).astype(np.float32)


def random_heads(folds: int, width: int, hidden: int) -> FoldHeads:
    torch.manual_seed(width)
    heads = FoldHeads(folds, width, hidden, C)
    with torch.no_grad():
        for parameter in heads.parameters():
            parameter.normal_()
    return heads


def mean_logits(heads: FoldHeads, x: np.ndarray) -> np.ndarray:
    """The heads' logits one fold after the other, in float64."""
    first, bias, last, last_bias = (p.detach().numpy().astype(float) for p in heads.parameters())
    each = [np.maximum(x @ first[f] + bias[f], 0) @ last[f] + last_bias[f] for f in range(len(first))]
    return np.mean(each, axis=0)


def pooled(start, scales, views, probs, reliance):
    """softmax(Σ_v weight_v · mean over folds of the head's logits + reliance · log p)."""
    logits = reliance * np.log(np.maximum(probs.astype(float), 1e-6))
    for name, (heads, weight) in start.items():
        scale = scales[name]
        logits = logits + weight * mean_logits(heads, (views[name].astype(float) - scale.mean) / scale.divisor)
    return softmax(logits, axis=1)


@pytest.mark.parametrize("kinds", ["whole unit", "unit whole", "unit unit", "columns unit"])
def test_the_layer_brings_each_view_to_its_own_scale(kinds):
    scales = {
        name: Scale(kind, *moments(view)) for (name, view), kind in zip(VIEWS.items(), kinds.split(), strict=True)
    }
    x = torch.from_numpy(np.concatenate(list(VIEWS.values()), axis=1))
    expected = np.concatenate([scales[name](view) for name, view in VIEWS.items()], axis=1)
    np.testing.assert_allclose(standardise(VIEWS, scales)(x).numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reliance", [0.0, 0.6])
@pytest.mark.parametrize("used", [["a"], ["b"], ["a", "b"], ["b", "a"]], ids="".join)
def test_the_untrained_network_pools_the_heads_and_the_classifier(used, reliance):
    views = {name: VIEWS[name] for name in used}
    scales = {name: Scale(kind, *moments(VIEWS[name])) for name, kind in {"a": "columns", "b": "whole"}.items()}
    every = {"a": (random_heads(5, 5, 6), 0.7), "b": (random_heads(2, 3, 8), 0.4)}
    start = {name: every[name] for name in used}
    trunk, weight, bias = headed_trunk(standardise(views, scales), start)
    vae = DirichletVAE(trunk, weight.shape[1], C, link="exp", reliance=reliance)
    vae.start_from(weight, bias)
    x = torch.from_numpy(np.concatenate(list(views.values()), axis=1))
    with torch.no_grad():
        found = vae.calibrate(x, torch.from_numpy(PROBS)).numpy()
    np.testing.assert_allclose(found, pooled(start, scales, VIEWS, PROBS, reliance), atol=2e-5)
    assert found.max(axis=1).std() > 0.05


def test_all_of_the_start_can_be_trained():
    heads = random_heads(5, 5, 6)
    trunk, weight, bias = headed_trunk(standardise({"a": VIEWS["a"]}, {}), {"a": (heads, 1.0)})
    vae = DirichletVAE(trunk, weight.shape[1], C, link="exp", reliance=0.5)
    vae.start_from(weight, bias)
    vae.calibrate(torch.from_numpy(VIEWS["a"]), torch.from_numpy(PROBS))[:, 0].sum().backward()
    assert {name for name, p in vae.named_parameters() if p.grad is not None and (p.grad != 0).any()} == {
        "trunk.1.weight",
        "trunk.1.bias",
        "encoder.weight",
        "encoder.bias",
        "reliance",
    }
    assert all(parameter.grad is None for parameter in heads.parameters())


@pytest.mark.parametrize("used", [["both"], ["row", "column"]], ids=["one view", "two views"])
def test_before_training_the_calibrator_is_the_priors_pool(used):
    """Steps of 1e-30 change no float32, so what is left is the start. Rows and columns know a bit of the class each."""
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=200)
    noisy = np.where(rng.random(200) < 0.2, rng.integers(4, size=200), truth)
    honest = np.where(rng.random(200) < 0.2, rng.integers(4, size=200), truth)
    bits = {"row": truth % 2, "column": truth // 2}
    views = {name: rng.normal(size=(200, 2)) + 1.5 * bit[:, None] for name, bit in bits.items()}
    views["both"] = np.concatenate(list(views.values()), axis=1)
    said = Predictions(0.1 + 0.6 * np.eye(4)[honest], {name: views[name] for name in used}, labels=noisy)
    npc = NPC(random_state=0, epochs=1, learning_rate=1e-30).fit(said)
    belief = npc.belief_
    assert npc.reads_ == list(belief.start) == used
    assert belief.reliance > 0.1
    assert all(weight > 0.1 for _, weight in belief.start.values())
    expected = pooled(belief.start, belief.scales, said.views, said.probs, belief.reliance)
    np.testing.assert_allclose(npc.calibrate(said), expected, atol=2e-5)


def test_a_trunk_on_arrays_is_as_wide_as_its_last_layer():
    scale = standardise(VIEWS, {"b": Scale("whole", *moments(VIEWS["b"]))})
    x = np.concatenate(list(VIEWS.values()), axis=1)
    to_scale = scale(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(to_scale[:, :5].std(axis=0), 1, rtol=1e-4)
    np.testing.assert_allclose(np.square(to_scale[:, 5:]).mean(), 1, rtol=1e-4)
    assert np.ptp(to_scale[:, 5:].std(axis=0)) > 0.01
    for hidden, width in (((), C), ((7,), 7), ((7, 9), 9)):
        trunk, found = array_trunk(scale, C, hidden)
        assert found == width
        assert trunk(torch.from_numpy(x)).shape == (60, width)
