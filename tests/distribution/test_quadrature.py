import numpy as np
from scipy.special import ndtr, ndtri

from genbayes.distribution import quadrature
from genbayes.metrics import crps_normal


def exponential(U: np.ndarray) -> np.ndarray:
    return -np.log1p(-U) * np.ones((2, 1))


def test_nodes_integrate_polynomials_exactly() -> None:
    t, w = quadrature.legendre(4)
    np.testing.assert_allclose(w @ t**7, 1 / 8)


def test_mean_of_a_logarithmic_tail() -> None:
    np.testing.assert_allclose(quadrature.mean(exponential), 1.0, rtol=1e-12)


def test_variance_of_a_logarithmic_tail() -> None:
    np.testing.assert_allclose(quadrature.variance(exponential, np.ones(2)), 1.0, rtol=1e-10)


def test_crps_of_the_exponential_distribution() -> None:
    y = np.array([0.2, 3.0])
    closed = y - 2 * (1 - np.exp(-y)) + 0.5
    np.testing.assert_allclose(quadrature.crps(exponential, y, 1 - np.exp(-y)), closed, rtol=1e-8)


def test_crps_of_an_observation_outside_the_support() -> None:
    y, p = np.array([-1.0, -2.0]), np.zeros(2)
    np.testing.assert_allclose(quadrature.crps(exponential, y, p), -y + 0.5, rtol=1e-8)


def test_crps_on_panels_of_the_normal_distribution() -> None:
    y = np.array([0.4, -7.0])
    breakpoints = np.tile(ndtri(quadrature.PANEL_LEVELS), (2, 1))
    np.testing.assert_allclose(quadrature.crps_on_panels(ndtr, breakpoints, y), crps_normal(0.0, 1.0, y), rtol=1e-9)
