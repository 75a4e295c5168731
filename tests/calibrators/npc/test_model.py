import numpy as np
import pytest
import torch
from torch import nn

from truelabel.calibrators.npc.dirichlet import dirichlet_mode
from truelabel.calibrators.npc.model import DirichletVAE, Standardise
from truelabel.calibrators.npc.training import negative_elbo

LINKS = ["softplus", "exp"]


def made(link: str, c: int = 4, d: int = 3, *, reliance: float = 0.0, spread: float = 1.0, seed: int = 0):
    """A network with weights of about `spread`, rows x of width d and probabilities."""
    torch.manual_seed(seed)
    vae = DirichletVAE(nn.Identity(), d, c, link=link, reliance=reliance)
    with torch.no_grad():
        vae.encoder.weight.normal_(0, spread)
        vae.decoder.weight.normal_(0, spread)
    return vae, torch.randn(11, d), torch.randn(11, c).softmax(1)


def encoded(vae: DirichletVAE, x: torch.Tensor, probs: torch.Tensor, k: int) -> torch.Tensor:
    """α̂(x, ŷ = k) from the encoder applied to [f(x); onehot(k)]: the paper's link, or Bayes' rule of weight ρ = 5."""
    c = probs.shape[1]
    one_hot = torch.eye(c, dtype=x.dtype)[k].expand(len(x), c)
    activations = vae.encoder(torch.cat([vae.trunk(x), one_hot], 1))
    if vae.link == "softplus":
        return torch.log1p(activations.exp()) + 1 + 1 / c
    odds = activations.exp() * probs**vae.reliance
    return 5 * odds / odds.sum(1, keepdim=True) + 1


@torch.no_grad()
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("c", [2, 4, 1000])
def test_calibrating_is_the_sum_over_c_passes_with_one_hot_predictions(link, c):
    vae, x, probs = made(link, c, reliance=0.5 if link == "exp" else 0.0)
    x, probs = x[:2], probs[:2]
    expected = sum(probs[:, k : k + 1] * dirichlet_mode(encoded(vae, x, probs, k).double()) for k in range(c))
    calibrated = vae.calibrate(x, probs)
    torch.testing.assert_close(calibrated.double(), expected, atol=2e-6, rtol=1e-3)
    torch.testing.assert_close(calibrated.sum(1), torch.ones(2))


@pytest.mark.parametrize("link", LINKS)
def test_row_k_of_the_transition_is_the_mode_of_the_posterior_given_class_k(link):
    vae, x, probs = made(link, reliance=0.5 if link == "exp" else 0.0)
    transition = vae.transition(x, probs)
    for k in range(4):
        torch.testing.assert_close(transition[:, k], dirichlet_mode(encoded(vae, x, probs, k)))
        concentration, mode = vae.posterior(x, probs, torch.full((len(x),), k))
        torch.testing.assert_close(concentration, encoded(vae, x, probs, k))
        torch.testing.assert_close(mode, transition[:, k])


@torch.no_grad()
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("c", [2, 4, 1000])
def test_rows_of_the_transition_are_on_the_simplex(link, c):
    vae, x, probs = made(link, c, spread=3)
    transition = vae.transition(x[:2], probs[:2])
    assert transition.shape == (2, c, c)
    assert float(transition.min()) >= 0
    torch.testing.assert_close(transition.sum(-1), torch.ones(2, c))


def test_concentrations_of_the_paper_are_at_least_its_offset():
    vae, x, probs = made("softplus", spread=50)
    concentration, _ = vae.posterior(x, probs, probs.argmax(1))
    assert float(concentration.detach().min()) == pytest.approx(1 + 1 / 4)
    assert vae.offset == 1.25
    assert made("exp")[0].offset == 1


@pytest.mark.parametrize("c", [10, 300])
@pytest.mark.parametrize("cut", [1e-6, 1e-2, 0.3])
def test_leaving_out_improbable_classes_moves_no_entry_by_more_than_twice_the_cut(c, cut):
    vae, x, _ = made("softplus", c)
    probs = (8 * torch.randn(11, c)).softmax(1)
    whole = vae.calibrate(x, probs)
    short = vae.calibrate(x, probs, cut=cut)
    assert float((whole - short).detach().abs().max()) <= 2 * cut + 1e-6
    torch.testing.assert_close(short.sum(1), torch.ones(11))


def test_the_cut_does_leave_classes_out():
    vae, x, _ = made("softplus", 10)
    vae._rows = lambda activations, per_class, rows=vae._rows: (
        seen.append(per_class.shape) or rows(activations, per_class)
    )
    seen: list[torch.Size] = []
    vae.calibrate(x, torch.eye(10)[torch.arange(11) % 10] * 0.98 + 0.002, cut=0.05)
    assert seen == [(11, 1, 10)]


@pytest.mark.parametrize("link", LINKS)
def test_far_away_inputs_give_finite_probabilities(link):
    vae, x, probs = made(link)
    for far in (1e4, -1e4):
        calibrated = vae.calibrate(x * far, probs)
        assert torch.isfinite(calibrated).all()
        torch.testing.assert_close(calibrated.sum(1), torch.ones(11))
        torch.testing.assert_close(vae.transition(x * far, probs).sum(-1), torch.ones(11, 4))
        concentration, mode = vae.posterior(x * far, probs, probs.argmax(1))
        assert torch.isfinite(concentration).all()
        torch.testing.assert_close(mode.sum(1), torch.ones(11))


def test_the_posteriors_mode_is_the_row_of_h_where_concentrations_are_one_to_rounding():
    vae, x, probs = made("exp")
    with torch.no_grad():
        vae.encoder.weight[:2, -4:] -= 40
    concentration, mode = vae.posterior(x, probs, torch.zeros(11, dtype=torch.long))
    assert (concentration[:, :2] == 1).all()
    torch.testing.assert_close(mode, vae.transition(x, probs)[:, 0])


