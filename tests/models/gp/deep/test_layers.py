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


def test_priors_are_those_of_the_paper_s_package() -> None:
    # documentation of deepgp's fit_two_layer: shape 1.5; rates 3.9 / 6, 3.9 / 4 and 3.9
    settings = DeepGPSettings()
    assert settings.theta_y == GammaPrior(1.5, 0.65)
    assert settings.theta_w == GammaPrior(1.5, 0.975)
    assert settings.nugget_prior == GammaPrior(1.5, 3.9)
    assert settings.scale_prior == ScalePrior(0.0, 0.0)


def test_log_density_is_that_of_a_gamma_distribution() -> None:
    ours = GammaPrior(1.5, 3.9).log_density(0.2) - GammaPrior(1.5, 3.9).log_density(1.1)
    theirs = gamma(1.5, scale=1 / 3.9)
    assert ours == pytest.approx(theirs.logpdf(0.2) - theirs.logpdf(1.1))


def test_the_chain_has_burn_in_and_thinned_draws() -> None:
    assert DeepGPSettings(n_samples=20, n_burn_in=5, thinning=3).n_iterations == 65


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kernel": "matern"}, "kernel must be one of .* did you mean 'matern52'"),
        ({"n_samples": 0}, "n_samples must be a whole number of at least 1"),
        ({"n_burn_in": -1}, "n_burn_in must be a whole number of at least 0"),
        ({"thinning": 0}, "thinning must be a whole number of at least 1"),
        ({"n_hidden": 0}, "n_hidden must be a whole number of at least 1"),
        ({"nugget": -1.0}, "nugget must be zero or positive"),
        ({"nugget": 0.0}, f"nugget must be at least 1e-10, got 0.0; pass {NOISE_FREE}"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        DeepGPSettings(**wrong)


def test_wrong_priors_are_refused() -> None:
    with pytest.raises(InvalidInput, match="rate must be positive"):
        GammaPrior(1.5, 0.0)
    with pytest.raises(InvalidInput, match="shape must be zero or positive"):
        ScalePrior(-1.0, 0.0)


def test_matern_is_that_of_the_other_gaussian_processes() -> None:
    s = np.linspace(0, 9, 40)
    np.testing.assert_allclose(correlate(s, 0.7, "matern52"), matern52_with_slope(s / 0.7)[0], rtol=1e-14)


def test_squared_exponential_has_no_factor_two() -> None:
    np.testing.assert_allclose(correlate(np.array([3.0]), 1.5, "squared-exponential"), [np.exp(-2.0)])


@pytest.mark.parametrize("kernel", KERNELS)
def test_writing_into_a_given_array_changes_nothing_else(kernel: Kernel) -> None:
    s = np.linspace(0, 4, 9)
    fresh, given, before = correlate(s, 0.5, kernel), np.empty(9), s.copy()
    assert correlate(s, 0.5, kernel, out=given) is given
    np.testing.assert_array_equal(given, fresh)
    np.testing.assert_array_equal(s, before)
    np.testing.assert_array_equal(correlate(s, 0.5, kernel, out=s), fresh)  # in place


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_factor_multiplies_back_to_the_matrix(kernel: Kernel) -> None:
    X = np.random.default_rng(0).random((7, 2))
    s, (i, j) = cdist(X, X, "sqeuclidean"), pairs_of(7)
    matrix = CorrelationMatrix(7, kernel)
    matrix.factor(10 * s[i, j], 0.1, 0.5)  # the buffer is used again; nothing of this may remain
    factor = np.tril(matrix.factor(s[i, j], 0.3, 0.01))
    np.testing.assert_allclose(factor @ factor.T, correlate(s, 0.3, kernel) + 0.01 * np.eye(7), atol=1e-14)


def test_an_indefinite_matrix_has_no_factor() -> None:
    assert CorrelationMatrix(3, "squared-exponential").factor(np.zeros(3), 1.0, -0.5) is None


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
def test_with_a_proper_prior_it_is_a_multivariate_t(kernel: Kernel) -> None:
    a, b = 2.5, 1.5
    outer = OuterLikelihood(Y, kernel, ScalePrior(a, b))

    def expected(theta: float, nugget: float) -> float:
        return float(multivariate_t(shape=b / a * matrix(kernel, theta, nugget), df=2 * a).logpdf(Y))

    # equal up to a constant, so differences are compared
    ours = outer(PAIRS, 0.5, 0.1) - outer(PAIRS, 2.0, 0.3)
    assert math.isclose(ours, expected(0.5, 0.1) - expected(2.0, 0.3), rel_tol=1e-10)


def test_the_reference_prior_gives_the_paper_s_formula() -> None:
    outer = OuterLikelihood(Y, "matern52", ScalePrior())

    def formula(theta: float, nugget: float) -> float:
        K = matrix("matern52", theta, nugget)
        return -3 * math.log(Y @ np.linalg.solve(K, Y)) - 0.5 * float(np.linalg.slogdet(K)[1])

    ours = outer(PAIRS, 0.5, 0.1) - outer(PAIRS, 2.0, 0.3)
    assert math.isclose(ours, formula(0.5, 0.1) - formula(2.0, 0.3), rel_tol=1e-10)


def test_the_scale_is_the_posterior_mean_of_tau2() -> None:
    a, b = 2.5, 1.5
    tau2 = np.geomspace(1e-3, 1e3, 20_001)  # quadrature over a fine grid, weights proportional to the step
    K = matrix("matern52", 0.5, 0.1)
    log_weight = invgamma(a, scale=b).logpdf(tau2) + np.log(tau2)
    q = Y @ np.linalg.solve(K, Y)
    weight = np.exp(log_weight - 3 * np.log(tau2) - 0.5 * q / tau2)
    expected = float(weight @ tau2 / weight.sum())
    assert math.isclose(OuterLikelihood(Y, "matern52", ScalePrior(a, b)).scale(PAIRS, 0.5, 0.1), expected, rel_tol=1e-4)


def test_a_matrix_without_factor_is_impossible() -> None:
    assert OuterLikelihood(Y, "matern52", ScalePrior())(np.zeros(15), 1.0, -0.5) == -math.inf


def test_whitening_and_determinant_belong_to_the_factor() -> None:
    K = matrix("matern52", 0.5, 0.1)
    L = np.linalg.cholesky(K)
    np.testing.assert_allclose(L @ whiten(L, Y), Y)
    np.testing.assert_allclose(L @ whiten(L, W), W)
    assert math.isclose(log_determinant(L), float(np.linalg.slogdet(K)[1]))
