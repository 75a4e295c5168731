import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, special, stats
from torch.distributions import Dirichlet

from truelabel.calibrators.npc.dirichlet import (
    dirichlet_mode,
    expected_entropy,
    multi_gamma_kl,
    sample_exact,
    sample_inverse_cdf,
)

positive = st.floats(0.05, 60, allow_nan=False)


def double(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def gamma_kl_by_integration(q: float, p: float) -> float:
    """∫ Gamma(x; q) log(Gamma(x; q) / Gamma(x; p)) dx over x = e^t, where the integrand is smooth."""

    def integrand(t: float) -> float:
        x = np.exp(t)
        log_q = stats.gamma.logpdf(x, q)
        return np.exp(log_q + t) * (log_q - stats.gamma.logpdf(x, p))

    middle = np.log(q)
    return integrate.quad(integrand, middle - 60 / min(q, 1), middle + 6, points=[middle], limit=500)[0]


@pytest.mark.parametrize(("q", "p"), [(1.5, 1.5), (2.0, 1.1), (1.1, 6.1), (6.1, 1.1), (0.5, 3.0), (20.0, 4.0)])
def test_the_divergence_of_gammas_is_the_integral(q, p):
    assert float(multi_gamma_kl(double(q), double(p))) == pytest.approx(gamma_kl_by_integration(q, p), abs=1e-7)


def test_the_divergence_of_a_vector_is_the_sum_over_its_independent_gammas():
    q, p = double(1.2, 3.0, 7.5), double(6.1, 1.1, 1.1)
    expected = sum(gamma_kl_by_integration(float(a), float(b)) for a, b in zip(q, p, strict=True))
    assert float(multi_gamma_kl(q, p)) == pytest.approx(expected, abs=1e-6)


def test_the_divergence_bounds_that_of_the_dirichlets():
    """Dividing by the sum loses information, so it can only bring two distributions closer."""
    q, p = double(1.2, 3.0, 7.5), double(6.1, 1.1, 1.1)
    dirichlets = torch.distributions.kl_divergence(Dirichlet(q), Dirichlet(p))
    assert float(multi_gamma_kl(q, p)) > float(dirichlets) > 0


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=6))
@settings(max_examples=100, deadline=None)
def test_the_divergence_is_zero_at_equality_and_above_it_elsewhere(pairs):
    q, p = double(*(a for a, _ in pairs)), double(*(b for _, b in pairs))
    assert float(multi_gamma_kl(q, q)) == 0
    apart = max(abs(a - b) / max(a, b) for a, b in pairs)
    divergence = float(multi_gamma_kl(q, p))
    assert divergence >= -1e-12
    if apart > 0.01:
        assert divergence > 0


def test_the_divergence_has_the_gradient_of_finite_differences():
    q, p = double(1.2, 3.0, 7.5).requires_grad_(), double(6.1, 1.1, 1.1).requires_grad_()
    assert torch.autograd.gradcheck(multi_gamma_kl, (q, p))


@pytest.mark.parametrize("alpha", [(2.0, 3.0, 4.0), (1.1, 6.1, 1.1), (1.5, 40.0, 2.5)])
def test_the_mode_is_where_the_density_is_highest(alpha):
    def minus_log_density(free: np.ndarray) -> float:
        y = special.softmax(np.append(free, 0))
        return -float(special.xlogy(np.array(alpha) - 1, y).sum())

    found = optimize.minimize(minus_log_density, np.zeros(2), method="BFGS", options={"gtol": 1e-9})
    expected = special.softmax(np.append(found.x, 0))
    np.testing.assert_allclose(dirichlet_mode(double(*alpha)).numpy(), expected, atol=1e-6)


@given(st.lists(st.floats(1.001, 1000), min_size=2, max_size=8))
@settings(max_examples=50, deadline=None)
def test_the_mode_is_on_the_simplex(alpha):
    mode = dirichlet_mode(double(*alpha))
    assert float(mode.min()) > 0
    assert float(mode.sum()) == pytest.approx(1)


@pytest.mark.parametrize("alpha", [(1.1, 6.1, 1.1), (0.4, 0.3), (30.0, 20.0, 10.0, 1.0)])
def test_the_expected_entropy_is_the_mean_entropy_of_draws(alpha):
    entropies = stats.entropy(stats.dirichlet.rvs(alpha, size=40_000, random_state=0), axis=1)
    error = entropies.std() / np.sqrt(len(entropies))
    assert float(expected_entropy(double(*alpha))) == pytest.approx(entropies.mean(), abs=4 * error)


def test_the_expected_entropy_of_two_classes_is_an_integral_over_the_beta_density():
    a, b = 2.5, 1.3
    expected = stats.beta(a, b).expect(lambda y: special.entr(y) + special.entr(1 - y))
    assert float(expected_entropy(double(a, b))) == pytest.approx(expected, abs=1e-8)


