"""The chain's own checks: it returns the prior where there is no likelihood, and gets the joint law right."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import chi2, gamma

from genbayes.arrays import FloatArray
from genbayes.models.gp.deep import sampling as chain_module
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
from genbayes.models.gp.deep.sampling import ChainState, TwoLayerChain, elliptical_slice

N_BATCHES = 25


class NoLikelihood:
    """An outer layer that tells nothing."""

    def __call__(self, s: FloatArray, theta: float, nugget: float) -> float:
        return 0.0

    def scale(self, s: FloatArray, theta: float, nugget: float) -> float:
        return 1.0


def standard_error(values: FloatArray) -> FloatArray:
    """Standard error of the mean of each column, from the means of batches, which hold the chain's correlation."""
    batches = np.array([part.mean(axis=0) for part in np.array_split(values, N_BATCHES)])
    return np.asarray(batches.std(axis=0, ddof=1) / math.sqrt(N_BATCHES))


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


def check_joint_law(n_steps: int) -> None:
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


def test_the_joint_law_of_parameters_and_data_is_right() -> None:
    check_joint_law(500)


@pytest.mark.slow
def test_the_joint_law_of_parameters_and_data_is_right_in_a_long_run() -> None:
    check_joint_law(20_000)


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

    monkeypatch.setattr(chain_module, "elliptical_slice", watched)
    rng = np.random.default_rng(4)
    outer = OuterLikelihood(rng.standard_normal(5), "matern52", ScalePrior())
    chain = TwoLayerChain(X_GEWEKE, outer, DeepGPSettings(), ChainState(X_GEWEKE, 1.0, np.ones(2), 0.1))
    for _ in range(20):
        chain.step(rng)
    assert len(gaps) == 40
    assert np.max(np.abs(gaps)) < 1e-8  # columns are added in another order, so not to the last bit
