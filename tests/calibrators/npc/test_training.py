import numpy as np
import pytest
import torch
from scipy.special import digamma, expit, gammaln
from torch import nn

from truelabel.calibrators.npc.dirichlet import SAMPLERS
from truelabel.calibrators.npc.model import DirichletVAE
from truelabel.calibrators.npc.training import Concentrations, negative_elbo, train
from truelabel.calibrators.npc.trunk import Source
from truelabel.progress import Progress

SHARES = torch.tensor([[0.5, 0.1, 0.4], [0.2, 0.7, 0.1]])


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("one-hot", [[6.0, 1.0, 1.0], [1.0, 6.0, 1.0]]),
        ("top-k", [[3.5, 1.0, 3.0], [2.0, 4.5, 1.0]]),
        ("shares", [[3.5, 1.5, 3.0], [2.0, 4.5, 1.5]]),
    ],
)
def test_a_belief_becomes_concentrations(shape, expected):
    torch.testing.assert_close(Concentrations(shape, 2, rho=5, base=1)(SHARES), torch.tensor(expected))


def test_delta_and_the_offset_of_the_released_experiments_are_the_base():
    found = Concentrations("one-hot", 2, rho=4, base=1.5 + 1 / 3)(SHARES)
    torch.testing.assert_close(found[0], torch.tensor([5.5 + 1 / 3, 1.5 + 1 / 3, 1.5 + 1 / 3]))


def test_top_k_of_all_classes_is_the_shares():
    torch.testing.assert_close(Concentrations("top-k", 9, 5, 1)(SHARES), Concentrations("shares", 2, 5, 1)(SHARES))


@pytest.mark.parametrize("beta", [1.0, 0.25])
def test_the_bound_is_the_papers_equation_written_out(beta):
    """ELBO = Σ ŷ log ŷ* + (1 − ŷ) log(1 − ŷ*) − Σ log Γ(α) + Σ log Γ(α̂) − Σ (α̂ − α) ψ(α̂), for two instances."""
    vae = DirichletVAE(nn.Identity(), 1, 2)
    with torch.no_grad():
        vae.encoder.weight.copy_(torch.tensor([[0.5, 1.0, -1.0], [-0.5, 0.0, 2.0]]))
        vae.encoder.bias.copy_(torch.tensor([0.1, -0.2]))
        vae.decoder.weight.copy_(torch.tensor([[1.0, 3.0, -1.0], [0.0, -2.0, 0.5]]))
        vae.decoder.bias.copy_(torch.tensor([-0.3, 0.4]))
    x, predicted, alpha = np.array([2.0, -1.0]), [1, 0], np.array([[1.5, 6.5], [6.5, 1.5]])
    drawn = np.array([[0.3, 0.7], [0.9, 0.1]])

    elbos = []
    for i in range(2):
        one_hot = np.eye(2)[predicted[i]]
        activation = np.array(
            [
                0.5 * x[i] + 1.0 * one_hot[0] - 1.0 * one_hot[1] + 0.1,
                -0.5 * x[i] + 0.0 * one_hot[0] + 2.0 * one_hot[1] - 0.2,
            ]
        )
        posterior = np.log1p(np.exp(activation)) + 1 + 1 / 2
        rebuilt = expit(
            [
                1.0 * x[i] + 3.0 * drawn[i, 0] - 1.0 * drawn[i, 1] - 0.3,
                0.0 * x[i] - 2.0 * drawn[i, 0] + 0.5 * drawn[i, 1] + 0.4,
            ]
        )
        likelihood = (one_hot * np.log(rebuilt) + (1 - one_hot) * np.log(1 - rebuilt)).sum()
        divergence = (gammaln(alpha[i]) - gammaln(posterior) + (posterior - alpha[i]) * digamma(posterior)).sum()
        elbos.append(likelihood - beta * divergence)

    found = negative_elbo(
        vae,
        torch.tensor(x, dtype=torch.float32)[:, None],
        torch.eye(2)[predicted],
        torch.tensor(predicted),
        torch.tensor(alpha, dtype=torch.float32),
        beta=beta,
        sampler=lambda _: torch.tensor(drawn, dtype=torch.float32),
    )
    assert float(found.detach()) == pytest.approx(-np.mean(elbos), rel=1e-5)


def run_training(said, shares, *, draw=False, epochs=4, sampler="exact", seed=0, **settings):
    torch.manual_seed(seed)
    vae = settings.pop("vae", None) or DirichletVAE(nn.Linear(said.views["features"].shape[1], 8), 8, said.n_classes)
    history = train(
        vae,
        Source(said, ["features"]),
        said,
        shares,
        Concentrations("shares", 2, 5.0, vae.offset),
        **(
            {
                "beta": 1.0,
                "sampler": sampler,
                "draw_predictions": draw,
                "epochs": epochs,
                "batch_size": 50,
                "learning_rate": 1e-2,
                "decay": False,
                "own_word": 1.0,
                "device": torch.device("cpu"),
                "progress": Progress(False),
            }
            | settings
        ),
    )
    return vae, history


