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


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("n_steps", "kernel"),
    [(1_500, "squared-exponential"), *(pytest.param(30_000, kernel, marks=SLOW) for kernel in KERNELS)],
)
def test_without_likelihood_the_chain_returns_the_prior(n_steps: int, kernel: Kernel) -> None:
    rng, X = np.random.default_rng(8), np.linspace(0, 0.8, 5)[:, None]
    start = ChainState(np.zeros((5, 2)), 1.0, np.ones(2), 0.3)
    chain = TwoLayerChain(X, NoLikelihood(), DeepGPSettings(kernel=kernel), start)
    steps = []
    for _ in range(n_steps):
        chain.step(rng)
        steps.append(([chain.theta_y, chain.nugget, *chain.theta_w], chain.w.copy()))
    parameters, w = (np.array(each) for each in zip(*steps, strict=True))  # (steps, 4) and (steps, 2, 5)
    u = gamma.cdf(parameters, 1.5, scale=1 / np.array([3.9 / 6, 3.9, 3.9 / 4, 3.9 / 4]))
    n_effective = (1 / 12) / standard_error(u) ** 2  # a uniform number has variance 1/12
    for column, n in zip(u.T, n_effective, strict=True):
        assert kolmogorov_distance(column) < 1.95 / math.sqrt(n)  # exceeded once in 1,000
    s, theta = cdist(X, X, "sqeuclidean"), gamma(1.5, scale=4 / 3.9).ppf((np.arange(2000) + 0.5) / 2000)
    expected = np.mean([correlate(s, value, kernel) for value in theta], axis=0)
    products = np.einsum("thi,thj->thij", w, w).reshape(len(w), -1)
    z = (products.mean(axis=0) - np.tile(expected.ravel(), 2)) / standard_error(products)
    assert np.max(np.abs(z)) < 4.7  # t law, 24 degrees of freedom, 30 distinct means: exceeded once in 400
    K = np.array([[correlate(s, theta, kernel) for theta in each] for each in parameters[:, 2:]])
    K += latent_jitter(5) * np.eye(5)
    quadratic = np.einsum("thi,thi->th", w, np.linalg.solve(K, w[..., None])[..., 0])  # w' K^-1 w of each column
    u = chi2.cdf(quadratic, 5)  # w and theta_w together: chi-square with as many degrees of freedom as rows
    assert np.max(np.abs(u.mean(axis=0) - 0.5) / standard_error(u)) < 4.2  # two means: exceeded once in 1,500


# Geweke (2004), "Getting it right": parameters and data drawn from the prior must look like those of a chain which
# alternates between new parameters given the data and new data given the parameters. tau2 needs a proper prior.
GEWEKE = DeepGPSettings(
    theta_y=GammaPrior(4.0, 4.0), theta_w=GammaPrior(4.0, 4.0), nugget_prior=GammaPrior(3.0, 6.0),
    scale_prior=ScalePrior(6.0, 5.0),
)  # fmt: skip
X_GEWEKE = np.array([[0.0, 0.2], [0.3, 0.9], [0.5, 0.1], [0.8, 0.7], [1.0, 0.4]])
S_GEWEKE = cdist(X_GEWEKE, X_GEWEKE, "sqeuclidean")


def draw_gaussian(s: FloatArray, theta: float, nugget: float, rng: np.random.Generator) -> FloatArray:
    K = correlate(s, theta, GEWEKE.kernel) + nugget * np.eye(len(s))
    return np.asarray(np.linalg.cholesky(K) @ rng.standard_normal(len(s)))


def draw_state(rng: np.random.Generator) -> ChainState:
    theta_y, nugget, theta_w = rng.gamma(4.0, 1 / 4.0), rng.gamma(3.0, 1 / 6.0), rng.gamma(4.0, 1 / 4.0, 2)
    w = [draw_gaussian(S_GEWEKE, theta, latent_jitter(5), rng) for theta in theta_w]
    return ChainState(np.column_stack(w), theta_y, theta_w, nugget)


def draw_data(state: ChainState, rng: np.random.Generator) -> FloatArray:
    tau2 = 5.0 / rng.gamma(6.0)
    return math.sqrt(tau2) * draw_gaussian(cdist(state.w, state.w, "sqeuclidean"), state.theta_y, state.nugget, rng)


def summarise(state: ChainState, y: FloatArray) -> list[float]:
    """Geweke's test functions."""
    gap = state.w[0] - state.w[1]
    parameters = [state.theta_y, *state.theta_w, math.log(state.nugget), state.theta_y * state.nugget]
    layer = [state.w[0, 0], state.w[0, 0] ** 2, state.w[1, 0] * state.w[1, 1], float(gap @ gap) / state.theta_y]
    return [*parameters, *layer, y[0], y[0] ** 2, y[0] * y[1], abs(y[0] - y[1]) * state.theta_y]


