"""The chain: its moves leave their targets invariant, it returns the prior without data, repeats and continues."""

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import chi2, gamma
from threadpoolctl import threadpool_info

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.models.gp.deep import NOISE_FREE, DeepGPDraws, predict_deep_gp, sample_deep_gp, sampling
from genbayes.models.gp.deep.layers import (
    KERNELS,
    DeepGPSettings,
    GammaPrior,
    Kernel,
    OuterLikelihood,
    ScalePrior,
    correlate,
    latent_jitter,
)
from genbayes.models.gp.deep.sampling import ChainState, TwoLayerChain, accept_slide, elliptical_slice, propose_slide


class NoLikelihood:
    """An outer layer that tells nothing."""

    def __call__(self, s: FloatArray, theta: float, nugget: float) -> float:
        return 0.0

    def scale(self, s: FloatArray, theta: float, nugget: float) -> float:
        return 1.0


def standard_error(values: FloatArray, n_batches: int = 25) -> FloatArray:
    """Standard error of the mean of each column, from the means of batches, which hold the chain's correlation."""
    batches = np.array([part.mean(axis=0) for part in np.array_split(values, n_batches)])
    return np.asarray(batches.std(axis=0, ddof=1) / math.sqrt(n_batches))


def kolmogorov_distance(u: FloatArray) -> float:
    return float(np.max(np.abs(np.sort(u) - (np.arange(len(u)) + 0.5) / len(u))))


def run_without_data(n_steps: int, kernel: Kernel) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Inputs, parameters (steps, 4): theta_y, nugget, theta_w; hidden layer (steps, 2, 5)."""
    rng, X = np.random.default_rng(8), np.linspace(0, 0.8, 5)[:, None]
    settings = DeepGPSettings(kernel=kernel)
    chain = TwoLayerChain(X, NoLikelihood(), settings, ChainState(np.zeros((5, 2)), 1.0, np.ones(2), 0.3))
    parameters, layers = [], []
    for _ in range(n_steps):
        chain.step(rng)
        parameters.append([chain.theta_y, chain.nugget, *chain.theta_w])
        layers.append(chain.w.copy())
    return X, np.array(parameters), np.array(layers)


def check_prior(n_steps: int, kernel: Kernel) -> None:
    X, parameters, w = run_without_data(n_steps, kernel)
    u = gamma.cdf(parameters, 1.5, scale=1 / np.array([3.9 / 6, 3.9, 3.9 / 4, 3.9 / 4]))
    n_effective = (1 / 12) / standard_error(u) ** 2  # a uniform number has variance 1/12
    for column, n in zip(u.T, n_effective, strict=True):
        assert kolmogorov_distance(column) < 1.95 / math.sqrt(n)  # exceeded once in 1,000
    theta = gamma(1.5, scale=4 / 3.9).ppf((np.arange(2000) + 0.5) / 2000)
    expected = np.mean([correlate(cdist(X, X, "sqeuclidean"), value, kernel) for value in theta], axis=0)
    products = np.einsum("thi,thj->thij", w, w).reshape(len(w), -1)
    z = (products.mean(axis=0) - np.tile(expected.ravel(), 2)) / standard_error(products)
    assert np.max(np.abs(z)) < 4.7  # t law, 24 degrees of freedom, 30 distinct means: exceeded once in 400
    s = cdist(X, X, "sqeuclidean")
    quadratic = [[_quadratic(w[t, j], s, parameters[t, 2 + j], kernel) for j in (0, 1)] for t in range(len(w))]
    u = chi2.cdf(quadratic, 5)  # w and theta_w together: chi-square with as many degrees of freedom as rows
    assert np.max(np.abs(u.mean(axis=0) - 0.5) / standard_error(u)) < 4.2  # two means: exceeded once in 1,500


def _quadratic(w: FloatArray, s: FloatArray, theta: float, kernel: Kernel) -> float:
    """w' K^-1 w of one column under its own length scale."""
    return float(w @ np.linalg.solve(correlate(s, theta, kernel) + latent_jitter(5) * np.eye(5), w))


