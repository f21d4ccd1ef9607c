import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from genbayes.arrays import FloatArray
from genbayes.distribution import Normal, QuantileFunction
from genbayes.distribution.quadrature import crps_on_panels
from genbayes.errors import InvalidInput


@st.composite
def distributions(draw: st.DrawFn) -> QuantileFunction:
    """One or two rows with ties and crossings, at scales from 1e-12 to 1e12, shared levels or not, bounds or not."""
    n, M = draw(st.integers(1, 2)), draw(st.integers(2, 7))
    scale = 10.0 ** draw(st.integers(-12, 12))
    step = st.one_of(st.integers(-4, 4).map(float), st.floats(-4, 4))
    values = draw(arrays(np.float64, (n, M), elements=step)) * scale + draw(st.sampled_from([0.0, 1e3 * scale]))
    level = st.floats(1e-9, 1 - 1e-9)
    rows = [sorted(draw(st.lists(level, min_size=M, max_size=M, unique=True))) for _ in range(n)]
    low = draw(st.sampled_from([None, -2.0]))
    high = draw(st.sampled_from([None, 3.0]))
    support = tuple(None if bound is None else bound * scale for bound in (low, high))
    return QuantileFunction(rows[0] if draw(st.booleans()) else rows, values, support)


def telling_levels(dist: QuantileFunction) -> FloatArray:
    """The knots' levels, their neighbours among the floats, and some between and beyond, shape (j,)."""
    knots = np.unique(dist.levels)
    u = np.concatenate([knots, np.nextafter(knots, 0), np.nextafter(knots, 1), (knots[1:] + knots[:-1]) / 2])
    return np.unique(np.concatenate([u, [5e-324, 1e-300, 1e-3, 0.5, 1 - 1e-9, 1 - 2.0**-53]]))


def telling_points(dist: QuantileFunction, u: FloatArray) -> FloatArray:
    """The knots' values, the quantiles at u, and their neighbours among the floats, shape (n, j)."""
    y = np.concatenate([dist.values, dist.ppf(u)], axis=1)
    return np.concatenate([y, np.nextafter(y, -np.inf), np.nextafter(y, np.inf)], axis=1)


@settings(max_examples=60, deadline=None)
@given(distributions())
def test_ppf_and_cdf_are_one_distribution_to_the_last_bit(dist: QuantileFunction) -> None:
    u = telling_levels(dist)
    y = telling_points(dist, u)
    q, F = dist.ppf(u), dist.cdf(y)
    assert (np.diff(q, axis=1) >= 0).all()
    np.testing.assert_array_equal(q[:, :, None] <= y[:, None, :], u[None, :, None] <= F[:, None, :])


@settings(max_examples=40, deadline=None)
@given(distributions(), st.floats(-6, 6))
def test_crps_is_the_integral_of_the_squared_error(dist: QuantileFunction, shift: float) -> None:
    size = np.ptp(dist.values, axis=1) + np.abs(dist.values).max(axis=1) * 1e-6
    y = dist.values[:, 0] + shift * size
    integral = crps_on_panels(dist._cdf, dist._breakpoints(), y)
    np.testing.assert_allclose(dist.crps(y), integral, rtol=1e-6, atol=float(1e-8 * size.max()))


@settings(max_examples=40, deadline=None)
@given(distributions())
def test_mean_and_variance_are_the_integrals_of_the_quantile_function(dist: QuantileFunction) -> None:
    t, w = np.polynomial.legendre.leggauss(30)
    for row in dist:
        knots = np.concatenate([[0.0], np.geomspace(1e-18, 1, 60)[:-1] * row.levels[0], row.levels])
        above = 1 - np.geomspace(1, 1e-15 / (1 - row.levels[-1]), 60)[1:] * (1 - row.levels[-1])
        clipped = row.cdf(np.nextafter(np.array([row.support]), [[np.inf, -np.inf]]))[0]  # where a bound cuts a tail
        edges = np.unique(np.concatenate([knots, above, clipped, [1.0]]))
        u = edges[:-1, None] + np.diff(edges)[:, None] * (t + 1) / 2
        weight = (np.diff(edges)[:, None] * w / 2).ravel()
        q = row.ppf(np.clip(u.ravel(), 1e-300, 1 - 2.0**-53))[0]
        mean = weight @ (q - row.values[0, 0]) + row.values[0, 0]
        size = np.ptp(q) + abs(mean)
        np.testing.assert_allclose(row.mean(), mean, rtol=1e-9, atol=1e-6 * size)
        np.testing.assert_allclose(row.var(), weight @ (q - mean) ** 2, rtol=2e-3, atol=1e-9 * size**2)