@pytest.mark.parametrize("sampler", list(SAMPLERS))
def test_training_lowers_the_loss(problem, sampler):
    made = problem()
    vae, history = run_training(made.said, np.eye(3, dtype=np.float32)[made.truth], sampler=sampler, epochs=12)
    assert len(history) == 12
    assert np.isfinite(history).all()
    assert history[-1] < 0.7 * history[0]
    assert not vae.training


def test_a_heavy_divergence_term_makes_the_posterior_the_prior(problem):
    """With β → ∞ only the KL is left, whose minimum is α̂ = α: H becomes the mode of the prior."""
    made = problem(n=200)
    shares = np.array([[0.8, 0.2, 0.0], [0.0, 0.8, 0.2], [0.2, 0.0, 0.8]], dtype=np.float32)[made.truth]
    vae, _ = run_training(made.said, shares, beta=100.0, epochs=80)
    x, probs = torch.from_numpy(made.x), torch.from_numpy(made.said.probs)
    transition = vae.transition(x, probs).detach().numpy()
    for y in range(3):
        expected = (1 / 3 + 5 * shares[made.truth == y][0]) / 6
        np.testing.assert_allclose(transition[made.truth == y].mean(axis=0), np.tile(expected, (3, 1)), atol=0.05)


@pytest.mark.parametrize("own_word", [1.0, 0.25, 0.0])
def test_reliance_learns_four_times_as_fast_as_the_rest_where_its_word_is_the_classifiers_own(problem, own_word):
    """Adam's first step moves every parameter that has a gradient by its learning rate."""
    made = problem(n=200)
    torch.manual_seed(0)
    vae = DirichletVAE(nn.Linear(4, 8), 8, 3, link="exp", reliance=0.5)
    before = {name: value.detach().clone() for name, value in vae.named_parameters()}
    shares = np.eye(3, dtype=np.float32)[made.truth]
    run_training(made.said, shares, vae=vae, epochs=1, batch_size=200, learning_rate=1e-3, own_word=own_word)
    moved = {name: float((value.detach() - before[name]).abs().max()) for name, value in vae.named_parameters()}
    assert moved.pop("reliance") == pytest.approx(4e-3 * own_word, rel=0.01)
    assert moved == pytest.approx(dict.fromkeys(moved, 1e-3), rel=0.01)


@pytest.mark.parametrize(("decay", "rates"), [(True, [1, 0.75, 0.5, 0.25]), (False, [1, 1, 1, 1])])
def test_the_learning_rate_falls_in_a_straight_line_or_not_at_all(problem, monkeypatch, decay, rates):
    made, seen = problem(n=200), []

    class Adam(torch.optim.Adam):
        def step(self, *args):
            seen.append([group["lr"] for group in self.param_groups])
            return super().step(*args)

    monkeypatch.setattr(torch.optim, "Adam", Adam)
    shares = np.eye(3, dtype=np.float32)[made.truth]
    run_training(made.said, shares, epochs=2, batch_size=100, learning_rate=1e-3, decay=decay)
    np.testing.assert_allclose(seen, np.outer(rates, [1e-3, 4e-3]))


def test_reliance_on_nothing_is_not_learned(problem):
    made = problem(n=100)
    vae = DirichletVAE(nn.Linear(4, 8), 8, 3, link="exp", reliance=0.0)
    run_training(made.said, np.eye(3, dtype=np.float32)[made.truth], vae=vae, epochs=2)
    assert vae.reliance.item() == 0


def test_predictions_are_the_classifiers_or_drawn_from_its_probabilities(problem, monkeypatch):
    made = problem(n=400, probs=np.tile(np.array([0.5, 0.3, 0.2], dtype=np.float32), (400, 1)))
    seen: list[torch.Tensor] = []

    def spying(self, x, probs, predicted, sampler, forward=DirichletVAE.forward):
        seen.append(predicted)
        return forward(self, x, probs, predicted, sampler)

    monkeypatch.setattr(DirichletVAE, "forward", spying)
    shares = np.full((400, 3), 1 / 3, dtype=np.float32)
    run_training(made.said, shares, draw=False, epochs=1)
    assert torch.cat(seen).tolist() == [0] * 400
    seen.clear()
    run_training(made.said, shares, draw=True, epochs=10)
    counts = torch.bincount(torch.cat(seen), minlength=3) / 4000
    np.testing.assert_allclose(counts, [0.5, 0.3, 0.2], atol=0.04)