def test_without_likelihood_the_chain_returns_the_prior() -> None:
    check_prior(1500, "squared-exponential")


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_without_likelihood_a_long_chain_returns_the_prior(kernel: Kernel) -> None:
    check_prior(30_000, kernel)


# Geweke (2004), "Getting it right": parameters and data drawn from the prior must look like those of a chain which
# alternates between new parameters given the data and new data given the parameters. tau2 needs a proper prior.
GEWEKE = DeepGPSettings(
    kernel="matern52",
    theta_y=GammaPrior(4.0, 4.0),
    theta_w=GammaPrior(4.0, 4.0),
    nugget_prior=GammaPrior(3.0, 6.0),
    scale_prior=ScalePrior(6.0, 5.0),
)
X_GEWEKE = np.array([[0.0, 0.2], [0.3, 0.9], [0.5, 0.1], [0.8, 0.7], [1.0, 0.4]])
S_GEWEKE = cdist(X_GEWEKE, X_GEWEKE, "sqeuclidean")


def draw_state(rng: np.random.Generator) -> ChainState:
    theta_y, nugget = rng.gamma(4.0, 1 / 4.0), rng.gamma(3.0, 1 / 6.0)
    theta_w = rng.gamma(4.0, 1 / 4.0, 2)
    n = len(X_GEWEKE)
    covariances = [correlate(S_GEWEKE, theta, GEWEKE.kernel) + latent_jitter(n) * np.eye(n) for theta in theta_w]
    w = [np.linalg.cholesky(K) @ rng.standard_normal(n) for K in covariances]
    return ChainState(np.column_stack(w), theta_y, theta_w, nugget)


def draw_data(state: ChainState, rng: np.random.Generator) -> FloatArray:
    n = len(X_GEWEKE)
    tau2 = 5.0 / rng.gamma(6.0)
    K = correlate(cdist(state.w, state.w, "sqeuclidean"), state.theta_y, GEWEKE.kernel) + state.nugget * np.eye(n)
    return np.asarray(math.sqrt(tau2) * np.linalg.cholesky(K) @ rng.standard_normal(n))


def test_functions(state: ChainState, y: FloatArray) -> list[float]:
    gap = state.w[0] - state.w[1]
    parameters = [state.theta_y, *state.theta_w, math.log(state.nugget), state.theta_y * state.nugget]
    layer = [state.w[0, 0], state.w[0, 0] ** 2, state.w[1, 0] * state.w[1, 1], float(gap @ gap) / state.theta_y]
    return [*parameters, *layer, y[0], y[0] ** 2, y[0] * y[1], abs(y[0] - y[1]) * state.theta_y]


test_functions.__test__ = False  # type: ignore[attr-defined]  # a function of Geweke's, not a test


def check_joint_distribution(n_steps: int) -> None:
    rng = np.random.default_rng(21)
    states = [draw_state(rng) for _ in range(n_steps)]
    independent = np.array([test_functions(state, draw_data(state, rng)) for state in states])
    state, successive = draw_state(rng), []
    for _ in range(n_steps):
        y = draw_data(state, rng)
        chain = TwoLayerChain(X_GEWEKE, OuterLikelihood(y, GEWEKE.kernel, GEWEKE.scale_prior), GEWEKE, state)
        chain.step(rng)
        state = ChainState(chain.w.T, chain.theta_y, chain.theta_w, chain.nugget)
        successive.append(test_functions(state, y))
    spread = np.hypot(standard_error(np.array(successive)), independent.std(axis=0) / math.sqrt(n_steps))
    z = (np.mean(successive, axis=0) - independent.mean(axis=0)) / spread
    # 13 functions, t law with at least 24 degrees of freedom: the largest exceeds 4.7 once in 900
    assert np.max(np.abs(z)) < 4.7, z.round(1)


def test_the_joint_distribution_of_parameters_and_data_is_right() -> None:
    check_joint_distribution(500)


@pytest.mark.slow
def test_the_joint_distribution_of_parameters_and_data_is_right_in_a_long_run() -> None:
    check_joint_distribution(20_000)


