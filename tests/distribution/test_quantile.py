import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from genbayes.arrays import FloatArray
from genbayes.distribution import Normal, QuantileFunction
from genbayes.distribution.quadrature import crps_on_panels


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


def test_a_level_that_is_a_knot_gives_exactly_its_value_with_shared_levels_or_its_own() -> None:
    levels = np.linspace(0.01, 0.99, 99)
    values = np.sort(np.random.default_rng(0).normal(size=(4, 99)), axis=1)
    shared, own = QuantileFunction(levels, values), QuantileFunction(np.tile(levels, (4, 1)), values)
    np.testing.assert_array_equal(shared.ppf(levels), values)
    u = np.random.default_rng(1).random(200)
    np.testing.assert_array_equal(shared.ppf(u), own.ppf(u))


def test_a_tail_is_cut_off_at_its_bound_and_moments_are_those_of_what_is_left() -> None:
    free = QuantileFunction([0.2, 0.5, 0.8], [[1.0, 2.0, 3.0]])
    bound = QuantileFunction([0.2, 0.5, 0.8], [[1.0, 2.0, 3.0]], support=(0.5, 3.5))
    u = (np.arange(200_000) + 0.5) / 200_000
    q = bound.ppf(u)
    np.testing.assert_allclose(q, np.clip(free.ppf(u), 0.5, 3.5))
    np.testing.assert_allclose([bound.mean(), bound.var()], [[q.mean()], [q.var()]], rtol=1e-6)


def test_rows_far_from_zero_keep_their_digits() -> None:
    levels = np.linspace(0.05, 0.95, 19)
    near = QuantileFunction(levels, Normal(0.0, 1.0).ppf(levels))
    far = QuantileFunction(levels, near.values + 2.0**30)
    np.testing.assert_allclose([far.var(), far.crps(2.0**30)], [near.var(), near.crps(0.0)], rtol=1e-6)