@pytest.mark.parametrize("n_steps", [500, pytest.param(20_000, marks=SLOW)])
def test_the_joint_distribution_of_parameters_and_data_is_right(n_steps: int) -> None:
    rng = np.random.default_rng(21)
    states = [draw_state(rng) for _ in range(n_steps)]
    independent = np.array([summarise(state, draw_data(state, rng)) for state in states])
    state, successive = draw_state(rng), []
    for _ in range(n_steps):
        y = draw_data(state, rng)
        chain = TwoLayerChain(X_GEWEKE, OuterLikelihood(y, GEWEKE.kernel, GEWEKE.scale_prior), GEWEKE, state)
        chain.step(rng)
        state = ChainState(chain.w.T, chain.theta_y, chain.theta_w, chain.nugget)
        successive.append(summarise(state, y))
    spread = np.hypot(standard_error(np.array(successive)), independent.std(axis=0) / math.sqrt(n_steps))
    z = (np.mean(successive, axis=0) - independent.mean(axis=0)) / spread
    # 13 functions, t law with at least 24 degrees of freedom: the largest exceeds 4.7 once in 900
    assert np.max(np.abs(z)) < 4.7, z.round(1)


def test_a_fixed_nugget_stays() -> None:
    settings = DeepGPSettings(nugget=0.05)
    chain = TwoLayerChain(X_GEWEKE, NoLikelihood(), settings, ChainState(X_GEWEKE, 1.0, np.ones(2), 0.05))
    chain.step(np.random.default_rng(0))
    assert chain.nugget == 0.05
    assert chain.theta_y != 1.0 or not np.array_equal(chain.w.T, X_GEWEKE)


def test_the_log_likelihood_belongs_to_the_state_and_every_slice_starts_from_it(monkeypatch) -> None:
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
        assert chain.log_likelihood == outer(chain.s, chain.theta_y, chain.nugget)  # to the last bit
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


def test_proposals_fill_the_window_evenly_and_a_gain_is_weighed_against_its_width() -> None:
    rng = np.random.default_rng(0)
    share = (np.sort([propose_slide(4.0, rng) for _ in range(4000)]) - 2.0) / 6.0
    assert 0 <= share[0] <= share[-1] <= 1
    assert kolmogorov_distance(share) < 1.95 / math.sqrt(4000)
    accepted = np.mean([accept_slide(1.0, 2.0, 0.0, rng) for _ in range(4000)])
    assert abs(accepted - 0.5) < 4 * math.sqrt(0.25 / 4000)  # min(1, v / v*) = 1/2
    assert all(accept_slide(1.0, 0.5, 0.0, rng) for _ in range(100))
    assert not any(accept_slide(1.0, 0.6, -math.inf, rng) for _ in range(100))  # impossible


PRIOR = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.6], [0.2, 0.6, 1.0]])
OBSERVED = np.array([1.0, -0.5, 0.8])


def test_a_gaussian_likelihood_gives_the_closed_form_posterior_and_the_chain_forgets_where_it_was() -> None:
    noise = 0.5  # variance
    gain = PRIOR @ np.linalg.inv(PRIOR + noise * np.eye(3))
    mean, covariance = gain @ OBSERVED, PRIOR - gain @ PRIOR

    def log_likelihood(w: FloatArray) -> float:
        return float(-0.5 * np.sum((OBSERVED - w) ** 2) / noise)

    rng, factor = np.random.default_rng(5), np.linalg.cholesky(PRIOR)
    w, value, states = np.zeros(3), log_likelihood(np.zeros(3)), []
    for _ in range(4_100):
        w, value = elliptical_slice(w, factor @ rng.standard_normal(3), log_likelihood, value, rng)
        states.append(w)
    deviations = np.array(states[100:]) - mean
    products = np.einsum("ti,tj->tij", deviations, deviations) - covariance
    # t law with 39 degrees of freedom: beyond 4.2 once in 7,000; nine means, so a false alarm once in 800
    for values in (deviations, products.reshape(-1, 9)):
        assert np.max(np.abs(values.mean(axis=0)) / standard_error(values, 40)) < 4.2
    first = deviations[:2_000, 0]
    lag = np.corrcoef(first[:-20], first[20:])[0, 1]
    assert abs(lag) < 4 / math.sqrt(len(first))  # a stub that never moves has no standard deviation at all


HERE = np.array([0.3, -1.2])


@pytest.mark.parametrize(
    ("nu", "log_likelihood"),
    [
        (np.ones(2), lambda w: 0.0 if np.array_equal(w, HERE) else -math.inf),  # one state is allowed
        (np.zeros(2), lambda w: -1e9),  # its own value is denied
    ],
)
def test_where_no_other_state_is_allowed_it_stays(nu: FloatArray, log_likelihood: Any) -> None:
    w, value = elliptical_slice(HERE, nu, log_likelihood, 0.0, np.random.default_rng(0))
    np.testing.assert_array_equal(w, HERE)
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


