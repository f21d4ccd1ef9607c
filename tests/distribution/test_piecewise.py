"""Piecewise distributions: knots with gaps and atoms, exponential tails, and their integrals in closed form."""

import numpy as np
import pytest
from scipy.integrate import quad

from genbayes.arrays import FloatArray
from genbayes.distribution import piecewise
from genbayes.distribution.piecewise import Knots, Tail, lower_level, tail_cdf, tail_ppf, upper_level


def make_knots(levels: list[float], values: list[float], slope: float = 0.0) -> Knots:
    return Knots.build(
        np.array([levels]), np.array([values]), (np.array([slope]), np.array([slope])), (-np.inf, np.inf)
    )


def uniform(low: float, high: float) -> Knots:
    """The uniform distribution on (low, high), up to the 1e-12 beyond its outermost levels."""
    return make_knots([1e-12, 1 - 1e-12], [low, high])


# Exponential tails on both sides of an infinitely short middle
LAPLACE = make_knots([0.5, np.nextafter(0.5, 1)], [0.0, 0.0], slope=1.0)
# Uniform on (0, 1) with probability 1/2, nothing up to 2, then an atom at 2 of 1/4 and uniform up to 3
GAP_AND_ATOM = make_knots([1e-12, 0.5, 0.5, 0.75, 1 - 1e-12], [0.0, 1.0, 2.0, 2.0, 3.0])


def test_ppf_takes_the_lower_end_of_a_gap() -> None:
    q = GAP_AND_ATOM.ppf(np.array([[0.25, 0.5, np.nextafter(0.5, 1), 0.75, 0.875]]))
    np.testing.assert_allclose(q, [[0.5, 1.0, 2.0, 2.0, 2.5]], rtol=1e-9)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("cdf", [0.25, 0.5, 0.5, 0.75, 0.875]),  # flat across the gap, a jump at the atom
        ("mass", [0, 0, 0, 0.25, 0]),  # the height of the jump
        ("pdf", [0.5, 0.0, 0.0, np.inf, 0.25]),  # zero in the gap, infinite at the atom
    ],
)
def test_gaps_and_atoms_are_seen(read: str, expected: list[float]) -> None:
    got = getattr(GAP_AND_ATOM, read)(np.zeros(5, dtype=int), np.array([0.5, 1.0, 1.5, 2.0, 2.5]))
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("shared", [True, False])
def test_values_with_tails_come_in_order(shared: bool) -> None:
    levels = np.array([[0.2, 0.8]] if shared else [[0.2, 0.8], [0.3, 0.6]])
    knots = Knots.build(levels, np.array([[0.0, 1.0], [5.0, 7.0]]), (np.ones(2), np.ones(2)), (-np.inf, 7.5))
    values = knots.values_with_tails(np.array([0.5, 0.1]))
    assert values.shape == (2, 6)
    assert (np.diff(values, axis=1) >= 0).all()
    assert values.max() == 7.5


@pytest.mark.parametrize(("knots", "expected"), [(uniform(2.0, 5.0), [[3.5], [9 / 12]]), (LAPLACE, [[0.0], [2.0]])])
def test_moments_are_those_of_the_textbook(knots: Knots, expected: list) -> None:
    np.testing.assert_allclose(piecewise.moments(knots), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("y", [-2.0, 0.0, 0.3, 0.7])
def test_crps_is_that_of_the_closed_forms(y: float) -> None:
    laplace = abs(y) + np.exp(-abs(y)) - 0.75  # Jordan, Krueger and Lerch 2019, appendix A
    np.testing.assert_allclose(piecewise.crps(LAPLACE, np.array([y])), laplace, rtol=1e-12)
    if y >= 0:
        crps = piecewise.crps(uniform(0.0, 1.0), np.array([y]))
        np.testing.assert_allclose(crps, (y**3 + (1 - y) ** 3) / 3, rtol=1e-10)


@pytest.mark.parametrize(
    ("levels", "values", "slope"),
    [
        ([0.01, 0.013, 0.05, 0.2], 3.0 * np.log([0.01, 0.013, 0.05, 0.2]), 3.0),  # the scale of an exponential tail
        ([0.010, 0.0101, 0.02, 0.5], [0.0, 5.0, 6.0, 9.0], 6 / np.log(2)),  # knots side by side do not decide
        ([0.4, 0.5], [0.0, 1.0], 1 / np.log(1.25)),  # without a level twice as far the last one serves
    ],
)
def test_the_slope_of_a_tail_is_read_at_a_level_twice_as_far(levels: list, values: list, slope: float) -> None:
    np.testing.assert_allclose(piecewise.tail_slope(np.array([levels]), np.array([values])), slope)


def make_tail(z: float = 1.0, s: float = 0.5, bound: float = -np.inf) -> Tail:
    return Tail(np.array([0.2]), np.array([z]), np.array([s]), bound)


def test_cdf_of_a_tail_undoes_ppf_and_slope_zero_has_nothing_below() -> None:
    u = np.array([1e-300, 1e-9, 0.1, 0.2])
    np.testing.assert_allclose(tail_cdf(tail_ppf(u, make_tail()), make_tail()), u, rtol=1e-12)
    np.testing.assert_array_equal(tail_cdf(np.array([0.0, 1.0]), make_tail(s=0.0)), [0.0, 0.0])


@pytest.mark.parametrize("bound", [-np.inf, 0.3])
def test_moments_and_square_of_a_tail_are_those_of_the_cut_off_tail(bound: float) -> None:
    tail = make_tail(bound=bound)
    excess = 1.0 - tail_ppf((np.arange(400_000) + 0.5) / 400_000 * 0.2, tail)
    np.testing.assert_allclose(piecewise.tail_moments(tail), [[excess.mean()], [(excess**2).mean()]], rtol=1e-4)
    square, _ = quad(lambda z: tail_cdf(np.array([z]), tail)[0] ** 2, max(bound, -30.0), 1.0)
    np.testing.assert_allclose(piecewise.tail_square(tail), square, rtol=1e-8)


@pytest.mark.parametrize("bound", [-np.inf, 0.3])
@pytest.mark.parametrize("y", [0.9, 0.4, 0.1, -3.0])
def test_crps_of_a_tail_is_the_integral_of_the_squared_error(bound: float, y: float) -> None:
    tail = make_tail(bound=bound)

    def error(z: float) -> float:
        F = tail_cdf(np.array([z]), tail)[0] if z >= bound else 0.0
        return float((F - (z >= y)) ** 2)

    integral, _ = quad(error, -20.0, 1.0, points=[y, max(bound, -20.0)], limit=200)
    np.testing.assert_allclose(piecewise.tail_crps(np.array([y]), tail), integral, rtol=1e-7)


def test_levels_are_the_largest_that_stay_below_the_point_on_either_side() -> None:
    def upper_ppf(u: FloatArray) -> FloatArray:
        return -tail_ppf(1 - u, make_tail(z=-1.0))

    u = lower_level(np.array([0.123]), make_tail(), np.array([0.01]))
    assert tail_ppf(u, make_tail()) <= 0.123 < tail_ppf(np.nextafter(u, 1), make_tail())
    u = upper_level(np.array([4.5]), make_tail(z=-1.0), np.array([0.9]))
    assert upper_ppf(u) <= 4.5 < upper_ppf(np.nextafter(u, 1))