def test_a_fixed_nugget_stays() -> None:
    settings = DeepGPSettings(nugget=0.05)
    chain = TwoLayerChain(X_GEWEKE, NoLikelihood(), settings, ChainState(X_GEWEKE, 1.0, np.ones(2), 0.05))
    chain.step(np.random.default_rng(0))
    assert chain.nugget == 0.05
    assert chain.theta_y != 1.0 or not np.array_equal(chain.w.T, X_GEWEKE)


def test_the_log_likelihood_belongs_to_the_state() -> None:
    rng = np.random.default_rng(4)
    y = rng.standard_normal(5)
    outer = OuterLikelihood(y, "matern52", ScalePrior())
    chain = TwoLayerChain(X_GEWEKE, outer, DeepGPSettings(), ChainState(X_GEWEKE, 1.0, np.ones(2), 0.1))
    for _ in range(20):
        chain.step(rng)
        assert chain.log_likelihood == outer(chain.s, chain.theta_y, chain.nugget)  # to the last bit


def test_every_slice_starts_from_the_value_of_its_state(monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = []

    def watched(w: FloatArray, nu: FloatArray, log_likelihood: Any, current: float, rng: np.random.Generator) -> Any:
        gaps.append(log_likelihood(w) - current)
        return elliptical_slice(w, nu, log_likelihood, current, rng)

    monkeypatch.setattr(sampling, "elliptical_slice", watched)
    rng = np.random.default_rng(4)
    outer = OuterLikelihood(rng.standard_normal(5), "matern52", ScalePrior())
    chain = TwoLayerChain(X_GEWEKE, outer, DeepGPSettings(), ChainState(X_GEWEKE, 1.0, np.ones(2), 0.1))
    for _ in range(20):
        chain.step(rng)
    assert len(gaps) == 40
    assert np.max(np.abs(gaps)) < 1e-8  # columns are added in another order, so not to the last bit


@pytest.mark.parametrize("shape", [1.5, 4.0])
def test_a_gamma_distribution_stays_as_it_is(shape: float) -> None:
    rng, prior = np.random.default_rng(3), GammaPrior(shape, 2.0)
    target = gamma(shape, scale=0.5)
    start = target.rvs(4000, random_state=rng)  # independent, so that moved values are independent too
    moved = []
    for value in start:
        for _ in range(3):
            proposal = propose_slide(value, rng)
            if accept_slide(value, proposal, prior.log_density(proposal) - prior.log_density(value), rng):
                value = proposal
        moved.append(value)
    assert kolmogorov_distance(target.cdf(moved)) < 1.95 / math.sqrt(4000)  # Kolmogorov: exceeded once in 1,000
    assert np.mean(np.array(moved) == start) < 0.5  # most have moved


def test_proposals_fill_the_window_evenly() -> None:
    rng = np.random.default_rng(0)
    share = (np.sort([propose_slide(4.0, rng) for _ in range(4000)]) - 2.0) / 6.0
    assert share[0] >= 0
    assert share[-1] <= 1
    assert kolmogorov_distance(share) < 1.95 / math.sqrt(4000)


def test_a_proposal_without_likelihood_is_never_accepted() -> None:
    rng = np.random.default_rng(0)
    assert not any(accept_slide(1.0, 0.6, -math.inf, rng) for _ in range(100))


def test_a_gain_is_weighed_against_the_width_of_the_window() -> None:
    rng = np.random.default_rng(0)
    accepted = np.mean([accept_slide(1.0, 2.0, 0.0, rng) for _ in range(4000)])
    assert abs(accepted - 0.5) < 4 * math.sqrt(0.25 / 4000)  # min(1, v / v*) = 1/2
    assert all(accept_slide(1.0, 0.5, 0.0, rng) for _ in range(100))


PRIOR = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.6], [0.2, 0.6, 1.0]])
OBSERVED = np.array([1.0, -0.5, 0.8])
NOISE = 0.5  # variance


def gaussian_log_likelihood(w: np.ndarray) -> float:
    e = OBSERVED - w
    return float(-0.5 * e @ e / NOISE)


def run_chain(n_steps: int) -> np.ndarray:
    rng, factor = np.random.default_rng(5), np.linalg.cholesky(PRIOR)
    w, value, states = np.zeros(3), gaussian_log_likelihood(np.zeros(3)), []
    for _ in range(n_steps):
        w, value = elliptical_slice(w, factor @ rng.standard_normal(3), gaussian_log_likelihood, value, rng)
        states.append(w)
    return np.array(states[100:])


