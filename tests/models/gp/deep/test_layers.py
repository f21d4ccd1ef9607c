"""Settings, correlations and likelihood of the layers, against their definitions."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import gamma, invgamma, multivariate_t

from genbayes.errors import InvalidInput
from genbayes.models.gp.cholesky import log_determinant
from genbayes.models.gp.deep.layers import (
    KERNELS,
    NOISE_FREE,
    CorrelationMatrix,
    DeepGPSettings,
    GammaPrior,
    Kernel,
    OuterLikelihood,
    ScalePrior,
    correlate,
    latent_jitter,
    pairs_of,
    whiten,
)
from genbayes.models.gp.kernels import matern52_with_slope


def test_priors_are_those_of_the_paper_s_package_and_the_chain_has_burn_in_and_thinned_draws() -> None:
    # documentation of deepgp's fit_two_layer: shape 1.5; rates 3.9 / 6, 3.9 / 4 and 3.9
    settings = DeepGPSettings(n_samples=20, n_burn_in=5, thinning=3)
    assert (settings.theta_y, settings.theta_w) == (GammaPrior(1.5, 0.65), GammaPrior(1.5, 0.975))
    assert (settings.nugget_prior, settings.scale_prior) == (GammaPrior(1.5, 3.9), ScalePrior(0.0, 0.0))
    assert settings.n_iterations == 65
    ours, theirs = settings.nugget_prior.log_density, gamma(1.5, scale=1 / 3.9).logpdf
    assert ours(0.2) - ours(1.1) == pytest.approx(theirs(0.2) - theirs(1.1))


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        (DeepGPSettings, {"kernel": "matern"}, "kernel must be one of .* did you mean 'matern52'"),
        (DeepGPSettings, {"n_samples": 0}, "n_samples must be a whole number of at least 1"),
        (DeepGPSettings, {"n_burn_in": -1}, "n_burn_in must be a whole number of at least 0"),
        (DeepGPSettings, {"thinning": 0}, "thinning must be a whole number of at least 1"),
        (DeepGPSettings, {"n_hidden": 0}, "n_hidden must be a whole number of at least 1"),
        (DeepGPSettings, {"nugget": -1.0}, "nugget must be zero or positive"),
        (DeepGPSettings, {"nugget": 0.0}, f"nugget must be at least 1e-10, got 0.0; pass {NOISE_FREE}"),
        (GammaPrior, {"shape": 1.5, "rate": 0.0}, "rate must be positive"),
        (ScalePrior, {"shape": -1.0, "rate": 0.0}, "shape must be zero or positive"),
    ],
)
def test_wrong_settings_and_priors_are_refused(kind: type, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        kind(**wrong)


def test_matern_is_that_of_the_other_gaussian_processes_and_the_squared_exponential_has_no_factor_two() -> None:
    s = np.linspace(0, 9, 40)
    np.testing.assert_allclose(correlate(s, 0.7, "matern52"), matern52_with_slope(s / 0.7)[0], rtol=1e-14)
    np.testing.assert_allclose(correlate(s, 1.5, "squared-exponential"), np.exp(-s / 1.5), rtol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS)
def test_writing_into_a_given_array_changes_nothing_else(kernel: Kernel) -> None:
    s = np.linspace(0, 4, 9)
    fresh, given, before = correlate(s, 0.5, kernel), np.empty(9), s.copy()
    assert correlate(s, 0.5, kernel, out=given) is given
    np.testing.assert_array_equal(given, fresh)
    np.testing.assert_array_equal(s, before)
    np.testing.assert_array_equal(correlate(s, 0.5, kernel, out=s), fresh)  # in place


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_factor_multiplies_back_to_the_matrix_and_an_indefinite_one_has_none(kernel: Kernel) -> None:
    X = np.random.default_rng(0).random((7, 2))
    s, (i, j) = cdist(X, X, "sqeuclidean"), pairs_of(7)
    matrix = CorrelationMatrix(7, kernel)
    matrix.factor(10 * s[i, j], 0.1, 0.5)  # the buffer is used again; nothing of this may remain
    factor = np.tril(matrix.factor(s[i, j], 0.3, 0.01))
    np.testing.assert_allclose(factor @ factor.T, correlate(s, 0.3, kernel) + 0.01 * np.eye(7), atol=1e-14)
    assert matrix.factor(np.zeros(21), 1.0, -0.5) is None


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [50, 600])
def test_the_latent_jitter_suffices_for_all_but_equal_rows(kernel: Kernel, n: int) -> None:
    column = np.linspace(0, 1e-3, n)  # every correlation is 1 to six digits
    i, j = pairs_of(n)
    assert CorrelationMatrix(n, kernel).factor((column[i] - column[j]) ** 2, 1.0, latent_jitter(n)) is not None


W = np.random.default_rng(2).standard_normal((6, 2))
Y = np.random.default_rng(3).standard_normal(6)
S = cdist(W, W, "sqeuclidean")
PAIRS = S[pairs_of(6)]


def matrix(kernel: Kernel, theta: float, nugget: float) -> np.ndarray:
    return correlate(S, theta, kernel) + nugget * np.eye(6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("prior", [ScalePrior(2.5, 1.5), ScalePrior()], ids=["proper", "reference"])
def test_the_likelihood_is_a_multivariate_t_or_the_paper_s_formula(prior, kernel: Kernel) -> None:
    outer = OuterLikelihood(Y, kernel, prior)

    def expected(theta: float, nugget: float) -> float:
        K = matrix(kernel, theta, nugget)
        if prior.shape:
            return float(multivariate_t(shape=prior.rate / prior.shape * K, df=2 * prior.shape).logpdf(Y))
        return -3 * math.log(Y @ np.linalg.solve(K, Y)) - 0.5 * float(np.linalg.slogdet(K)[1])

    # equal up to a constant, so differences are compared
    ours = outer(PAIRS, 0.5, 0.1) - outer(PAIRS, 2.0, 0.3)
    assert math.isclose(ours, expected(0.5, 0.1) - expected(2.0, 0.3), rel_tol=1e-10)
    assert outer(np.zeros(15), 1.0, -0.5) == -math.inf  # a matrix without factor is impossible


def test_the_scale_is_the_posterior_mean_of_tau2() -> None:
    tau2 = np.geomspace(1e-3, 1e3, 20_001)  # quadrature over a fine grid, weights proportional to the step
    q = Y @ np.linalg.solve(matrix("matern52", 0.5, 0.1), Y)
    log_weight = invgamma(2.5, scale=1.5).logpdf(tau2) + np.log(tau2)
    weight = np.exp(log_weight - 3 * np.log(tau2) - 0.5 * q / tau2)
    scale = OuterLikelihood(Y, "matern52", ScalePrior(2.5, 1.5)).scale(PAIRS, 0.5, 0.1)
    assert math.isclose(scale, float(weight @ tau2 / weight.sum()), rel_tol=1e-4)


def test_whitening_and_determinant_belong_to_the_factor() -> None:
    K = matrix("matern52", 0.5, 0.1)
    L = np.linalg.cholesky(K)
    np.testing.assert_allclose(L @ whiten(L, Y), Y)
    np.testing.assert_allclose(L @ whiten(L, W), W)
    assert math.isclose(log_determinant(L), float(np.linalg.slogdet(K)[1]))