@settings(max_examples=60, deadline=None)
@given(distributions())
def test_density_and_pit_never_fail(dist: QuantileFunction) -> None:
    y = dist.values[:, :1] + np.array([[0.0, 0.1, -0.1]])
    assert (dist.pdf(y) >= 0).all()
    assert ((dist.pit(y[:, 0]) >= 0) & (dist.pit(y[:, 0]) <= 1)).all()


def test_a_level_that_is_a_knot_gives_exactly_its_value() -> None:
    levels = np.linspace(0.01, 0.99, 99)
    values = np.sort(np.random.default_rng(0).normal(size=(4, 99)), axis=1)
    np.testing.assert_array_equal(QuantileFunction(levels, values).ppf(levels), values)


def test_crossings_are_removed_by_sorting() -> None:
    dist = QuantileFunction([0.2, 0.5, 0.8], [[3.0, 1.0, 2.0]])
    np.testing.assert_array_equal(dist.values, [[1.0, 2.0, 3.0]])


def test_a_row_of_equal_quantiles_is_a_point_mass() -> None:
    dist = QuantileFunction([0.2, 0.5, 0.8], [[2.0, 2.0, 2.0]])
    got = [dist.ppf(1e-9), dist.ppf(1 - 1e-9), dist.mean(), dist.var(), dist.cdf(2.0), dist.cdf(1.9), dist.crps(5.0)]
    np.testing.assert_array_equal(np.concatenate(got), [2, 2, 2, 0, 1, 0, 3])


def test_the_density_is_infinite_at_an_atom() -> None:
    dist = QuantileFunction([0.2, 0.5, 0.8], [[0.0, 0.0, 3.0]])
    np.testing.assert_allclose(dist.pdf([[0.0, 1.5, -1.0]]), [[np.inf, 0.1, 0.0]])


def test_pit_of_an_atom_is_its_middle() -> None:
    dist = QuantileFunction([0.2, 0.4, 0.6, 0.8], [[0.0, 1.0, 1.0, 2.0]])
    np.testing.assert_allclose(dist.pit(1.0), 0.5)


def test_pit_is_the_cdf_where_there_is_no_atom() -> None:
    dist = QuantileFunction([0.2, 0.4, 0.6, 0.8], [[0.0, 1.0, 1.0, 2.0]])
    np.testing.assert_array_equal(dist.pit(0.7), dist.cdf(0.7))


def test_a_bound_gathers_what_lies_beyond_it() -> None:
    dist = QuantileFunction([0.2, 0.5, 0.8], [[-1.0, 1.0, 2.0]], support=(0.0, None))
    np.testing.assert_allclose([dist.cdf(0.0), dist.cdf(-1e-9), dist.ppf(0.1)], [[0.2], [0.0], [0.0]])


def test_a_tail_is_cut_off_at_its_bound() -> None:
    free = QuantileFunction([0.2, 0.5, 0.8], [[1.0, 2.0, 3.0]])
    bound = QuantileFunction([0.2, 0.5, 0.8], [[1.0, 2.0, 3.0]], support=(0.5, 3.5))
    u = np.linspace(0.001, 0.999, 500)
    np.testing.assert_allclose(bound.ppf(u), np.clip(free.ppf(u), 0.5, 3.5))


def test_moments_of_a_cut_off_tail_are_those_of_the_clipped_distribution() -> None:
    dist = QuantileFunction([0.2, 0.5, 0.8], [[1.0, 2.0, 3.0]], support=(0.5, 3.5))
    q = dist.ppf((np.arange(200_000) + 0.5) / 200_000)
    np.testing.assert_allclose([dist.mean(), dist.var()], [[q.mean()], [q.var()]], rtol=1e-6)