def worst_z_score(values: np.ndarray, expected: np.ndarray) -> float:
    """Largest deviation of a mean in standard errors."""
    return float(np.max(np.abs(values.mean(axis=0) - expected) / standard_error(values, 40)))


def test_a_gaussian_likelihood_gives_the_closed_form_posterior() -> None:
    gain = PRIOR @ np.linalg.inv(PRIOR + NOISE * np.eye(3))
    mean, covariance = gain @ OBSERVED, PRIOR - gain @ PRIOR
    states = run_chain(4100)
    deviations = states - mean
    products = np.einsum("ti,tj->tij", deviations, deviations).reshape(-1, 9)
    # t law with 39 degrees of freedom: beyond 4.2 once in 7,000; nine means, so a false alarm once in 800
    assert worst_z_score(states, mean) < 4.2
    assert worst_z_score(products, covariance.ravel()) < 4.2


def test_the_chain_forgets_where_it_was() -> None:
    first = run_chain(2100)[:, 0]
    lag = np.corrcoef(first[:-20], first[20:])[0, 1]
    assert abs(lag) < 4 / math.sqrt(len(first))  # a stub that never moves has no standard deviation at all


def test_a_likelihood_that_allows_one_state_keeps_it() -> None:
    here = np.array([0.3, -1.2])

    def spike(w: np.ndarray) -> float:
        return 0.0 if np.array_equal(w, here) else -math.inf

    w, value = elliptical_slice(here, np.array([1.0, 1.0]), spike, 0.0, np.random.default_rng(0))
    np.testing.assert_array_equal(w, here)
    assert value == 0.0


def test_a_likelihood_that_denies_its_own_value_keeps_the_state() -> None:
    w, value = elliptical_slice(np.ones(2), np.zeros(2), lambda w: -1e9, 0.0, np.random.default_rng(0))
    np.testing.assert_array_equal(w, np.ones(2))
    assert value == 0.0


def test_the_new_state_lies_on_the_ellipse_and_above_the_level() -> None:
    rng = np.random.default_rng(1)
    w, nu = np.array([1.0, 0.0]), np.array([0.0, 1.0])  # here the ellipse is the unit circle
    for _ in range(50):
        w_new, value = elliptical_slice(w, nu, lambda w: 5.0 * float(w[0]), 5.0, rng)
        assert math.isclose(float(w_new @ w_new), 1.0)
        assert value == 5.0 * w_new[0]