def test_the_expected_entropy_reaches_from_almost_none_to_that_of_an_even_spread():
    assert float(expected_entropy(double(1e6, 1e-3, 1e-3))) < 1e-4
    assert float(expected_entropy(double(1e6, 1e6, 1e6))) == pytest.approx(np.log(3), abs=1e-5)


@pytest.mark.parametrize("alpha", [(1.1, 6.1, 1.1), (0.5, 2.0), (1.001, 1.001, 1.001, 8.0)])
def test_exact_draws_have_the_marginals_of_the_dirichlet(alpha):
    torch.manual_seed(0)
    draws = sample_exact(double(*alpha).expand(5_000, -1)).numpy()
    np.testing.assert_allclose(draws.sum(axis=1), 1)
    for k, a in enumerate(alpha):
        assert stats.kstest(draws[:, k], stats.beta(a, sum(alpha) - a).cdf).pvalue > 0.001
    covariance = stats.dirichlet.cov(alpha)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=5 * np.abs(covariance).max() / np.sqrt(5_000))


@pytest.mark.parametrize("alpha", [(1.1, 6.1, 1.1), (2.0, 3.0)])
def test_exact_draws_carry_the_gradient_of_their_mean(alpha):
    """∂E[y_j]/∂α_k = (1[j = k] α₀ − α_j) / α₀²; of E[y_0²] the derivative is taken by finite differences."""
    torch.manual_seed(0)
    draws = 60_000
    concentration = double(*alpha).requires_grad_()
    total = sum(alpha)
    sampled = sample_exact(concentration.expand(draws, -1))
    (of_mean,) = torch.autograd.grad(sampled[:, 0].mean(), concentration, retain_graph=True)
    (of_square,) = torch.autograd.grad(sampled[:, 0].square().mean(), concentration)
    for k in range(len(alpha)):
        assert float(of_mean[k]) == pytest.approx(((k == 0) * total - alpha[0]) / total**2, abs=3e-3)

        def second_moment(step: float, k: int = k) -> float:
            moved = np.array(alpha)
            moved[k] += step
            return float(stats.beta.moment(2, moved[0], moved.sum() - moved[0]))

        slope = (second_moment(1e-4) - second_moment(-1e-4)) / 2e-4
        assert float(of_square[k]) == pytest.approx(slope, abs=3e-3)


def inverse_cdf_at(u: float, alpha: float, monkeypatch: pytest.MonkeyPatch) -> float:
    with monkeypatch.context() as patch:
        patch.setattr(torch, "rand_like", lambda like: torch.full_like(like, u))
        return float(sample_inverse_cdf(double(alpha)))


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("u", [1e-4, 1e-3, 0.01])
def test_the_inverse_cdf_is_the_gamma_quantile_where_it_is_valid(alpha, u, monkeypatch):
    assert inverse_cdf_at(u, alpha, monkeypatch) == pytest.approx(stats.gamma.ppf(u, alpha), rel=0.01)


@pytest.mark.parametrize(("alpha", "median", "true"), [(2.0, 1.00, 1.68), (6.0, 2.67, 5.67), (6.1, 2.71, 5.77)])
def test_the_inverse_cdf_is_too_small_above_one_by_what_the_docs_say(alpha, median, true, monkeypatch):
    assert inverse_cdf_at(0.5, alpha, monkeypatch) == pytest.approx(median, abs=0.005)
    assert stats.gamma.ppf(0.5, alpha) == pytest.approx(true, abs=0.005)
    torch.manual_seed(0)
    drawn = sample_inverse_cdf(double(alpha).expand(40_000))
    assert float(drawn.median()) == pytest.approx(median, abs=0.03)


def test_the_inverse_cdf_falls_further_behind_the_further_out_it_is_asked(monkeypatch):
    ratios = [inverse_cdf_at(u, 6.0, monkeypatch) / stats.gamma.ppf(u, 6.0) for u in (1e-6, 0.01, 0.5, 0.99)]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] > 0.9
    assert ratios[-1] < 0.25


def test_the_inverse_cdf_has_the_gradient_of_finite_differences(monkeypatch):
    monkeypatch.setattr(torch, "rand_like", lambda like: torch.linspace(0.1, 0.9, len(like), dtype=like.dtype))
    assert torch.autograd.gradcheck(sample_inverse_cdf, double(0.5, 1.1, 3.0, 6.1).requires_grad_())


def test_the_inverse_cdf_stays_finite_when_the_uniform_draw_is_zero(monkeypatch):
    monkeypatch.setattr(torch, "rand_like", torch.zeros_like)
    assert torch.isfinite(sample_inverse_cdf(torch.tensor([0.5, 1.1, 6.1]))).all()