def sample(seed: int | np.random.Generator = 0, X: FloatArray = X, y: FloatArray = Y, **changes: Any) -> DeepGPDraws:
    start, report = changes.pop("start", None), changes.pop("report", None)
    settings = DeepGPSettings(**{"n_samples": 6, "n_burn_in": 4, "thinning": 2} | changes)
    return sample_deep_gp(X, y, settings, np.random.default_rng(seed), start=start, report=report)


def test_equal_generators_give_equal_draws_and_the_number_of_threads_is_put_back() -> None:
    before = [lib["num_threads"] for lib in threadpool_info()]
    first, again, other = (sample(seed) for seed in (1, 1, 2))
    for field in fields(DeepGPDraws):
        np.testing.assert_array_equal(getattr(first, field.name), getattr(again, field.name))
    assert not np.array_equal(first.w, other.w)
    assert [lib["num_threads"] for lib in threadpool_info()] == before


@pytest.mark.parametrize("nugget", [None, NOISE_FREE])
def test_a_chain_in_two_parts_equals_one_that_runs_through(nugget: float | None) -> None:
    whole, rng = sample(3, n_samples=10, nugget=nugget), np.random.default_rng(3)
    first = sample(rng, n_samples=4, nugget=nugget)
    second = sample(rng, n_burn_in=0, nugget=nugget, start=first)
    for name in ["w", "theta_y", "theta_w", "xi", "nugget", "tau2", "log_likelihood"]:
        joined = np.concatenate([getattr(first, name), getattr(second, name)])
        np.testing.assert_array_equal(getattr(whole, name), joined)


def test_a_warm_start_with_more_rows_goes_on_from_the_old_hidden_layer_and_may_have_other_rows() -> None:
    early = sample(0, X[:9], Y[:9], n_burn_in=100, nugget=NOISE_FREE)
    one_step = {"n_burn_in": 0, "n_samples": 1, "thinning": 1, "nugget": NOISE_FREE}
    warm, cold = (sample(1, start=start, **one_step) for start in (early, None))
    assert warm.w.shape == (1, 12, 2)
    assert np.abs(warm.w[0, :9] - early.w[-1]).mean() < np.abs(cold.w[0, :9] - early.w[-1]).mean()
    assert np.isfinite(sample(1, X[::-1], Y[::-1], start=sample()).log_likelihood).all()


def test_the_likelihood_rises_from_the_start_and_is_finite_where_rows_repeat() -> None:
    value = sample(n_burn_in=0, n_samples=150, thinning=1, nugget=NOISE_FREE).log_likelihood
    assert value[-50:].mean() > value[:5].mean()
    assert np.isfinite(sample(0, np.vstack([X, X]), np.tile(Y, 2), nugget=NOISE_FREE).log_likelihood).all()


def test_noise_is_found_in_noise_and_not_elsewhere() -> None:
    x, rng = np.linspace(0, 1, 40)[:, None], np.random.default_rng(5)
    smooth, rough = (
        predict_deep_gp(sample(rng, x, y / y.std(), n_burn_in=80, n_samples=40, thinning=1), x).noise_variance[0]
        for y in (np.sin(6 * x[:, 0]), rng.standard_normal(40))
    )
    assert smooth < 0.01
    assert rough > 0.2


def test_progress_is_reported_up_to_the_end() -> None:
    seen: list[tuple[int, int, float]] = []
    draws = sample(n_samples=11, report=lambda *a: seen.append(a))
    assert [(step, length) for step, length, _ in seen] == [(10, 26), (20, 26), (26, 26)]
    assert seen[-1][2] == draws.log_likelihood[-1]


@pytest.mark.parametrize("h", [1, 3])
def test_the_hidden_layer_may_be_narrower_or_wider(h: int) -> None:
    assert sample(n_hidden=h).theta_w.shape == (6, h)


OTHER_MODEL = "start must have the inputs, kernel and hidden width"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"X": X[:2], "y": Y[:2]}, "X must have at least 3 rows, got 2"),
        ({"y": Y[:5]}, "y must have shape"),
        ({"X": np.where(X > 0.9, np.nan, X)}, "X must be finite"),
        ({"kernel": "squared-exponential", "start": sample()}, OTHER_MODEL),
        ({"n_hidden": 1, "start": sample()}, OTHER_MODEL),
    ],
    ids=["few rows", "lengths", "missing", "another kernel", "another width"],
)
def test_wrong_data_and_a_start_of_another_model_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        sample(**wrong)
