"""Distributions against closed forms, each with its source."""

import math

import numpy as np
import pytest

from genbayes.distribution import Empirical, Mixture, Normal, QuantileFunction


def test_crps_of_the_standard_normal_distribution_at_its_centre() -> None:
    # sqrt(2 / pi) - 1 / sqrt(pi): Gneiting and Raftery 2007, section 4.2
    np.testing.assert_allclose(Normal(0.0, 1.0).crps(0.0), math.sqrt(2 / math.pi) - 1 / math.sqrt(math.pi))


def test_crps_of_a_table_of_normal_quantiles() -> None:
    levels = np.arange(1, 1000) / 1000
    table = QuantileFunction(levels, Normal(0.0, 1.0).ppf(levels))
    np.testing.assert_allclose(table.crps(0.3), Normal(0.0, 1.0).crps(0.3), rtol=1e-5)


@pytest.mark.parametrize("y", [0.0, 0.2, 1.0, 1.5, -2.0])
def test_crps_of_the_uniform_distribution(y: float) -> None:
    # outside (0, 1) the distance plus 1/3; inside (y^3 + (1 - y)^3) / 3: Jordan, Krueger and Lerch 2019, appendix A
    dist = QuantileFunction([1e-10, 1 - 1e-10], [[0.0, 1.0]], support=(0.0, 1.0))
    inside = min(max(y, 0.0), 1.0)
    np.testing.assert_allclose(dist.crps(y), abs(y - inside) + (inside**3 + (1 - inside) ** 3) / 3, rtol=1e-8)


FINE = np.arange(1, 2000) / 2000
EXPONENTIAL = QuantileFunction(FINE, [-np.log1p(-FINE)], support=(0.0, None))


@pytest.mark.parametrize("y", [0.1, 1.0, 4.0, 12.0])
def test_crps_of_the_exponential_distribution(y: float) -> None:
    # y - 2 F(y) + 1/2: Jordan, Krueger and Lerch 2019, appendix A
    # 2 int |Q - Q_chord| du <= h^2 / 6 int Q'' du <= h / 6 with h = 1 / 2000
    np.testing.assert_allclose(EXPONENTIAL.crps(y), y - 2 * (1 - math.exp(-y)) + 0.5, atol=1 / 12_000)


def test_tail_of_the_exponential_distribution() -> None:
    dist = QuantileFunction([0.25, 0.5, 0.75], [-np.log([0.75, 0.5, 0.25])])
    np.testing.assert_allclose(dist.ppf([0.99, 0.9999]), [-np.log([0.01, 0.0001])], rtol=1e-9)
    np.testing.assert_allclose(dist.cdf(5.0), 1 - math.exp(-5.0), rtol=1e-12)


def test_moments_of_the_uniform_and_the_exponential_distribution() -> None:
    uniform = QuantileFunction([1e-10, 1 - 1e-10], [[2.0, 8.0]], support=(2.0, 8.0))
    np.testing.assert_allclose([uniform.mean(), uniform.var()], [[5.0], [3.0]], rtol=1e-8)
    np.testing.assert_allclose([EXPONENTIAL.mean(), EXPONENTIAL.var()], [[1.0], [1.0]], rtol=1e-3)


def test_quantiles_of_two_far_normals_are_those_of_one() -> None:
    # Q(1/4) of an equal mixture of distributions that do not overlap is the median of the lower one
    dist = Mixture([Normal(0.0, 1.0), Normal(1000.0, 2.0)])
    np.testing.assert_allclose(dist.ppf([0.25, 0.75]), [[0.0, 1000.0]], atol=1e-12)


def test_crps_of_one_draw_is_the_absolute_error() -> None:
    np.testing.assert_allclose(Empirical([[3.0]]).crps(1.0), 2.0)
