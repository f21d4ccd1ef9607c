import numpy as np

from genbayes.distribution import piecewise as integrals
from genbayes.distribution.piecewise import Knots


def uniform(low: float, high: float) -> Knots:
    """The uniform distribution on (low, high), up to the 1e-12 beyond its outermost levels."""
    levels, values = np.array([[1e-12, 1 - 1e-12]]), np.array([[low, high]])
    return Knots.build(levels, values, (np.zeros(1), np.zeros(1)), (-np.inf, np.inf))


def laplace() -> Knots:
    """Exponential tails on both sides of an infinitely short middle."""
    levels, values = np.array([[0.5, np.nextafter(0.5, 1)]]), np.zeros((1, 2))
    return Knots.build(levels, values, (np.ones(1), np.ones(1)), (-np.inf, np.inf))


def test_moments_of_the_uniform_distribution() -> None:
    np.testing.assert_allclose(integrals.moments(uniform(2.0, 5.0)), [[3.5], [9 / 12]], rtol=1e-10)


def test_moments_of_the_laplace_distribution() -> None:
    np.testing.assert_allclose(integrals.moments(laplace()), [[0.0], [2.0]], atol=1e-12)


def test_crps_of_the_uniform_distribution() -> None:
    y = np.array([0.3])
    np.testing.assert_allclose(integrals.crps(uniform(0.0, 1.0), y), (y**3 + (1 - y) ** 3) / 3, rtol=1e-10)


def test_crps_of_the_laplace_distribution() -> None:
    # |y| + exp(-|y|) - 3/4: Jordan, Krueger and Lerch 2019, appendix A
    for y in (-2.0, 0.0, 0.7):
        expected = abs(y) + np.exp(-abs(y)) - 0.75
        np.testing.assert_allclose(integrals.crps(laplace(), np.array([y])), expected, rtol=1e-12)
