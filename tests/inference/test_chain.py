"""The chain of truncated mixtures: the written-out step, proper densities, quantiles, members of different orders."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from genbayes.arrays import FloatArray
from genbayes.inference.chain import FLATTEST, LOGISTIC, NORMAL, Chain, ChainShape, Mixtures
from genbayes.inference.chain_step import ChainStep
from genbayes.inference.chain_training import ChainSettings, chain_loss, sharpen, train_chain
from genbayes.persistence import State
from genbayes.training.loop import FlatWeights

INF = np.inf


def random_chain(lower: list[float], upper: list[float], n_members: int = 1, seed: int = 0) -> Chain:
    generator, rng = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    k = len(lower)
    orders = np.stack([np.arange(k)] + [rng.permutation(k) for _ in range(n_members - 1)])
    chain = Chain(ChainShape(k, 2, n_members, n_hidden=7, n_layers=2, n_components=3), lower, upper, orders, generator)
    with torch.no_grad():
        for parameter in chain.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
        chain.W_0.mul_(chain.mask)
        chain.S.mul_(chain.mask)
    return chain


@pytest.mark.parametrize(
    ("lower", "upper"), [([-1.5, -1.5], [1.5, 1.5]), ([-INF, -INF], [INF, INF]), ([-1.0, -INF], [INF, 2.0])]
)
def test_the_written_out_step_has_the_gradients_of_automatic_differentiation(
    lower: list[float], upper: list[float]
) -> None:
    chain = random_chain(lower, upper, n_members=2)
    generator = torch.Generator().manual_seed(1)
    theta = torch.as_tensor(np.clip(torch.randn(20, 2, generator=generator).numpy(), lower, upper), dtype=torch.float32)
    x = torch.cat([theta, torch.randn(20, 2, generator=generator)], dim=1).expand(4, -1, -1)
    expected = chain_loss(chain, x).mean(dim=1)
    expected.sum().backward()
    gradients = [p.grad.clone() for p in chain.parameters() if p.grad is not None]
    FlatWeights(list(chain.parameters()))
    found = ChainStep(chain, torch.zeros(4), generator)(x)
    torch.testing.assert_close(found, expected.detach(), rtol=1e-4, atol=1e-5)
    for parameter, gradient in zip(chain.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-3, atol=2e-5)


@pytest.mark.parametrize("n_members", [1, 3])
def test_the_joint_density_integrates_to_one_whatever_the_orders(n_members: int) -> None:
    chain = random_chain([-1.5, -1.0], [1.5, 2.0], n_members)
    a, b = -1.5 + 3 * (torch.arange(300) + 0.5) / 300, -1.0 + 3 * (torch.arange(300) + 0.5) / 300
    grid = torch.cartesian_prod(a, b)
    s = torch.tensor([[0.3, -0.7]]).expand(len(grid), -1)
    assert float(torch.exp(chain.joint_log_prob(grid, s)).mean()) * 9 == pytest.approx(1, abs=2e-3)


def test_draws_have_the_density_whatever_the_orders() -> None:
    chain = random_chain([-1.5, -1.0], [1.5, 2.0], n_members=3)
    s = torch.tensor([[0.3, -0.7]])
    noise = torch.rand(1, 60_000, 2, 2, generator=torch.Generator().manual_seed(0))
    draws = chain.transport(s, noise)[0].numpy()
    edges = [np.linspace(-1.5, 1.5, 5), np.linspace(-1.0, 2.0, 5)]
    share = np.histogram2d(*draws.T, bins=edges)[0] / len(draws)
    fine = torch.cartesian_prod(-1.5 + 3 * (torch.arange(200) + 0.5) / 200, -1.0 + 3 * (torch.arange(200) + 0.5) / 200)
    density = torch.exp(chain.joint_log_prob(fine, s.expand(len(fine), -1))).numpy()
    mass = np.histogram2d(*fine.numpy().T, bins=edges, weights=density)[0] * 9 / len(fine)
    # 16 cells; the largest of their errors exceeds 4 standard errors once in 1,000
    np.testing.assert_array_less(np.abs(share - mass), 4 * np.sqrt(mass * (1 - mass) / len(draws)) + 1e-3)


@pytest.mark.parametrize("flatness", [0.0, NORMAL, FLATTEST])
@pytest.mark.parametrize(("lower", "upper"), [(-1.0, 2.0), (-INF, INF), (0.5, INF)])
def test_quantiles_invert_the_distribution_function(lower: float, upper: float, flatness: float) -> None:
    g = torch.Generator().manual_seed(0)
    logit, mu, log_scale = (torch.randn(50, 3, generator=g, dtype=torch.float64) for _ in range(3))
    edges = (torch.tensor([[max(min(end, 1e6), -1e6)]], dtype=torch.float64) for end in (lower, upper))
    mixtures = Mixtures(logit, mu, log_scale, *edges, torch.full((1, 1), flatness))
    tau = torch.rand(50, generator=g, dtype=torch.float64)
    t = mixtures.ppf(tau)
    assert bool(((t >= lower) & (t <= upper)).all())
    torch.testing.assert_close(mixtures.cdf(t), tau, rtol=0, atol=1e-9)
    step = 1e-6
    slope = (mixtures.cdf(t + step) - mixtures.cdf(t - step)) / (2 * step)
    torch.testing.assert_close(torch.exp(mixtures.log_prob(t)), slope, rtol=1e-4, atol=1e-6)


def test_components_far_outside_the_support_leave_a_proper_density_and_draws_inside() -> None:
    mu = torch.tensor([[-9.0, -9.0], [11.0, 11.0]])
    edges = torch.tensor([[-1.0]]), torch.tensor([[1.0]])
    mixtures = Mixtures(torch.zeros(2, 2), mu, torch.full((2, 2), -4.0), *edges, torch.full((1, 1), NORMAL))
    tau = torch.rand(2, 1_000, 2, generator=torch.Generator().manual_seed(0))
    draws = torch.stack([mixtures.draw(tau[:, i]) for i in range(1_000)])
    assert bool(torch.isfinite(draws).all())
    assert float(draws.abs().max()) <= 1
    assert bool(torch.isfinite(mixtures.log_prob(torch.tensor([-1.0, 1.0]))).all())


@pytest.mark.parametrize("learns_tails", [False, True])
def test_a_chain_starts_from_linear_means_and_log_linear_spreads(learns_tails: bool) -> None:
    rng = np.random.default_rng(0)
    s = rng.standard_normal((4_000, 2))
    t = 0.5 * s[:, :1] + np.exp(-1 + 0.4 * s[:, 1:]) * rng.standard_normal((4_000, 1))
    theta, seen = (torch.as_tensor(part, dtype=torch.float32) for part in (t, s))
    start = torch.Generator().manual_seed(0)
    chain = Chain(ChainShape(1, 2), np.full(1, -INF), np.full(1, INF), np.zeros((1, 1)), start)
    chain.start_from_ridge(theta, seen, framed=True, learns_tails=learns_tails)
    exact = -0.5 * (torch.exp(1 - 0.4 * seen[:, 1]) * (theta[:, 0] - 0.5 * seen[:, 0])) ** 2 + 1 - 0.4 * seen[:, 1]
    # four coefficients from 4,000 pairs cost half a nat each over all pairs, the log residuals 1.6 times that
    assert float((exact - 0.919).mean()) - float(chain.joint_log_prob(theta, seen).mean()) < 0.01


@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_sharpening_brings_back_the_scale_of_components(factor: float) -> None:
    chain = random_chain([-INF, -INF], [INF, INF])
    g = torch.Generator().manual_seed(2)
    s = torch.randn(2_000, 2, generator=g)
    theta = chain.transport(s, torch.rand(2_000, 1, 2, 2, generator=g))[:, 0]
    before = chain.joint_log_prob(theta, s).mean()
    with torch.no_grad():
        chain.b_out[..., 6:9] += np.log(factor)
    wrong = chain.joint_log_prob(theta, s).mean()
    sharpen(chain, theta, s)
    assert float(before - wrong) > 0.03
    assert float(chain.joint_log_prob(theta, s).mean() - before) == pytest.approx(0, abs=0.005)


def learnt_flatness(t: FloatArray) -> float:
    rng, n = np.random.default_rng(0), len(t)
    theta, s = (torch.as_tensor(part, dtype=torch.float32)[:, None] for part in (t, rng.standard_normal(n)))
    shape = ChainShape(1, 1, n_hidden=8, n_layers=1, n_components=1)
    chain = Chain(shape, np.full(1, -INF), np.full(1, INF), np.zeros((1, 1)), torch.Generator().manual_seed(0))
    train_chain(
        chain, theta, s, np.arange(400)[None], ChainSettings(n_steps=600, learning_rate=0.03, dropout=(0.0,)), rng
    )
    return chain.flatness.item()


def test_tails_of_components_are_learnt() -> None:
    rng = np.random.default_rng(1)
    assert learnt_flatness(rng.logistic(size=4_000)) < 0.7 * NORMAL
    assert 2 * NORMAL < learnt_flatness(rng.uniform(-1.7, 1.7, size=4_000)) < FLATTEST


def test_a_component_that_begins_normal_is_a_normal_distribution() -> None:
    flatness = torch.full((1, 1), NORMAL)
    far = torch.full((1, 1), 1e6)
    mixtures = Mixtures(torch.zeros(1, 1), torch.zeros(1, 1), torch.full((1, 1), np.log(0.6276)), -far, far, flatness)
    t = torch.linspace(-3, 3, 61)
    np.testing.assert_allclose([float(mixtures.cdf(at[None])) for at in t], norm.cdf(t.numpy()), atol=2e-4)
    np.testing.assert_allclose([float(mixtures.log_prob(at[None])) for at in t], norm.logpdf(t.numpy()), atol=0.1)


def test_chains_of_files_from_before_flatness_was_learnt_are_logistic() -> None:
    chain = random_chain([-INF, -INF], [INF, INF])
    with torch.no_grad():
        chain.f.fill_(LOGISTIC)
    state = chain.to_state()
    old = State(state.kind, state.values, {name: array for name, array in state.arrays.items() if name != "f"})
    again, s = Chain.from_state(old), torch.zeros(5, 2)
    theta = torch.linspace(-2, 2, 10).view(5, 2)
    torch.testing.assert_close(again.log_prob(theta, s), chain.log_prob(theta, s))
    assert again.flatness.max().item() < 1e-15


def test_components_stay_logistic_where_tails_are_not_learnt() -> None:
    rng = np.random.default_rng(0)
    theta, s = (torch.as_tensor(rng.uniform(-1, 1, (400, 1)), dtype=torch.float32) for _ in range(2))
    chain = Chain(ChainShape(1, 1, n_hidden=8, n_layers=1), np.full(1, -1), np.full(1, 1), np.zeros((1, 1)))
    train_chain(chain, theta, s, np.arange(40)[None], ChainSettings(n_steps=20, learns_tails=False), rng)
    assert chain.flatness.max().item() < 1e-15
