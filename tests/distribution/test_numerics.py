"""What distributions compute with: floats in order (rounding), rows of a table (rowwise), integrals (quadrature)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtr, ndtri

from genbayes.arrays import FloatArray
from genbayes.distribution import Mixture, Normal, QuantileFunction, quadrature
from genbayes.distribution.rounding import chord, from_ordinal, largest_where, secant, to_ordinal
from genbayes.distribution.rowwise import CHUNK, chunks, entry, rank, row_of
from genbayes.metrics import crps_normal

FINITE = st.floats(-1e308, 1e308)
many = settings(max_examples=100, deadline=None)


@many
@given(FINITE)
def test_floats_are_numbered_in_order_and_a_number_leads_back_to_its_float(x: float) -> None:
    pair = to_ordinal(np.array([x, np.nextafter(x, np.inf)]))
    assert pair[1] - pair[0] == 1 or x == -5e-324  # minus zero lies between
    assert from_ordinal(to_ordinal(np.array([x])))[0] == x


@many
@given(FINITE, FINITE, FINITE)
def test_the_largest_float_below_a_threshold_is_found_from_any_guess(a: float, b: float, guess: float) -> None:
    threshold, high = sorted([a, b])
    if threshold < high:
        x = largest_where(lambda k, x: x <= threshold, np.array([-np.inf]), np.array([high]), np.array([guess]))
        assert x[0] == threshold


def test_conditions_are_solved_side_by_side() -> None:
    c = np.arange(1.0, 50.0)
    root = largest_where(lambda k, x: x * x <= c[k], np.zeros(49), np.full(49, 10.0), np.full(49, 3.0))
    assert (root**2 <= c).all()
    assert (np.nextafter(root, 10) ** 2 > c).all()


@pytest.mark.parametrize("ends", [[1.0], []])
def test_an_empty_stretch_gives_its_lower_end_and_no_condition_nothing(ends: list[float]) -> None:
    x = np.array(ends)
    np.testing.assert_array_equal(largest_where(lambda k, x: x < 0, x, x, x), ends)


def test_the_secant_comes_near_a_smooth_root_and_stays_within_its_bounds_at_a_jump() -> None:
    c = np.array([0.1, 2.0, 900.0])
    root = secant(lambda k, x: np.log(x / c[k]), np.full(3, 0.01), np.full(3, 1000.0))
    np.testing.assert_allclose(root, c, rtol=1e-4)
    assert 0 <= secant(lambda k, x: np.where(x < 0.3, -1.0, 1e-9), np.zeros(1), np.ones(1))[0] <= 1


@many
@given(st.floats(0, 1), st.floats(0, 1), st.floats(-1e12, 1e12), st.floats(-1e12, 1e12), st.floats(0, 1))
def test_a_chord_meets_its_ends_and_never_falls(u_a: float, u_b: float, a: float, b: float, t: float) -> None:
    (u_a, u_b), (a, b) = sorted([u_a, u_b]), sorted([a, b])
    between = min(u_a + t * (u_b - u_a), u_b)
    u = np.array([u_a, between, np.nextafter(between, u_b), u_b])
    heights = chord(u, *(np.full(4, x) for x in (u_a, u_b, a, b)))
    assert (np.diff(heights) >= 0).all()
    assert heights[-1] == b
    assert u_a == u_b or heights[0] == a


@many
@given(
    arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.integers(-3, 3)),
    arrays(np.float64, 5, elements=st.integers(-4, 4)),
    st.sampled_from(["left", "right"]),
)
def test_rank_is_numpys_search_row_by_row(table: FloatArray, x: FloatArray, side: str) -> None:
    table = np.sort(table, axis=1)
    row, points = row_of((len(table), 5)), np.tile(x, len(table))
    expected = np.concatenate([np.searchsorted(one, x, side=side) for one in table])
    np.testing.assert_array_equal(rank(table, row, points, side), expected)


def test_rank_works_across_chunks() -> None:
    table, row = np.sort(np.random.default_rng(0).normal(size=(3, 11)), axis=1), np.arange(CHUNK + 7) % 3
    np.testing.assert_array_equal(rank(table, row, table[row, 4], "left"), 4)


def test_entry_reads_one_shared_row() -> None:
    np.testing.assert_array_equal(entry(np.array([[5.0, 6.0]]), np.array([0, 7]), np.array([1, 0])), [6.0, 5.0])


@pytest.mark.parametrize(("n", "width"), [(0, 5), (1, 1), (10, 10**6), (10**6, 3)])
def test_chunks_cover_every_row_once(n: int, width: int) -> None:
    assert sum(rows.stop - rows.start for rows in chunks(n, width)) == n


def exponential(U: FloatArray) -> FloatArray:
    return -np.log1p(-U) * np.ones((2, 1))


def test_nodes_integrate_polynomials_exactly() -> None:
    t, w = quadrature.legendre(4)
    np.testing.assert_allclose(w @ t**7, 1 / 8)


def test_mean_and_variance_of_a_logarithmic_tail() -> None:
    np.testing.assert_allclose(quadrature.mean(exponential), 1.0, rtol=1e-12)
    np.testing.assert_allclose(quadrature.variance(exponential, np.ones(2)), 1.0, rtol=1e-10)


@pytest.mark.parametrize("y", [[0.2, 3.0], [-1.0, -2.0]])  # within the support and outside
def test_crps_of_the_exponential_distribution(y: list[float]) -> None:
    F = 1 - np.exp(-np.maximum(y, 0))
    np.testing.assert_allclose(quadrature.crps(exponential, np.array(y), F), np.abs(y) - 2 * F + 0.5, rtol=1e-8)


def test_crps_on_panels_of_the_normal_distribution() -> None:
    y = np.array([0.4, -7.0])
    breakpoints = np.tile(ndtri(quadrature.PANEL_LEVELS), (2, 1))
    np.testing.assert_allclose(quadrature.crps_on_panels(ndtr, breakpoints, y), crps_normal(0.0, 1.0, y), rtol=1e-9)


def test_a_variance_beyond_all_numbers_is_infinite_and_never_nan() -> None:
    wide = QuantileFunction([0.1, 0.5, 0.9], [[-1e200, 0.0, 1e200], [0.0, 1.0, 2.0]])
    mixed = Mixture([Normal([1e300, 0.0], 1.0), Normal([0.0, 0.0], 1.0)], np.array([[0.0, 1.0], [0.5, 0.5]]))
    with np.errstate(over="ignore", invalid="ignore"):
        for dist in (wide, mixed):
            assert dist.var()[0] == np.inf
            assert np.isfinite(dist.var()[1])
            assert np.isfinite(dist.mean()).all()
