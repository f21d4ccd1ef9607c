import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from genbayes.distribution import Normal
from genbayes.distribution.normal import mean_absolute_normal, monotone_ndtr, monotone_ndtri
from genbayes.errors import InvalidInput


def test_it_agrees_with_scipy() -> None:
    dist, other = Normal([1.0, -2.0], [0.5, 3.0]), norm([1.0, -2.0], [0.5, 3.0])
    got = [dist.ppf(0.3), dist.cdf(0.3), dist.pdf(0.3), dist.mean(), dist.var(), dist.std()]
    expected = [other.ppf(0.3), other.cdf(0.3), other.pdf(0.3), other.mean(), other.var(), other.std()]
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_scale_zero_is_a_point_mass() -> None:
    dist = Normal(2.0, 0.0)
    got = [dist.ppf(0.01), dist.cdf(1.999), dist.cdf(2.0), dist.pdf(2.0), dist.pdf(1.0), dist.crps(5.0), dist.pit(2.0)]
    np.testing.assert_array_equal(np.concatenate(got), [2.0, 0.0, 1.0, np.inf, 0.0, 3.0, 0.5])


def test_a_tiny_scale_raises_no_warning() -> None:
    dist = Normal(0.0, 1e-300)
    np.testing.assert_allclose(np.concatenate([dist.cdf(1e10), dist.pdf(1e10), dist.crps(1e10)]), [1.0, 0.0, 1e10])


def test_one_number_serves_all_rows() -> None:
    assert len(Normal(0.0, np.ones(4))) == 4


@settings(max_examples=200, deadline=None)
@given(st.floats(5e-324, 1 - 2.0**-53))
def test_quantiles_do_not_fall_and_are_those_of_scipy(u: float) -> None:
    x = monotone_ndtri(np.array([u, min(np.nextafter(u, 1), 1 - 2.0**-53)]))
    assert x[0] <= x[1]
    np.testing.assert_allclose(x[0], ndtri(u), rtol=1e-14, atol=1e-15)


@settings(max_examples=200, deadline=None)
@given(st.floats(-50, 50))
def test_probabilities_do_not_fall_and_are_those_of_scipy(x: float) -> None:
    p = monotone_ndtr(np.array([x, np.nextafter(x, np.inf)]))
    assert p[0] <= p[1]
    np.testing.assert_allclose(p[0], ndtr(x), rtol=1e-12, atol=1e-300)


def test_mean_absolute_value_agrees_with_draws() -> None:
    draws = np.abs(Normal(0.7, 2.0).sample(100_000, random_state=0))
    standard_error = draws.std() / np.sqrt(100_000)
    assert abs(draws.mean() - mean_absolute_normal(np.array([0.7]), np.array([2.0]))[0]) < 4 * standard_error


@pytest.mark.parametrize(
    ("loc", "scale", "message"),
    [
        (np.nan, 1.0, "loc must be finite"),
        (0.0, np.inf, "scale must be finite"),
        (0.0, -1.0, "scale must be zero or positive, got -1.0"),
        ([0.0, 1.0], [1.0, 1.0, 1.0], r"loc must have shape \(3,\)"),
        ([[0.0]], 1.0, "loc must have shape"),
    ],
)
def test_bad_parameters_are_refused(loc: object, scale: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Normal(loc, scale)
