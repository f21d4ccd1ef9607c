import numpy as np
import pytest
from scipy.integrate import quad

from genbayes.distribution.piecewise import (
    Tail,
    lower_level,
    tail_cdf,
    tail_crps,
    tail_moments,
    tail_ppf,
    tail_slope,
    tail_square,
    upper_level,
)


def one(v: float = 0.2, z: float = 1.0, s: float = 0.5, bound: float = -np.inf) -> Tail:
    return Tail(np.array([v]), np.array([z]), np.array([s]), bound)


BOUNDS = pytest.mark.parametrize("bound", [-np.inf, 0.3])


def test_the_slope_of_an_exponential_distribution_is_its_scale() -> None:
    levels = np.array([[0.01, 0.013, 0.05, 0.2]])
    np.testing.assert_allclose(tail_slope(levels, 3.0 * np.log(levels)), 3.0)


def test_knots_side_by_side_do_not_decide_the_slope() -> None:
    levels = np.array([[0.010, 0.0101, 0.02, 0.5]])
    np.testing.assert_allclose(tail_slope(levels, np.array([[0.0, 5.0, 6.0, 9.0]])), 6 / np.log(2))


def test_without_a_level_twice_as_far_the_last_one_serves() -> None:
    levels = np.array([[0.4, 0.5]])
    np.testing.assert_allclose(tail_slope(levels, np.array([[0.0, 1.0]])), 1 / np.log(1.25))


def test_cdf_undoes_ppf() -> None:
    u = np.array([1e-300, 1e-9, 0.1, 0.2])
    np.testing.assert_allclose(tail_cdf(tail_ppf(u, one()), one()), u, rtol=1e-12)


def test_slope_zero_has_nothing_below() -> None:
    np.testing.assert_array_equal(tail_cdf(np.array([0.0, 1.0]), one(s=0.0)), [0.0, 0.0])


@BOUNDS
def test_moments_are_those_of_the_cut_off_tail(bound: float) -> None:
    tail = one(bound=bound)
    u = (np.arange(400_000) + 0.5) / 400_000 * 0.2
    excess = 1.0 - tail_ppf(u, tail)
    np.testing.assert_allclose(tail_moments(tail), [[excess.mean()], [(excess**2).mean()]], rtol=1e-4)


@BOUNDS
def test_the_integral_of_the_square_is_exact(bound: float) -> None:
    tail = one(bound=bound)
    integral, _ = quad(lambda z: tail_cdf(np.array([z]), tail)[0] ** 2, max(bound, -30.0), 1.0)
    np.testing.assert_allclose(tail_square(tail), integral, rtol=1e-8)


@BOUNDS
@pytest.mark.parametrize("y", [0.9, 0.4, 0.1, -3.0])
def test_crps_is_the_integral_of_the_squared_error(bound: float, y: float) -> None:
    tail = one(bound=bound)

    def error(z: float) -> float:
        F = tail_cdf(np.array([z]), tail)[0] if z >= bound else 0.0
        return float((F - (z >= y)) ** 2)

    integral, _ = quad(error, -20.0, 1.0, points=[y, max(bound, -20.0)], limit=200)
    np.testing.assert_allclose(tail_crps(np.array([y]), tail), integral, rtol=1e-7)


def test_levels_are_the_largest_that_stay_below_the_point() -> None:
    y, tail = np.array([0.123]), one()
    u = lower_level(y, tail, np.array([0.01]))
    assert tail_ppf(u, tail) <= y < tail_ppf(np.nextafter(u, 1), tail)


def test_upper_levels_mirror_lower_ones() -> None:
    y, tail = np.array([4.5]), one(z=-1.0)
    u = upper_level(y, tail, np.array([0.9]))
    assert -tail_ppf(1 - u, tail) <= y < -tail_ppf(1 - np.nextafter(u, 1), tail)
