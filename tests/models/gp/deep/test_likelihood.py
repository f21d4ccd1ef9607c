"""The outer likelihood against the multivariate t law that it is."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import invgamma, multivariate_t

from genbayes.models.gp.cholesky import log_determinant
from genbayes.models.gp.deep.layers import KERNELS, Kernel, OuterLikelihood, ScalePrior, correlate, pairs_of, whiten

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