X = np.random.default_rng(0).random((12, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1]
Y = (Y - Y.mean()) / Y.std()


def settings(**changes: Any) -> DeepGPSettings:
    return DeepGPSettings(**{"n_samples": 6, "n_burn_in": 4, "thinning": 2} | changes)


def assert_equal_draws(one: DeepGPDraws, other: DeepGPDraws) -> None:
    for field in fields(DeepGPDraws):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def join(one: DeepGPDraws, other: DeepGPDraws, name: str) -> np.ndarray:
    return np.concatenate([getattr(one, name), getattr(other, name)])


def test_equal_generators_give_equal_draws() -> None:
    draws = [sample_deep_gp(X, Y, settings(), np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert_equal_draws(draws[0], draws[1])
    assert not np.array_equal(draws[0].w, draws[2].w)


@pytest.mark.parametrize("nugget", [None, NOISE_FREE])
def test_a_chain_in_two_parts_equals_one_that_runs_through(nugget: float | None) -> None:
    whole = sample_deep_gp(X, Y, settings(n_samples=10, nugget=nugget), np.random.default_rng(3))
    rng = np.random.default_rng(3)
    first = sample_deep_gp(X, Y, settings(n_samples=4, nugget=nugget), rng)
    second = sample_deep_gp(X, Y, settings(n_burn_in=0, n_samples=6, nugget=nugget), rng, start=first)
    for name in ["w", "theta_y", "theta_w", "xi", "nugget", "tau2", "log_likelihood"]:
        np.testing.assert_array_equal(getattr(whole, name), join(first, second, name))


def test_a_warm_start_with_more_rows_goes_on_from_the_old_hidden_layer() -> None:
    early = sample_deep_gp(X[:9], Y[:9], settings(n_burn_in=100, nugget=NOISE_FREE), np.random.default_rng(0))
    warm = settings(n_burn_in=0, n_samples=1, thinning=1, nugget=NOISE_FREE)
    draws = sample_deep_gp(X, Y, warm, np.random.default_rng(1), start=early)
    cold = sample_deep_gp(X, Y, warm, np.random.default_rng(1))
    step = np.abs(draws.w[0, :9] - early.w[-1]).mean()
    assert step < np.abs(cold.w[0, :9] - early.w[-1]).mean()
    assert draws.w.shape == (1, 12, 2)


def test_a_warm_start_may_have_other_rows() -> None:
    early = sample_deep_gp(X, Y, settings(), np.random.default_rng(0))
    draws = sample_deep_gp(X[::-1], Y[::-1], settings(), np.random.default_rng(1), start=early)
    assert np.isfinite(draws.log_likelihood).all()


def test_the_likelihood_rises_from_the_start() -> None:
    long = settings(n_burn_in=0, n_samples=150, thinning=1, nugget=NOISE_FREE)
    value = sample_deep_gp(X, Y, long, np.random.default_rng(0)).log_likelihood
    assert value[-50:].mean() > value[:5].mean()


def test_noise_is_found_in_noise_and_not_elsewhere() -> None:
    rng = np.random.default_rng(5)
    x = np.linspace(0, 1, 40)[:, None]
    signal, noise = np.sin(6 * x[:, 0]), rng.standard_normal(40)
    chain = settings(n_burn_in=80, n_samples=40, thinning=1)
    smooth = predict_deep_gp(sample_deep_gp(x, signal / signal.std(), chain, rng), x)
    rough = predict_deep_gp(sample_deep_gp(x, noise / noise.std(), chain, rng), x)
    assert smooth.noise_variance[0] < 0.01
    assert rough.noise_variance[0] > 0.2


def test_progress_is_reported_up_to_the_end() -> None:
    seen: list[tuple[int, int, float]] = []
    draws = sample_deep_gp(X, Y, settings(n_samples=11), np.random.default_rng(0), report=lambda *a: seen.append(a))
    assert [step for step, _, _ in seen] == [10, 20, 26]
    assert {length for _, length, _ in seen} == {26}
    assert seen[-1][2] == draws.log_likelihood[-1]


def test_the_hidden_layer_may_be_narrower_or_wider() -> None:
    for h in (1, 3):
        assert sample_deep_gp(X, Y, settings(n_hidden=h), np.random.default_rng(0)).theta_w.shape == (6, h)


def test_repeated_rows_are_no_obstacle() -> None:
    X_twice, y_twice = np.vstack([X, X]), np.tile(Y, 2)
    draws = sample_deep_gp(X_twice, y_twice, settings(nugget=NOISE_FREE), np.random.default_rng(0))
    assert np.isfinite(draws.log_likelihood).all()


def test_the_number_of_threads_is_put_back() -> None:
    before = [lib["num_threads"] for lib in threadpool_info()]
    sample_deep_gp(X, Y, settings(), np.random.default_rng(0))
    assert [lib["num_threads"] for lib in threadpool_info()] == before


def test_wrong_data_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInput, match="X must have at least 3 rows, got 2"):
        sample_deep_gp(X[:2], Y[:2], settings(), rng)
    with pytest.raises(InvalidInput, match="y must have shape"):
        sample_deep_gp(X, Y[:5], settings(), rng)
    with pytest.raises(InvalidInput, match="X must be finite"):
        sample_deep_gp(np.where(X > 0.9, np.nan, X), Y, settings(), rng)


@pytest.mark.parametrize("changes", [{"kernel": "squared-exponential"}, {"n_hidden": 1}])
def test_a_start_of_another_model_is_refused(changes: dict[str, Any]) -> None:
    early = sample_deep_gp(X, Y, settings(), np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="start must have the inputs, kernel and hidden width"):
        sample_deep_gp(X, Y, settings(**changes), np.random.default_rng(0), start=early)