def test_the_tail_goes_on_exponentially() -> None:
    dist = QuantileFunction(
        [0.25, 0.5, 0.75], [[-np.log(2), 0.0, np.log(2)]]
    )  # the Laplace distribution beyond its quartiles
    np.testing.assert_allclose(dist.ppf([0.005, 0.995]), [[np.log(0.01), -np.log(0.01)]])


def test_rows_far_from_zero_keep_their_digits() -> None:
    levels = np.linspace(0.05, 0.95, 19)
    near = QuantileFunction(levels, Normal(0.0, 1.0).ppf(levels))
    far = QuantileFunction(levels, near.values + 2.0**30)
    np.testing.assert_allclose([far.var(), far.crps(2.0**30)], [near.var(), near.crps(0.0)], rtol=1e-6)


def test_levels_of_its_own_equal_shared_ones_to_the_last_bit() -> None:
    levels = np.linspace(0.05, 0.95, 19)
    values = np.random.default_rng(0).normal(size=(3, 19))
    shared, own = QuantileFunction(levels, values), QuantileFunction(np.tile(levels, (3, 1)), values)
    u = np.random.default_rng(1).random(200)
    np.testing.assert_array_equal(shared.ppf(u), own.ppf(u))


def test_the_table_cannot_be_written_to() -> None:
    dist = QuantileFunction([0.2, 0.8], [[0.0, 1.0]])
    with pytest.raises(ValueError, match="read-only"):
        dist.values[0, 0] = 5.0


def test_later_changes_of_the_input_do_not_matter() -> None:
    levels, values = np.array([0.2, 0.8]), np.array([[0.0, 1.0]])
    dist = QuantileFunction(levels, values)
    levels[0], values[0, 0] = 0.7, 9.0
    np.testing.assert_array_equal(dist.ppf([0.2, 0.8]), [[0.0, 1.0]])


def test_it_survives_pickling() -> None:
    dist = QuantileFunction([0.2, 0.8], [[0.0, 1.0]], support=(0.0, None))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(dist)).ppf(0.9), dist.ppf(0.9))


def test_its_parts_can_be_read() -> None:
    dist = QuantileFunction([0.2, 0.8], [[0.0, 1.0]], support=(0.0, None))
    assert (dist.levels.tolist(), dist.values.tolist(), dist.support) == ([0.2, 0.8], [[0.0, 1.0]], (0.0, np.inf))


@pytest.mark.parametrize(
    ("levels", "values", "message"),
    [
        ([0.2, 0.8], [[0.0, np.nan]], r"values must be finite, got NaN or infinity in 1 of 1 rows \(row 0\)"),
        ([0.2, 0.8], [[0.0, np.inf]], "values must be finite"),
        ([0.2, 0.8], [0.0, 1.0], r"values must have shape \(n, M\), got \(2,\)"),
        ([0.2, np.nan], [[0.0, 1.0]], "levels must be finite"),
        ([0.0, 0.8], [[0.0, 1.0]], "levels must lie strictly between 0 and 1, got 0.0"),
        ([0.2, 1.0], [[0.0, 1.0]], "levels must lie strictly between 0 and 1, got 1.0"),
        ([0.8, 0.2], [[0.0, 1.0]], r"levels must increase strictly along a row, got 1 of 1 rows"),
        ([0.2, 0.2], [[0.0, 1.0]], "levels must increase strictly"),
        ([0.2, 0.5, 0.8], [[0.0, 1.0]], r"levels must have shape \(2,\) or \(1, 2\)"),
        ([0.5], [[0.0]], "at least 2 levels"),
        ([[0.2, 0.8]] * 2, [[0.0, 1.0]] * 3, r"levels must have shape \(2,\) or \(3, 2\)"),
        ("low", [[0.0, 1.0]], "levels must"),
    ],
)
def test_bad_tables_are_refused(levels: object, values: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        QuantileFunction(levels, values)


@pytest.mark.parametrize("support", [(1.0, 0.0), (0.0, 0.0), (np.nan, None), (0.0,), 3.0, ("a", None)])
def test_a_bad_support_is_refused(support: object) -> None:
    with pytest.raises(InvalidInput, match="support must"):
        QuantileFunction([0.2, 0.8], [[0.0, 1.0]], support)