def test_the_untrained_network_that_relies_on_the_classifier_is_the_classifier():
    torch.manual_seed(0)
    vae = DirichletVAE(nn.Identity(), 3, 5, link="exp", reliance=1.0)
    x, probs = torch.randn(50, 3), (3 * torch.randn(50, 5)).softmax(1)
    torch.testing.assert_close(vae.calibrate(x, probs), probs, atol=0.01, rtol=0)
    concentration, _ = vae.posterior(x, probs, probs.argmax(1))
    torch.testing.assert_close((concentration - 1).sum(1), torch.full((50,), 5.0), atol=0.15, rtol=0)


def test_the_untrained_network_that_relies_on_nothing_knows_nothing():
    torch.manual_seed(0)
    vae = DirichletVAE(nn.Identity(), 3, 5, link="exp", reliance=0.0, strength=7)
    x, probs = torch.randn(50, 3), (3 * torch.randn(50, 5)).softmax(1)
    torch.testing.assert_close(vae.calibrate(x, probs), torch.full((50, 5), 0.2), atol=0.01, rtol=0)
    concentration, _ = vae.posterior(x, probs, probs.argmax(1))
    torch.testing.assert_close((concentration - 1).sum(1), torch.full((50,), 7.0), atol=0.2, rtol=0)


def test_concentrations_have_the_priors_weight_whatever_the_features_say():
    """As long as ŷ makes no difference; the weights on f(x) are large here."""
    vae, x, probs = made("exp", reliance=0.7, spread=3)
    with torch.no_grad():
        vae.encoder.weight[:, -4:] = 0
    concentration, mode = vae.posterior(x, probs, probs.argmax(1))
    torch.testing.assert_close((concentration - 1).sum(1), torch.full((11,), 5.0))
    torch.testing.assert_close(mode, (concentration - 1) / 5)


def test_a_start_sets_what_the_encoder_makes_of_the_features_and_nothing_else():
    vae, x, probs = made("exp", reliance=0.5)
    on_class = vae.encoder.weight[:, -4:].clone()
    decoder = vae.decoder.weight.clone()
    weight, bias = torch.randn(4, 3), torch.randn(4)
    vae.start_from(weight, bias)
    assert torch.equal(vae.encoder.weight[:, -4:], on_class)
    assert torch.equal(vae.decoder.weight, decoder)
    expected = (x @ weight.T + bias + on_class.T[2] + 0.5 * probs.log()).softmax(1)
    torch.testing.assert_close(vae.transition(x, probs)[:, 2], expected)
    vae.calibrate(x, probs)[:, 0].sum().backward()
    assert (vae.encoder.weight.grad[:, :3] != 0).any()


def test_reliance_is_learned_only_where_there_is_some():
    for reliance in (0.0, 0.4):
        vae, x, probs = made("exp", reliance=reliance)
        vae.calibrate(x, probs)[:, 0].sum().backward()
        assert (vae.reliance.grad is not None) == (reliance > 0)


def test_a_class_of_probability_zero_does_not_break_the_logarithm():
    vae, x, _ = made("exp", reliance=1.0)
    probs = torch.eye(4)[torch.arange(11) % 4]
    assert torch.isfinite(vae.calibrate(x, probs)).all()


@pytest.mark.parametrize("link", LINKS)
def test_the_bounds_gradient_is_that_of_finite_differences(link):
    """In float64, with one fixed reparameterised draw in place of the random one."""
    vae, x, probs = made(link, spread=0.5, reliance=0.3 if link == "exp" else 0.0)
    vae, x, probs = vae.double(), x[:5].double(), probs[:5].double()
    predicted = probs.argmax(1)
    prior = 1 + 5 * probs.flip(1)
    fixed = torch.rand(5, 4, dtype=torch.float64) + 0.5

    def loss() -> torch.Tensor:
        return negative_elbo(
            vae,
            x,
            probs,
            predicted,
            prior,
            beta=0.7,
            sampler=lambda alpha: (alpha * fixed) / (alpha * fixed).sum(1, True),
        )

    loss().backward()
    for parameter in vae.parameters():
        if not parameter.requires_grad:
            continue
        flat, gradient = parameter.data.view(-1), parameter.grad.view(-1)
        for i in range(0, len(flat), 3):
            start = float(flat[i])
            around = []
            for step in (1e-6, -1e-6):
                flat[i] = start + step
                around.append(float(loss().detach()))
            flat[i] = start
            assert float(gradient[i]) == pytest.approx((around[0] - around[1]) / 2e-6, rel=1e-5, abs=1e-7)


def test_standardising_is_part_of_the_networks_saved_state():
    layer = Standardise(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0]))
    np.testing.assert_allclose(layer(torch.tensor([[3.0, 2.0]])), [[1.0, 0.0]])
    assert set(layer.state_dict()) == {"mean", "scale"}


def test_the_class_that_is_named_is_evidence_which_settles_in_u():
    torch.manual_seed(0)
    named = -3.0 * (1 - torch.eye(4))
    vae = DirichletVAE(nn.Identity(), 3, 4, link="exp", reliance=0.5, named=named)
    x, probs = torch.randn(20, 3), torch.randn(20, 4).softmax(1)
    before = vae.transition(x, probs)
    torch.testing.assert_close(before[0], (0.5 * named).softmax(1), atol=0.02, rtol=0)
    torch.testing.assert_close(before, vae.transition(x, probs.flip(1)))  # how sure the classifier is says nothing
    vae.settle()
    assert vae.reliance == 0
    torch.testing.assert_close(vae.transition(x, probs), before)
